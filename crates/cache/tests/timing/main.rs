//! How long a cache takes, in cycles worked out by hand: the comment of each test adds them up.

mod first_level;
mod rig;
mod write_back;
