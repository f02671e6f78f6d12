//! A program on the cores of the machine, or on a host outside it.
//!
//! The process and its kernel belong to `os` ([`os::process::TimedProcess`]); cores and caches belong to the machine.
//! This module connects them. [`Software`] is a process with the threads of all its cores, a [`Guest`] is the part that
//! one core runs, and the [`Schedule`] decides which thread that is. The [`Timekeeper`] keeps timers and lives until
//! the program has ended. [`ModelGpus`] are GPUs of the same model, which use the process's own pages; a [`FrontEnd`]
//! sends them kernels, and a [`Dma`] engine may move bytes. An [`Outside`] host executes a process without cores, and
//! [`HostDma`] moves its bytes. A core executes stores ahead of time; they are performed later, by its first-level
//! cache ([`Software::perform`]).

mod claims;
mod direct;
mod dma;
mod front_end;
mod gpu_time;
mod guest;
mod host_dma;
mod host_port;
mod model_gpus;
mod moved;
mod outside;
mod page_recall;
mod schedule;
mod software;
mod timekeeper;

pub use claims::Claims;
pub use direct::Direct;
pub use dma::Dma;
pub use front_end::{Caches, Coherent, FrontEnd, FrontEndSpec, Job};
pub use guest::Guest;
pub use host_dma::{DmaPort, FromChannel, HostDma, HostDmaSpec, ToChannel};
pub use host_port::HostPort;
pub(crate) use model_gpus::space_of;
pub use model_gpus::{GpusSpec, ModelGpus};
pub use outside::{Drained, HostAudit, HostMemory, Outside, OutsideProcess};
pub use page_recall::{CacheRecall, TlbRecall};
pub use schedule::Schedule;
pub use software::{Finish, KnownSoftware, Software, SoftwareSpec, Translations};
pub use timekeeper::Timekeeper;
