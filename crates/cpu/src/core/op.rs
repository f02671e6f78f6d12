//! Micro-operations in flight, and the lines they touch.

use mem::{Block, LINE, Mask, PhysAddr, VirtAddr};
use std::collections::VecDeque;
use x86::trace::RegisterSet;

/// The most micro-operations of an instruction; none has as many.
pub const MOST_OPS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    StoreAddress,
    StoreData,
    Compute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// For its inputs, or for its turn.
    Waiting,
    /// A unit has it.
    Executing,
    /// A load knows its address and waits for its bytes.
    Accessing,
    /// Its result is there.
    Done,
}

/// A micro-operation, from fetch to commit.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub kind: Kind,
    pub state: State,
    /// The number of the pool of units that does it.
    pub pool: u8,
    /// Inputs that are not there yet.
    pub waiting: u8,
    /// Answers that are not there yet.
    pub outstanding: u8,
    /// The lines it touches: how many, and which in the thread's row of loads or stores.
    pub touches: u8,
    pub first_touch: u64,
    /// Places in the queue of loads or stores that it takes at dispatch.
    pub takes: u8,
    /// With it an instruction is committed.
    pub ends: bool,
    /// Physical registers that it takes at dispatch, of each kind.
    pub registers: [u8; 3],
    pub reads: RegisterSet,
    pub writes: RegisterSet,
    /// Stores before this number are older.
    pub older_stores: u64,
    /// The first link of those who wait for it.
    pub waiters: u32,
}

/// No link.
pub const NONE: u32 = u32::MAX;

impl Op {
    pub fn new(kind: Kind, pool: u8, reads: RegisterSet, writes: RegisterSet) -> Self {
        let (x87, xmm) = (writes.0 & RegisterSet::X87.0, writes.0 & 0xffff_0000);
        // The others: general registers, flags, and what lives inside an instruction.
        let registers = [writes.0 & !x87 & !xmm, x87, xmm].map(|kind| kind.count_ones() as u8);
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

/// A line that is loaded from.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub virt: VirtAddr,
    pub line: PhysAddr,
    pub mask: Mask,
}

/// A line that is stored to.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub virt: VirtAddr,
    pub line: PhysAddr,
    pub data: Block<LINE>,
    /// How many of the program's stores it is made of.
    pub parts: u16,
    /// The micro-operation that brings the value.
    pub op: u64,
    /// The value is there.
    pub ready: bool,
    /// The line has been asked for ahead of the store.
    pub prefetched: bool,
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

    /// The number of the oldest item, and of the next to come.
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
