//! Transcendental functions, each alone: the result must lie within one unit in the last place of the host's.
