//! The core against memories that answer as told, with instructions made by hand.

mod rig;
mod script;
