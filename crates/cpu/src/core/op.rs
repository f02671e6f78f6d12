//! Micro-operations in flight, and the lines they touch.

use mem::{Block, LINE, Mask, PhysAddr, VirtAddr};
use std::collections::VecDeque;
use x86::trace::RegisterSet;

/// An upper limit of the micro-operations of an instruction.
pub const MOST_OPS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    StoreAddress,
    StoreData,
    /// A line that is flushed when the micro-operation is committed.
    Flush,
    Compute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for its inputs, or to be issued.
    Waiting,
    /// Executing in a unit.
    Executing,
    /// A load with a known address that waits for its bytes.
    Accessing,
    /// Its result is available.
    Done,
}

/// A micro-operation, from fetch to commit.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub kind: Kind,
    pub state: State,
    /// The number of the pool of units that executes it.
    pub pool: u8,
    /// Inputs that are not available yet.
    pub waiting: u8,
    /// Replies that are pending.
    pub outstanding: u8,
    /// The lines it accesses: how many, and the number of the first in the thread's track of loads or stores.
    pub touches: u8,
    pub first_touch: u64,
    /// Entries of the load or store queue that it allocates at dispatch.
    pub takes: u8,
    /// Whether it is the last of its instruction.
    pub ends: bool,
    /// Physical registers that it allocates at dispatch, by kind.
    pub registers: [u8; 3],
    pub reads: RegisterSet,
    pub writes: RegisterSet,
    /// Stores before this number are older.
    pub older_stores: u64,
    /// The first link in the list of micro-operations that wait for it.
    pub waiters: u32,
}

/// No link.
pub const NONE: u32 = u32::MAX;

impl Op {
    pub fn new(kind: Kind, pool: u8, reads: RegisterSet, writes: RegisterSet) -> Self {
        let (x87, xmm) = (writes.0 & RegisterSet::X87.0, writes.0 & 0xffff_0000);
        // The rest: general registers, flags, and temporaries within an instruction.
        let registers = [writes.0 & !x87 & !xmm, x87, xmm].map(count);
        Self {
            kind,
            state: State::Waiting,
            pool,
            waiting: 0,
            outstanding: 0,
            touches: 0,
            first_touch: 0,
            takes: 0,
            ends: false,
            registers,
            reads,
            writes,
            older_stores: 0,
            waiters: NONE,
        }
    }
}

/// The number of bits set, which are few: without an instruction for it, counting them one by one is quicker.
fn count(mut bits: u64) -> u8 {
    let mut count = 0;
    while bits != 0 {
        bits &= bits - 1;
        count += 1;
    }
    count
}

/// What a micro-operation allocates at dispatch.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    pub kind: Kind,
    pub takes: u8,
    pub registers: [u8; 3],
}

impl Op {
    pub fn needs(&self) -> Needs {
        let Op { kind, takes, registers, .. } = *self;
        Needs { kind, takes, registers }
    }
}

/// A line that is loaded from.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub virt: VirtAddr,
    pub line: PhysAddr,
    pub mask: Mask,
    /// The address of the load instruction, for prefetches.
    pub rip: u64,
}

/// A line that is stored to.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub virt: VirtAddr,
    pub line: PhysAddr,
    pub data: Block<LINE>,
    /// Number of the program's stores that it combines.
    pub parts: u16,
    /// The micro-operation that provides the value.
    pub op: u64,
    /// Whether the value is available.
    pub ready: bool,
    /// Whether the line has been requested ahead of the store.
    pub prefetched: bool,
}

/// A line to be flushed.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    pub virt: VirtAddr,
    pub line: PhysAddr,
    /// Stores before this number are older, and sent first.
    pub older_stores: u64,
}

/// A queue whose items keep their numbers.
pub struct Track<T> {
    first: u64,
    items: VecDeque<T>,
}

impl<T> Track<T> {
    pub fn new() -> Self {
        Self { first: 0, items: VecDeque::new() }
    }

    /// The number of the oldest item ([`end`](Self::end): of the next item to be added).
    pub fn first(&self) -> u64 {
        self.first
    }

    pub fn end(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    pub fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        self.first += 1;
        Some(item)
    }

    pub fn get(&self, number: u64) -> &T {
        &self.items[(number - self.first) as usize]
    }

    pub fn get_mut(&mut self, number: u64) -> &mut T {
        &mut self.items[(number - self.first) as usize]
    }

    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.items.back_mut()
    }
}
