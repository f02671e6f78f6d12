//! Branch prediction.
