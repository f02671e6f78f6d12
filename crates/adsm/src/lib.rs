//! One pointer for CPU and GPU.
//!
//! A program allocates shared objects, calls kernels on them and accesses the results. Data is transferred only when
//! necessary. This is asymmetric distributed shared memory (Gelado et al., ASPLOS 2010, `[gmac]`) for today's systems:
//! the CPU does all the work of coherence, the device none.
//!
//! ```
//! use adsm::{Config, KernelSource, Runtime, accel::sim::{Sim, SimSpec}};
//! use std::sync::Arc;
//!
//! let runtime = Runtime::with(vec![Arc::new(Sim::new(SimSpec::default()))], Config::default())?;
//! let double = runtime.kernel(KernelSource::new("double").native(|call| {
//!     let (input, output) = call.memory.split_at_mut(1);
//!     for (to, from) in output[0].iter_mut().zip(input[0].iter()) {
//!         *to = from * 2;
//!     }
//! }));
//! let mut a = runtime.alloc::<u8>(1000)?;
//! let mut b = runtime.alloc::<u8>(1000)?;
//! a[7] = 21; // a page fault opens the block, and remembers that it is newer here
//! double.call(1, 1000).read(&a).write(&mut b).launch()?.sync()?; // it goes over
//! assert_eq!(b[7], 42); // another fault brings the result
//! # Ok::<(), adsm::Error>(())
//! ```
//!
//! Layers, from the bottom: [`os`] (memory mapped twice, page faults), [`accel`] (devices), [`memory`] (objects,
//! blocks, their states), [`coherence`] (the protocols' tables), [`host`] (faults, evictions, calls), [`Runtime`] and
//! [`Shared`].

pub mod accel;
mod api;
mod capi;
pub mod coherence;
mod config;
mod error;
pub mod host;
pub mod memory;
pub mod os;
mod runtime;
mod stats;
mod trace;

pub use accel::{DeviceError, KernelSource, Value};
pub use api::{Call, Dim, InFlight, Kernel, Pod, Shared};
pub use config::{Config, Faults, Placement, Protocol, Schedule, Size};
pub use error::{Error, Result};
pub use runtime::{DeviceKind, Runtime, stats};
pub use stats::Stats;
