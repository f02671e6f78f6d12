//! The OpenCL driver.
//!
//! A program is linked with `libOpenCL.a` (`sdk/`), whose functions trap into the driver with a reserved system call.
//! The driver manages contexts, queues, memory, programs, kernels and events, enforces the standard's rules about them,
//! and runs kernels on the GPU over the process's own memory. Work that needs CPU instructions (copies, callbacks into
//! the program) is handed back to the library, which does it in the program's code.
//!
//! The flow of a call: [`driver`](Driver) reads the record, and `dispatch` selects the function, which checks its
//! arguments and answers or enqueues a command. `command` executes commands step by step. `launch` hands kernels to the
//! [GPUs](gpu::Gpus), which run during calls of [`Trap::work`](crate::guest::Trap::work). The memory policy determines
//! what map, unmap, read, write and launch do.
//!
//! The program is not trusted: handles are numbers that are looked up, pointers are accessed with the guest's own
//! rights, and incorrect use gets the error code that the standard specifies.

mod abi;
mod call;
mod checkpoint;
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

use crate::state::state;
pub use device_memory::Spread;
pub use driver::Driver;
pub use forwarding::Forwarding;
pub use pager::Forgotten;
pub use policy::{Blocks, PolicyKind};

use crate::compiler;
use engine::{Monitor, Time};
use mem::Bytes;

/// The driver's configuration.
pub struct Settings {
    pub gpus: u32,
    /// Whether each GPU is a device of its own; otherwise one device distributes its work-groups over all GPUs.
    pub device_per_gpu: bool,
    /// Compute units per GPU.
    pub compute_units: u32,
    pub policy: PolicyKind,
    /// How buffers are distributed over memories of GPUs; none: in ranges, or with the first device of the context.
    pub spread: Option<Spread>,
    /// Block sizes of `adsm-rolling`.
    pub blocks: Blocks,
    /// Memory of each functional GPU; none: they use the process's memory, unless the policy needs device memory.
    pub gpu_memory: Option<Bytes>,
    /// For tests: whether invalid copies are overwritten, and a transfer or shootdown to omit (after this many).
    pub poison: bool,
    pub forget: Option<(Forgotten, u64)>,
    pub compiler: compiler::Settings,
    pub costs: Costs,
    /// Whether a thread of the program flushes a buffer, line by line, before the host reads, writes or maps it. Memory
    /// of such buffers is not used again when they are released, since caches of devices may still hold lines of it.
    pub flushes_buffers: bool,
    /// Bytes that copies of the program's threads move at a time: 4 or 8.
    pub copy_width: u64,
    /// Whether a call that launches a kernel returns when the kernel has ended.
    pub blocking_launches: bool,
    /// The maximum number of instructions per wavefront.
    pub kernel_limit: Option<u64>,
    /// Whether data races are detected in functional kernels.
    pub races: bool,
    /// Shows a message to the user of the simulator.
    pub say: Box<dyn Fn(&str)>,
    /// Receives the progress of kernels; stopping it aborts builds.
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
            flushes_buffers: false,
            copy_width: 8,
            blocking_launches: false,
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

/// Host-side costs of a machine besides its instructions; zero by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Each call of an OpenCL function.
    pub call: Time,
    /// Handling a fault of the host on a guarded page: the signal or the kernel entry, and the change of rights. In
    /// addition, `search` for each step of the search for the object or block.
    pub fault: Time,
    pub search: Time,
    /// Bytes per second between host and device memory; none: unlimited.
    pub bandwidth: Option<Bytes>,
    /// Bytes per second that the GPU's copy engine copies or fills within device memory; none: there is no such engine,
    /// and a thread of the program does it.
    pub copy_engine: Option<Bytes>,
}

impl Costs {
    /// The time to handle a fault of the host, including a binary search among `pieces` pieces.
    fn fault(&self, pieces: u64) -> Time {
        Time(self.fault.0 + self.search.0 * u64::from(pieces.max(1).next_power_of_two().ilog2()))
    }

    /// The time of a transfer over the link.
    fn transfer(&self, size: Bytes) -> Time {
        length(size, self.bandwidth)
    }

    /// The time of a copy or fill by the copy engine.
    fn copy(&self, size: Bytes) -> Time {
        length(size, self.copy_engine)
    }
}

fn length(size: Bytes, rate: Option<Bytes>) -> Time {
    const SECOND: u128 = 1_000_000_000_000_000;
    let length = |rate: Bytes| u128::from(size.0) * SECOND / u128::from(rate.0.max(1));
    Time(rate.map_or(0, |rate| u64::try_from(length(rate)).unwrap_or(u64::MAX / 4)))
}

/// The GPUs' activity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub kernels: u64,
    /// Wavefront instructions.
    pub instructions: u64,
    /// Work-groups, by GPU.
    pub groups: Vec<u64>,
    /// Data races, if they were detected.
    pub races: Races,
    /// Page movements and faults.
    pub paged: Paged,
}

state!(struct Usage { kernels, instructions, groups, races, paged });

/// Data moved between memories, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paged {
    /// Calls of the program that copy, fill, map, unmap or migrate memory.
    pub calls: u64,
    /// Bytes, by [cause](gpu::Cause).
    pub moved: [u64; gpu::Cause::ALL.len()],
    /// Page faults of the host, and of GPUs.
    pub host_faults: u64,
    pub device_faults: u64,
    /// The time spent on handling faults of the host, without waiting for data.
    pub fault_time: Time,
    /// Pages moved to another memory because of an access or a prefetch.
    pub migrations: u64,
    /// Pages that moved back and forth repeatedly.
    pub thrashed: u64,
    /// Pages evicted because a memory was full.
    pub evictions: u64,
}

state!(struct Paged { calls, moved, host_faults, device_faults, fault_time, migrations, thrashed, evictions });

impl Paged {
    /// Bytes moved by cause; causes without bytes are left out.
    pub fn by_cause(&self) -> impl Iterator<Item = (&'static str, u64)> {
        gpu::Cause::ALL
            .iter()
            .zip(self.moved)
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(cause, bytes)| (cause.name(), bytes))
    }
}

/// Data races in kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Races {
    /// Descriptions of the first few.
    pub first: Vec<String>,
    /// The number of accesses that conflicted with an earlier one.
    pub count: u64,
}

state!(struct Races { first, count });

impl Races {
    /// The maximum length of `first`.
    const MOST: usize = 8;

    pub(crate) fn add(&mut self, (first, count): (&[String], u64)) {
        self.count += count;
        self.first.extend(first.iter().take(Self::MOST.saturating_sub(self.first.len())).cloned());
    }
}
