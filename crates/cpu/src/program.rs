//! Where a core's instructions come from.
//!
//! The core knows time, the program knows values: registers, memory, system calls. They meet here. What the program has
//! stored waits with it until the core says that it is performed, as in `os`'s `Window`.

use engine::Time;
use mem::{Block, LINE, PhysAddr, VirtAddr};
use smallvec::SmallVec;
use std::rc::Rc;
use x86::trace::{Branch, Order, Outline, RegisterSet};

/// What runs on the hardware threads of a core.
pub trait Program {
    /// Executes the next instruction of a hardware thread on the right path and tells what it did. `quiet`: nothing of the
    /// thread is in flight: everything is committed, all stores are performed.
    fn next(&mut self, thread: usize, quiet: bool, executed: &mut Executed, now: Time) -> Fetch;

    /// The thread's oldest store that was not performed (of those in [`Executed`] and in [`Fetch::System`]) has been
    /// performed. They are told of in the order of the program.
    fn performed(&mut self, thread: usize);
}

/// What became of the next instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Fetch {
    /// It has been executed; `executed` says what it did.
    Executed,
    /// It must wait until everything before it is done: an atomic access, a fence, a serialising instruction, a system call.
    /// The core asks again when the thread is quiet.
    Drain,
    /// Only when quiet: its accesses to this line must be one. The core gets the line and holds it, then asks again. The next
    /// store to the line lets it go; if the instruction stores nothing there, the core sends an empty one.
    Lock { virt: VirtAddr, phys: PhysAddr },
    /// A line that it loads from must come to the cache first. The core asks again when it has come.
    Missing { virt: VirtAddr, phys: PhysAddr },
    /// Only when quiet: the kernel works that long for the thread, then stores these, in order. The core asks again when that
    /// is done and the thread is quiet.
    System { cycles: u64, stores: Vec<Touch> },
    /// There is nothing to run. The core asks again when its bell has rung.
    Idle,
    /// The kernel waits for others. The core asks again when its bell has rung.
    Waiting,
}

/// An instruction, or a part of a repeated string instruction, that was executed.
#[derive(Clone, Debug)]
pub struct Executed {
    pub outline: Rc<Outline>,
    /// Its address, as the program names it and as memory does.
    pub rip: u64,
    pub code: PhysAddr,
    /// The address of the next one; of a part of a repeated string instruction that is not the last, its own.
    pub next: u64,
    /// Whether it jumped.
    pub taken: bool,
    /// Its accesses, in order, split at the borders of lines.
    pub accesses: SmallVec<[Touch; 2]>,
}

impl Default for Executed {
    /// Nothing: what a [`Program`] fills in.
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
    /// A store's bytes, where they lie in the line; of a load, only the mask counts.
    pub data: Block<LINE>,
}
