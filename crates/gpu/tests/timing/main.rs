//! How long compute units and the dispatcher take, in cycles worked out by hand: the comment of each test adds them up.
//!
//! All kernels begin alike. The launch takes 100 cycles, the command 5 to its compute unit, the first line of code 8.
//! So code is requested in cycle 105 and arrives in 113, and the first instruction is issued in 114.

mod code;
mod dispatch;
mod fetch;
mod memory;
mod rig;
