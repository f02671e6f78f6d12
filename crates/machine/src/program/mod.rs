//! A program on the cores of the machine, or on a host outside of it.
//!
//! The process and its kernel are `os`'s ([`os::process::TimedProcess`]); cores and caches are the machine's. Here they meet:
//! [`Software`] is a process with the threads of all its cores, a [`Guest`] is what one core runs, [`Schedule`] says which
//! thread that is, [`Timekeeper`] keeps timers and stays until the program has ended, and [`ModelGpus`] are GPUs of the same model, which use the process's
//! own pages; a [`FrontEnd`] hands kernels to them, and a [`Dma`] engine may move bytes. An
//! [`Outside`] host executes a process without cores, and [`HostDma`] moves its bytes. What a core has executed is performed later, when its first-level cache says so ([`Software::perform`]).

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
pub use outside::{HostAudit, HostMemory, Outside, OutsideProcess};
pub use page_recall::{CacheRecall, TlbRecall};
pub use schedule::Schedule;
pub use software::{Finish, KnownSoftware, Software, SoftwareSpec, Translations};
pub use timekeeper::Timekeeper;
