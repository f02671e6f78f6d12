//! The OpenCL driver.
//!
//! A program is linked with `libOpenCL.a` (`sdk/`), whose functions trap into the driver with a reserved system call.
//! The driver keeps contexts, queues, memory, programs, kernels and events, follows the standard's rules about them, and
//! runs kernels on the GPU over the process's own memory. What needs a processor's instructions (copies, calls of the
//! program's functions) it hands back to the library, which does it in the program's code.
//!
//! How a call flows: [`driver`](Driver) reads the record, `dispatch` picks the function, the function checks and answers
//! or enqueues; `command` takes commands step by step; `launch` hands kernels to the [GPUs](gpu::Gpus), which get on
//! whenever whoever drives the process calls [`Trap::work`](crate::guest::Trap::work). The memory policy says what map, unmap, read, write and
//! launch do.
//!
//! The program is not trusted: handles are numbers that are looked up, pointers are read through the guest's own
//! memory, and wrong use gets the error code that the standard names.

mod abi;
mod call;
pub mod cl;
mod command;
mod context;
mod device;
mod device_memory;
mod dispatch;
mod dma;
mod driver;
pub mod error;
mod event;
mod forwarding;
mod function;
mod functional;
pub mod gpu;
mod hints;
mod image;
mod image_format;
mod image_transfer;
mod kernel;
mod launch;
mod memory;
mod ndrange;
mod numbered;
mod pager;
mod policy;
mod printf;
mod process_memory;
mod program;
mod queue;
mod sampler;
mod slots;
mod svm;
mod table;
mod transfer;

#[cfg(test)]
mod tests;

pub use device_memory::Spread;
pub use driver::Driver;
pub use forwarding::Forwarding;
pub use pager::Forgotten;
pub use policy::{Blocks, PolicyKind};

use crate::compiler;
use engine::{Monitor, Time};
use mem::Bytes;

/// How the driver is set up.
pub struct Settings {
    pub gpus: u32,
    /// One device for each GPU, instead of one whose work-groups are dealt to all of them.
    pub device_per_gpu: bool,
    /// Compute units of a GPU.
    pub compute_units: u32,
    pub policy: PolicyKind,
    /// How buffers are spread over memories of GPUs; none: in ranges, or with the device that a context names first.
    pub spread: Option<Spread>,
    /// Sizes of `adsm-rolling`.
    pub blocks: Blocks,
    /// Memory of each GPU without time; none: they use the process's own, unless the policy needs them to have their own.
    pub gpu_memory: Option<Bytes>,
    /// For tests: copies that are not valid are overwritten, and a transfer or a shootdown (the first after so many) is forgotten.
    pub poison: bool,
    pub forget: Option<(Forgotten, u64)>,
    pub compiler: compiler::Settings,
    pub costs: Costs,
    /// The most instructions that one wavefront may execute.
    pub kernel_limit: Option<u64>,
    /// Whether data races of kernels are looked for, where these run without time.
    pub races: bool,
    /// Tells the person who runs the simulation something.
    pub say: Box<dyn Fn(&str)>,
    /// Told of kernels; ends builds.
    pub monitor: Monitor,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gpus: 1,
            device_per_gpu: false,
            compute_units: 64,
            policy: PolicyKind::default(),
            spread: None,
            blocks: Blocks::default(),
            gpu_memory: None,
            poison: false,
            forget: None,
            compiler: compiler::Settings::default(),
            costs: Costs::default(),
            kernel_limit: None,
            races: false,
            say: Box::new(|_| {}),
            monitor: Monitor::default(),
        }
    }
}

impl Settings {
    /// Whether host and device use the same memory.
    fn shares_memory(&self) -> bool {
        matches!(self.policy, PolicyKind::Shared | PolicyKind::ZeroCopy)
    }
}

/// What the host's side of a machine takes beside its instructions. By default nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Each call of a function of OpenCL.
    pub call: Time,
    /// An access of the host to a page that the policy guards, until the driver knows what to do: the signal, or the entry into the
    /// kernel, and the change of rights. Beside that, each step of the search for the object or block.
    pub fault: Time,
    pub search: Time,
    /// How much goes between host and device memory in a second; none: as much as you like.
    pub bandwidth: Option<Bytes>,
    /// How much the GPU's copy engine copies or fills within device memory in a second; none: there is no such engine, and a
    /// thread of the program does it.
    pub copy_engine: Option<Bytes>,
}

impl Costs {
    /// How long it takes to answer a fault of the host, where the place is found among so many pieces by halving.
    fn fault(&self, pieces: u64) -> Time {
        Time(self.fault.0 + self.search.0 * u64::from(pieces.max(1).next_power_of_two().ilog2()))
    }

    /// How long so many bytes take on the wire.
    fn transfer(&self, size: Bytes) -> Time {
        length(size, self.bandwidth)
    }

    /// How long it takes to copy or fill so many bytes.
    fn copy(&self, size: Bytes) -> Time {
        length(size, self.copy_engine)
    }
}

fn length(size: Bytes, rate: Option<Bytes>) -> Time {
    const SECOND: u128 = 1_000_000_000_000_000;
    let length = |rate: Bytes| u128::from(size.0) * SECOND / u128::from(rate.0.max(1));
    Time(rate.map_or(0, |rate| u64::try_from(length(rate)).unwrap_or(u64::MAX / 4)))
}

/// What the GPUs have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub kernels: u64,
    /// Wavefront instructions.
    pub instructions: u64,
    /// Work-groups, by GPU.
    pub groups: Vec<u64>,
    /// Data races, if they were looked for.
    pub races: Races,
    /// What became of pages.
    pub paged: Paged,
}

/// What was moved between memories, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paged {
    /// Bytes, by [cause](gpu::Cause).
    pub moved: [u64; gpu::Cause::ALL.len()],
    /// Accesses of the host that the driver had to answer, and of GPUs.
    pub host_faults: u64,
    pub device_faults: u64,
    /// What answering those of the host took, without waiting for bytes.
    pub fault_time: Time,
    /// Pages that went to another memory because somebody accessed them or was about to.
    pub migrations: u64,
    /// Pages that went to and fro.
    pub thrashed: u64,
    /// Pages that had to go because a memory was full.
    pub evictions: u64,
}

impl Paged {
    /// Bytes that were moved, by the names of their causes; those that moved none are left out.
    pub fn by_cause(&self) -> impl Iterator<Item = (&'static str, u64)> {
        gpu::Cause::ALL
            .iter()
            .zip(self.moved)
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(cause, bytes)| (cause.name(), bytes))
    }
}

/// Data races of kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Races {
    /// The first few, told.
    pub first: Vec<String>,
    /// How many accesses were at odds with an earlier one.
    pub count: u64,
}

impl Races {
    /// Races of which `first` is kept.
    const MOST: usize = 8;

    pub(crate) fn add(&mut self, (first, count): (&[String], u64)) {
        self.count += count;
        self.first.extend(first.iter().take(Self::MOST.saturating_sub(self.first.len())).cloned());
    }
}
