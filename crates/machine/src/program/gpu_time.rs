//! Time account of each GPU: how long it runs kernels, and how long it waits for what.
//!
//! At any time a GPU is in one phase, the first of this list that applies: a kernel waits for the driver to serve a
//! page fault; a kernel runs; caches are flushed around a kernel; the GPU's share of a kernel is over and other GPUs
//! still run theirs; bytes are copied to or from its memory; the GPU is idle. Times are taken at the host, when
//! commands are sent and completions arrive.

use engine::{Phases, Scope};
use std::cell::RefCell;

/// Names of the phases in the statistics. A GPU starts in the first.
const NAMES: [&str; 6] = ["idle", "kernel", "fault", "peers", "flush", "copy"];

#[derive(Clone, Copy)]
enum Phase {
    Idle,
    Kernel,
    Fault,
    Peers,
    Flush,
    Copy,
}

/// Work of one GPU that has begun and not ended.
#[derive(Clone, Copy, Default)]
struct Pending {
    /// Running kernels, or running shares of kernels.
    kernels: usize,
    /// Kernels whose end the front end has not seen, including those whose share on this GPU is over.
    jobs: usize,
    faults: usize,
    flushes: usize,
    copies: usize,
}

impl Pending {
    fn phase(self) -> Phase {
        match self {
            Self { kernels: 1.., faults: 1.., .. } => Phase::Fault,
            Self { kernels: 1.., .. } => Phase::Kernel,
            Self { flushes: 1.., .. } => Phase::Flush,
            Self { jobs: 1.., .. } => Phase::Peers,
            Self { copies: 1.., .. } => Phase::Copy,
            _ => Phase::Idle,
        }
    }
}

/// The accounts of all GPUs; empty if the GPUs share a chip with everything they could wait for.
pub(super) struct GpuTime(Vec<RefCell<(Pending, Phases)>>);

impl GpuTime {
    /// Accounts of this many GPUs, each at `gpuN.time` below `scope`.
    pub fn new(gpus: usize, scope: &Scope) -> Self {
        let account = |gpu| {
            let phases = scope.scope(("gpu", gpu)).scope("time").phases(&NAMES);
            RefCell::new((Pending::default(), phases))
        };
        Self((0..gpus).map(account).collect())
    }

    fn change(&self, gpu: usize, change: impl FnOnce(&mut Pending)) {
        let Some(account) = self.0.get(gpu) else { return };
        let (pending, phases) = &mut *account.borrow_mut();
        change(pending);
        phases.enter(pending.phase() as usize);
    }

    fn change_all(&self, change: impl Fn(&mut Pending)) {
        (0..self.0.len()).for_each(|gpu| self.change(gpu, &change));
    }

    /// A kernel is sent to a GPU.
    pub fn launch(&self, gpu: usize) {
        self.change(gpu, |pending| (pending.kernels, pending.jobs) = (pending.kernels + 1, pending.jobs + 1));
    }

    /// The GPU has reported the end of its share of a kernel.
    pub fn share_over(&self, gpu: usize) {
        self.change(gpu, |pending| pending.kernels -= 1);
    }

    /// All GPUs have reported the end of a kernel.
    pub fn kernel_over(&self, gpu: usize) {
        self.change(gpu, |pending| pending.jobs -= 1);
    }

    pub fn flush(&self, begins: bool) {
        self.change_all(|pending| step(&mut pending.flushes, begins));
    }

    /// Sets the number of a GPU's page faults that wait for the driver.
    pub fn faults(&self, gpu: usize, open: usize) {
        self.change(gpu, |pending| pending.faults = open);
    }

    /// A copy to or from the memories of these GPUs begins or ends; `None`: to or from the memory that all share.
    pub fn copy(&self, gpus: Option<&[usize]>, begins: bool) {
        match gpus {
            Some(gpus) => gpus.iter().for_each(|gpu| self.change(*gpu, |pending| step(&mut pending.copies, begins))),
            None => self.change_all(|pending| step(&mut pending.copies, begins)),
        }
    }
}

fn step(count: &mut usize, begins: bool) {
    *count = if begins { *count + 1 } else { *count - 1 };
}
