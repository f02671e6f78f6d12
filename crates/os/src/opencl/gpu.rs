//! What the driver sees of the GPUs: somebody who runs kernels that lie ready in the process's memory.
//!
//! Two kinds stand behind it. The functional one ([`Functional`](super::functional::Functional)) works on that memory at
//! once and has no time of its own. A machine in time has memory of its own: it takes over what kernels can reach when one
//! starts and gives back what the kernel changed when that has ended, in simulated time. Neither `os` nor a program knows
//! which it is, but for the times.

use std::sync::Arc;

use engine::Time;
use gcn3::{
    dispatch::{Dispatch, Places},
    functional::{Plan, Program},
};
use mem::{Bytes, PAGE, PhysAddr, VirtAddr};

use super::Races;
use crate::guest::GuestMemory;

/// The memories of a machine, as its driver sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memories {
    pub device: DeviceMemory,
    /// Whether GPUs reach the host's memory.
    pub reach_host: bool,
    /// Whether a GPU reaches the memory of another.
    pub reach_peers: bool,
    /// Whether an access of a GPU to a page that its table does not have waits until the driver has answered.
    pub faults: bool,
    /// Where memories of GPUs hold copies of the host's: when the host sees what kernels have written.
    pub copies: Option<Synchronisation>,
}

/// When the host sees what kernels have written to memories that are levels above its own (`[umh 4.2]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronisation {
    /// At each kernel's end all of it is flushed to the host's memory.
    Final,
    /// What the host accesses is taken out of the memories of GPUs then, page by page.
    Dynamic,
}

impl Memories {
    /// One memory for host and GPUs.
    pub const ONE: Self =
        Self { device: DeviceMemory::Host, reach_host: true, reach_peers: true, faults: false, copies: None };
}

/// Where memory of devices lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceMemory {
    /// There is one memory, the host's (APUs).
    Host,
    /// All GPUs have one in common, apart from the host's. A page's frame is the zone's base plus its virtual address.
    Common { size: Bytes },
    /// Each GPU has its own.
    Each { size: Bytes },
}

/// A page in the table of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub at: VirtAddr,
    pub place: PhysAddr,
    pub writable: bool,
}

/// A kernel that is to run, with its arguments and all else it needs in the process's memory.
#[derive(Debug)]
pub struct Ready {
    pub program: Arc<Program>,
    pub dispatch: Dispatch,
    pub plan: Plan,
    pub places: Places,
    /// The GPU that runs it; none if its workgroups are dealt to all of them.
    pub gpu: Option<usize>,
    /// How many run it.
    pub gpus: usize,
    /// The pages that each GPU which runs it can reach, by address, its scratch memory behind them: for `gpu`, or for all GPUs in
    /// order. Those with one table have the same list. Empty where [`Gpus::needs_pages`] says so.
    pub pages: Vec<Arc<Vec<Page>>>,
    /// What kernels can reach, beside the scratch memory of this one: whole pages, by address, with a gap between any two.
    pub reach: Vec<(VirtAddr, Bytes)>,
    /// The pages of it that the host may have touched since the last kernel started: what was new, copied, filled or unmapped, and
    /// what belongs to the launch. Caches of the host that kernels do not see hold nothing else of importance.
    pub touched: Vec<(VirtAddr, Bytes)>,
    /// The parts of it that the driver may guard from the host.
    pub guarded: Vec<(VirtAddr, Bytes)>,
    /// Whether it runs only to warm the caches, and is not measured ([`crate::forward`]).
    pub warm_up: bool,
}

impl Ready {
    /// Looks its pages up in the host's table, as the first access to each would, and notes that devices share them. What the program
    /// has unmapped by itself a kernel can't reach.
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

/// Bytes that an engine beside the GPUs is to move. Their frames are pinned until its end has been told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// To be moved in this order.
    pub pieces: Vec<Piece>,
    /// What is repeated over each piece instead of what `from` has.
    pub pattern: Option<Vec<u8>>,
    /// Where the engine reads all this, if it has to read that.
    pub descriptor: Option<(PhysAddr, Bytes)>,
    pub cause: Cause,
}

impl Transfer {
    /// All bytes that it moves.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.pieces.iter().map(|piece| piece.bytes).sum())
    }
}

/// Bytes in one piece of physical memory on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub to: PhysAddr,
    /// If a pattern is repeated: how far into it this piece begins.
    pub from: PhysAddr,
    pub bytes: u64,
}

/// What bytes are moved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The program asked for it: read, write, copy, fill, map, unmap.
    Copy,
    /// Code, arguments and the like before a kernel, and its text after it.
    Launch,
    /// An access found its page elsewhere.
    Fault,
    /// The program said where it would need something.
    Prefetch,
    /// A memory was full.
    Eviction,
    /// What was changed goes back before anybody has asked for it.
    WriteBack,
    /// All that kernels may use goes to them before they run, or comes back after them.
    Call,
}

impl Cause {
    pub const ALL: [Self; 7] =
        [Self::Copy, Self::Launch, Self::Fault, Self::Prefetch, Self::Eviction, Self::WriteBack, Self::Call];

    /// As reports name it.
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

/// An access of a GPU that its table does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceFault {
    pub gpu: usize,
    /// The first address of the page.
    pub page: VirtAddr,
    pub write: bool,
}

/// A kernel, a transfer or a shootdown that has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// The number it was started with.
    pub launch: u64,
    /// When its GPU or the engine took it up, and when the last of it was done.
    pub start: Time,
    pub end: Time,
    /// What the kernel did wrong.
    pub error: Option<String>,
}

/// What was done in a while.
#[derive(Debug, Default)]
pub struct Done {
    /// Wavefront instructions, where those are counted one by one.
    pub instructions: u64,
    /// In the order of their ends.
    pub ended: Vec<Ended>,
    /// Accesses that wait for an answer ([`Gpus::resolve`]); each page once for each GPU, until it has been answered.
    pub faults: Vec<DeviceFault>,
    /// Why they can't go on, if a kernel that had waited to be started shows it.
    pub broken: Option<Broken>,
    /// Data races of the kernels among them, where they are looked for.
    pub races: Races,
}

/// The GPUs can't go on, and with them the simulation: they are stuck, a check failed, somebody interrupted them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

/// All GPUs of a machine.
pub trait Gpus {
    /// How a launch is cut up, which says how much scratch memory it needs.
    fn plan(&self, dispatch: &Dispatch) -> Plan;

    /// Starts a kernel at `now`; `launch` is the number by which its end is told.
    fn start(&mut self, launch: u64, kernel: Ready, guest: &mut dyn GuestMemory, now: Time) -> Result<(), Broken>;

    /// Goes on for about `budget` instructions, and tells what has ended by `now`.
    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> Done;

    /// The memories of the machine.
    fn memories(&self) -> Memories {
        Memories::ONE
    }

    /// Whether [`Ready::pages`] is looked at; if not, kernels run on `reach` of the process's own memory.
    fn needs_pages(&self) -> bool {
        true
    }

    /// Whether an engine moves bytes between host and buffers, and within buffers, so that no core has to.
    fn transfers(&self) -> bool {
        false
    }

    /// Has the engine move bytes; `number` is that by which the end is told. Only if there is one.
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

    /// Answers a [fault](DeviceFault): with the page as the GPU's table has it now, or with why the kernel can't go on. Only
    /// if there are faults.
    fn resolve(&mut self, gpu: usize, page: VirtAddr, answer: Result<Page, String>) {
        let _ = (gpu, page, answer);
        unreachable!("these GPUs do not fault")
    }

    /// Has GPUs forget pages: their TLBs the translations, their caches the lines, after what was changed has been written
    /// back. Its end is told by `number`; from then on an access to these pages faults. Only if there are faults.
    fn shoot(&mut self, number: u64, gpus: &[usize], ranges: &[(VirtAddr, Bytes)]) {
        let _ = (number, gpus, ranges);
        unreachable!("these GPUs do not fault")
    }

    /// Has memories of GPUs give up what they hold of these frames of the host, after what was changed has been written back. Its end is told
    /// by `number`. Only where they hold [copies](Memories::copies).
    fn take_back(&mut self, number: u64, frames: &[PhysAddr]) {
        let _ = (number, frames);
        unreachable!("memories of these GPUs hold no copies")
    }

    /// Whether an access whose fault has been answered is made before its page can be taken away again.
    fn keeps_answers(&self) -> bool {
        false
    }

    /// Whether host and kernels see what the other writes while a kernel runs: fine-grained shared virtual memory.
    fn is_fine_grained(&self) -> bool;

    /// Whether kernels run of which nobody can say when they end.
    fn is_busy(&self) -> bool {
        false
    }

    /// When the next kernel ends, if that is known.
    fn next_end(&self) -> Time {
        Time::NEVER
    }
}
