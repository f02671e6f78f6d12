//! The driver's interface to the GPUs, which run kernels prepared in the process's memory.
//!
//! There are two implementations. The functional one ([`Functional`](super::functional::Functional)) works on that
//! memory directly and has no time of its own. A timed machine has memory of its own: it takes over what kernels can
//! reach when a kernel starts, and gives back what the kernel changed at its end, in simulated time. Neither `os` nor a
//! program can tell them apart, except by the times.

use crate::state::state;
use std::sync::Arc;

use engine::Time;
use gcn3::{
    dispatch::{Dispatch, Places},
    functional::{Plan, Program},
};
use mem::{Bytes, PAGE, PhysAddr, VirtAddr};

use super::Races;
use crate::guest::GuestMemory;

/// The memories of a machine, from the driver's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memories {
    pub device: DeviceMemory,
    /// Whether GPUs can access the host's memory.
    pub reach_host: bool,
    /// Whether a GPU can access the memory of another.
    pub reach_peers: bool,
    /// Whether an access of a GPU to a page missing in its table waits until the driver has answered.
    pub faults: bool,
    /// If memories of GPUs hold copies of the host's: when the host sees what kernels have written.
    pub copies: Option<Synchronisation>,
}

/// When the host sees what kernels have written to memories that cache its own (`[umh 4.2]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronisation {
    /// At the end of each kernel all its writes are flushed to the host's memory.
    Final,
    /// When the host accesses a page, the page is taken back from the memories of the GPUs.
    Dynamic,
}

impl Memories {
    /// A single memory for host and GPUs.
    pub const ONE: Self =
        Self { device: DeviceMemory::Host, reach_host: true, reach_peers: true, faults: false, copies: None };
}

/// The location of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceMemory {
    /// In the host's memory, the only one (APUs).
    Host,
    /// In one memory common to all GPUs, apart from the host's. A page's frame is the zone's base plus its virtual
    /// address.
    Common { size: Bytes },
    /// In a memory of its own for each GPU.
    Each { size: Bytes },
}

/// An entry of a GPU's page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub at: VirtAddr,
    pub place: PhysAddr,
    pub writable: bool,
}

state!(struct Page { at, place, writable });

/// A kernel ready to run, with its arguments and everything else it needs in the process's memory.
#[derive(Debug)]
pub struct Ready {
    pub program: Arc<Program>,
    pub dispatch: Dispatch,
    pub plan: Plan,
    pub places: Places,
    /// The GPU that runs it; none if its work-groups are distributed over all GPUs.
    pub gpu: Option<usize>,
    /// The number of GPUs that run it.
    pub gpus: usize,
    /// For each GPU that runs it (`gpu`, or all in order): the pages it can reach, by address, followed by its scratch
    /// memory. GPUs that share a table share the list. Empty unless [`Gpus::needs_pages`].
    pub pages: Vec<Arc<Vec<Page>>>,
    /// The memory that kernels can reach, except this kernel's scratch memory: whole pages, by address, adjacent ranges
    /// merged.
    pub reach: Vec<(VirtAddr, Bytes)>,
    /// The pages of `reach` that the host may have touched since the last kernel started: new, copied, filled or
    /// unmapped ones, and those of the launch. Host caches that are not coherent with the GPUs hold nothing else that
    /// matters.
    pub touched: Vec<(VirtAddr, Bytes)>,
    /// The parts of `reach` that the driver may guard against the host.
    pub guarded: Vec<(VirtAddr, Bytes)>,
    /// Whether the kernel only warms the caches and is not measured ([`crate::forward`]).
    /// Whether it has a buffer for text, which the driver reads when it has ended.
    pub prints: bool,
    pub warm_up: bool,
}

impl Ready {
    /// Looks up its pages in the host's tables, with the effects of a first access, and marks them as shared with
    /// devices. Pages that the program itself has unmapped are left out.
    pub(super) fn use_host_pages(&mut self, guest: &mut dyn GuestMemory) {
        let holds = |at: VirtAddr, (base, size): &(VirtAddr, Bytes)| base.0 < at.0 + PAGE && at.0 < base.0 + size.0;
        let guarded = |at: VirtAddr| self.guarded.iter().any(|region| holds(at, region));
        let scratch = (self.places.scratch, Bytes(self.places.scratch_size));
        let mut pages = Vec::new();
        for (base, size) in self.reach.iter().copied().chain([scratch]) {
            let first = base.0 / PAGE * PAGE;
            pages.extend((first..base.0 + size.0).step_by(PAGE as usize).filter_map(|page| {
                let at = VirtAddr(page);
                if !guarded(at) {
                    return host_page(guest, page);
                }
                let place = guest.beneath(at)?.ok()?;
                guest.share(place);
                Some(Page { at, place, writable: true })
            }));
        }
        let pages = Arc::new(pages);
        self.pages = vec![pages; self.gpus];
    }
}

fn host_page(guest: &mut dyn GuestMemory, page: u64) -> Option<Page> {
    let at = VirtAddr(page);
    let (place, writable) = match guest.physical(at, true)? {
        Ok(place) => (place, true),
        Err(_) => (guest.physical(at, false)?.ok()?, false),
    };
    guest.share(place);
    Some(Page { at, place, writable })
}

/// A transfer for an engine outside the GPUs. Its frames are pinned until its end has been reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Moved in this order.
    pub pieces: Vec<Piece>,
    /// A pattern to repeat over each piece, instead of bytes from `from`.
    pub pattern: Option<Vec<u8>>,
    /// The descriptor that the engine must read, if it reads one.
    pub descriptor: Option<(PhysAddr, Bytes)>,
    pub cause: Cause,
}

impl Transfer {
    /// The total number of bytes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.pieces.iter().map(|piece| piece.bytes).sum())
    }
}

/// A piece that is physically contiguous on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub to: PhysAddr,
    /// With a pattern: the offset in the pattern at which this piece begins.
    pub from: PhysAddr,
    pub bytes: u64,
}

/// Why bytes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The program requested it: read, write, copy, fill, map, unmap.
    Copy,
    /// Code, arguments and the like before a kernel, and its printed text afterwards.
    Launch,
    /// An access found its page in another memory.
    Fault,
    /// The program announced where it would need the data.
    Prefetch,
    /// A memory was full.
    Eviction,
    /// Changed data is written back before it is requested.
    WriteBack,
    /// All data that a kernel may use is moved before or after it runs.
    Call,
}

impl Cause {
    pub const ALL: [Self; 7] =
        [Self::Copy, Self::Launch, Self::Fault, Self::Prefetch, Self::Eviction, Self::WriteBack, Self::Call];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Launch => "launch",
            Self::Fault => "fault",
            Self::Prefetch => "prefetch",
            Self::Eviction => "eviction",
            Self::WriteBack => "write-back",
            Self::Call => "call",
        }
    }
}

/// A page fault of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceFault {
    pub gpu: usize,
    /// The first address of the page.
    pub page: VirtAddr,
    pub write: bool,
}

/// A completed kernel, transfer or shootdown.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// The number passed when it was started.
    pub launch: u64,
    /// When its GPU or engine started it, and when all of it was done.
    pub start: Time,
    pub end: Time,
    /// The error of a failed kernel.
    pub error: Option<String>,
}

/// The results of a slice of work.
#[derive(Debug, Default)]
pub struct Done {
    /// Executed wavefront instructions, if they are counted individually.
    pub instructions: u64,
    /// In order of completion.
    pub ended: Vec<Ended>,
    /// Faults that wait for an answer ([`Gpus::resolve`]); each page is reported once per GPU until it is answered.
    pub faults: Vec<DeviceFault>,
    /// Why the GPUs can't continue, if starting a held-back kernel has failed.
    pub broken: Option<Broken>,
    /// Data races of the ended kernels, if they are detected.
    pub races: Races,
}

/// The GPUs, and so the simulation, can't continue: a deadlock, a failed check, or an interrupt by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

/// All GPUs of a machine.
pub trait Gpus {
    /// Plans how a launch is split up, which determines its scratch memory.
    fn plan(&self, dispatch: &Dispatch) -> Plan;

    /// Starts a kernel at `now`; `launch` identifies it when its end is reported.
    fn start(&mut self, launch: u64, kernel: Ready, guest: &mut dyn GuestMemory, now: Time) -> Result<(), Broken>;

    /// Works for about `budget` instructions; returns what has ended by `now`.
    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> Done;

    /// The memories of the machine.
    fn memories(&self) -> Memories {
        Memories::ONE
    }

    /// Whether [`Ready::pages`] is used; if not, kernels access `reach` in the process's own memory.
    fn needs_pages(&self) -> bool {
        true
    }

    /// Whether an engine moves bytes between host and buffers, and within buffers, so that no core has to.
    fn transfers(&self) -> bool {
        false
    }

    /// Starts a transfer by the engine; `number` identifies it when its end is reported. Only if there is an engine.
    fn transfer(
        &mut self,
        number: u64,
        transfer: Transfer,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> Result<(), Broken> {
        let _ = (number, transfer, guest, now);
        unreachable!("these GPUs have no engine beside them")
    }

    /// Answers a [fault](DeviceFault): with the page as it now is in the GPU's table, or with the reason why the kernel
    /// can't continue. Only if GPUs can fault.
    fn resolve(&mut self, gpu: usize, page: VirtAddr, answer: Result<Page, String>) {
        let _ = (gpu, page, answer);
        unreachable!("these GPUs do not fault")
    }

    /// Invalidates pages in GPUs: translations in TLBs, and lines in caches after dirty ones have been written back.
    /// Completion is reported under `number`; from then on an access to these pages faults. Called only if GPUs can
    /// fault.
    fn shoot(&mut self, number: u64, gpus: &[usize], ranges: &[(VirtAddr, Bytes)]) {
        let _ = (number, gpus, ranges);
        unreachable!("these GPUs do not fault")
    }

    /// Makes memories of GPUs write back and drop their copies of these host frames. The end is reported by `number`.
    /// Only if they hold [copies](Memories::copies).
    fn take_back(&mut self, number: u64, frames: &[PhysAddr]) {
        let _ = (number, frames);
        unreachable!("memories of these GPUs hold no copies")
    }

    /// Whether an access whose fault has been answered is performed before its page can be taken away again.
    fn keeps_answers(&self) -> bool {
        false
    }

    /// Whether host and kernels see each other's writes while a kernel runs (fine-grained shared virtual memory).
    fn is_fine_grained(&self) -> bool;

    /// Whether kernels are running whose end is not known in advance.
    fn is_busy(&self) -> bool {
        false
    }

    /// When the next kernel ends, if that is known.
    fn next_end(&self) -> Time {
        Time::NEVER
    }
}
