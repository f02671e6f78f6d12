//! Single instructions and whole kernels, compared with values computed from the ISA's definitions.

mod anything;
mod atomics;
mod compare;
mod float;
mod integer;
mod kernels;
mod lanes;
mod local;
mod memory;
mod modes;
mod scalar;
mod support;
mod supported;
