//! Numbers of 80 bits.
