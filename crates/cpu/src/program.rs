//! The source of a core's instructions.
//!
//! The core models time; the program holds values: registers, memory, system calls. This is the interface between them.
//! The program buffers each store until the core reports that it has been performed, as in `os`'s `Window`.

use engine::Time;
use mem::{Block, LINE, PhysAddr, VirtAddr};
use smallvec::SmallVec;
use std::rc::Rc;
use x86::trace::{Branch, Order, Outline, RegisterSet};

/// The program that runs on the hardware threads of a core.
pub trait Program {
    /// Executes the next instruction of a hardware thread on the right path and describes it in `executed`. `quiet`
    /// means that nothing of the thread is in flight: everything is committed and all stores are performed.
    fn next(&mut self, thread: usize, quiet: bool, executed: &mut Executed, now: Time) -> Fetch;

    /// Reports that the thread's oldest pending store (of those in [`Executed`] and in [`Fetch::System`]) has been
    /// performed. Called in program order.
    fn performed(&mut self, thread: usize);
}

/// The result of fetching the next instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Fetch {
    /// It has been executed; `executed` describes it.
    Executed,
    /// It must wait until everything before it has completed: an atomic access, a fence, a serialising instruction, a
    /// system call. The core retries when the thread is quiet.
    Drain,
    /// Only when quiet: its accesses to this line must be atomic. The core obtains the line and locks it, then retries.
    /// The next store to the line unlocks it; if the instruction does not store there, the core sends an empty store.
    Lock { virt: VirtAddr, phys: PhysAddr },
    /// A line that it loads from is not in the cache. The core requests the line and retries when it has arrived.
    Missing { virt: VirtAddr, phys: PhysAddr },
    /// Only when quiet: the kernel works for `cycles` cycles on behalf of the thread, then performs `stores` in order.
    /// The core retries when that is done and the thread is quiet.
    System { cycles: u64, stores: Vec<Touch> },
    /// The thread has nothing to run. The core retries when the bell rings.
    Idle,
    /// The thread is blocked in the kernel. The core retries when its bell has rung.
    Waiting,
}

/// An executed instruction, or an executed part of a repeated string instruction.
#[derive(Clone, Debug)]
pub struct Executed {
    pub outline: Rc<Outline>,
    /// Its virtual and its physical address.
    pub rip: u64,
    pub code: PhysAddr,
    /// The address of the next instruction. For a part of a repeated string instruction that is not the last: its own
    /// address.
    pub next: u64,
    /// Whether it is a taken branch.
    pub taken: bool,
    /// Its accesses, in order, split at line boundaries.
    pub accesses: SmallVec<[Touch; 2]>,
}

impl Default for Executed {
    /// An empty value for a [`Program`] to fill in.
    fn default() -> Self {
        let outline = Outline {
            length: 0,
            micro_ops: Vec::new(),
            reads: RegisterSet::NONE,
            writes: RegisterSet::NONE,
            branch: Branch::No,
            order: Order::Any,
            repeats: false,
        };
        let (outline, code, accesses) = (Rc::new(outline), PhysAddr(0), SmallVec::new());
        Self { outline, rip: 0, code, next: 0, taken: false, accesses }
    }
}

/// An access within one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    pub store: bool,
    /// The line, or any byte in it.
    pub virt: VirtAddr,
    pub phys: PhysAddr,
    /// The bytes of a store, at their place in the line; for a load, only the mask matters.
    pub data: Block<LINE>,
}
