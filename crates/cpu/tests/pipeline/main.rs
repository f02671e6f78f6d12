//! The core against memories that answer as told, with instructions made by hand.

mod branches;
mod loads;
mod order;
mod rig;
mod script;
mod stores;
mod structures;
mod threads;
