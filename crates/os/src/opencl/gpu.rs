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
use mem::{Bytes, VirtAddr};

use super::Races;
pub use super::abi::Rect;
use crate::guest::{Fault, GuestMemory};

/// A kernel that is to run, with its arguments and all else it needs in the process's memory.
pub struct Ready {
    pub program: Arc<Program>,
    pub dispatch: Dispatch,
    pub plan: Plan,
    pub places: Places,
    /// The GPU that runs it; none if its workgroups are dealt to all of them.
    pub gpu: Option<usize>,
    /// What kernels can reach, beside the scratch memory of this one: whole pages, by address, with a gap between any two.
    pub reach: Vec<(VirtAddr, Bytes)>,
    /// The pages of it that the host may have touched since the last kernel started: what was new, copied, filled or unmapped, and
    /// what belongs to the launch. Caches of the host that kernels do not see hold nothing else of importance.
    pub touched: Vec<(VirtAddr, Bytes)>,
    /// Whether it runs only to warm the caches, and is not measured ([`crate::forward`]).
    pub warm_up: bool,
}

/// Bytes that an engine beside the GPUs is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Where they go to, and where they come from.
    pub rows: Rect,
    /// What is repeated over each row instead of what `from` has.
    pub pattern: Option<Vec<u8>>,
    /// Where the engine reads all this.
    pub descriptor: (VirtAddr, Bytes),
}

/// A kernel or a transfer that has ended.
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

    /// Whether an engine moves bytes between host and buffers, and within buffers, so that no core has to.
    fn transfers(&self) -> bool {
        false
    }

    /// Has the engine move bytes; `launch` is the number by which the end of that is told. Only if there is one.
    fn transfer(&mut self, launch: u64, transfer: Transfer, guest: &mut dyn GuestMemory) -> Result<(), Fault> {
        let _ = (launch, transfer, guest);
        unreachable!("these GPUs have no engine beside them")
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
