//! The built-in workloads: programs with known results.
//!
//! A simulator that is not checked against something independent only agrees with itself. Each workload is a small
//! OpenCL program together with a plain Rust computation of its result. All files of a workload lie in one folder,
//! `src/NAME/`:
//!
//! - `NAME.cl`: the kernels, in OpenCL C;
//! - `NAME.hsaco`: the kernels built for gfx803 by `cargo xtask guests` and committed, so that running them needs no
//!   compiler;
//! - `mod.rs`: inputs (from a fixed seed), the sequence of launches, the reference and the comparison;
//! - `NAME.c`: the workload as a whole program for the simulated computer, CPU and GPU ([`guest`]).
//!
//! A workload uses a [`Gpu`] without knowing which one: the functional GPU of `gcn3` ([`Functional`]), a timed machine
//! ([`Timed`]), or another OpenCL implementation.
//!
//! The crate also has programs that use no GPU ([`CpuProgram`]).
#![forbid(unsafe_code)]

mod catalogue;
mod check;
mod cpu;
mod functional;
mod gpu;
mod graph;
mod guest;
mod input;
mod probes;
mod timed;
mod workload;

mod aes;
mod atax;
mod backprop;
mod betweenness;
mod bfs;
mod bicg;
mod bitonic_sort;
mod black_scholes;
mod colouring_max;
mod colouring_maxmin;
mod convolution;
mod cp;
mod dct;
mod edge;
mod fast_walsh;
mod fft;
mod fir;
mod floyd_warshall;
mod floyd_warshall_blocked;
mod haar_wavelet;
mod histogram;
mod hotspot;
mod independent_set;
mod kmeans;
mod knn;
mod lud;
mod matmul;
mod max_pooling;
mod mersenne_twister;
mod mri_fhd;
mod mri_q;
mod n_body;
mod needleman_wunsch;
mod pagerank;
mod pagerank_spmv;
mod pathfinder;
mod pns;
mod radix_sort;
mod reduction;
mod relu;
mod rpes;
mod sad;
mod scan;
mod sobel;
mod spmv;
mod stencil;
mod tpacf;
mod transpose;
mod vecadd;
mod write;
mod xtreme1;
mod xtreme2;
mod xtreme3;

pub use catalogue::{ALL, find};
pub use check::{Checked, Mismatch, ulps_between};
pub use cpu::{CPU_PROGRAMS, CpuProgram, find_cpu_program};
pub use functional::Functional;
pub use gpu::{Arg, Buffer, Element, Gpu, GpuError, NdRange};
pub use guest::guest;
pub use input::Rng;
pub use probes::{Probe, probe};
pub use timed::Timed;
pub use workload::{Size, Workload, WorkloadError};
