//! A hardware thread: its instructions in flight, from fetch to commit.
//!
//! Micro-operations are created at fetch and stay at their place in a ring. The stages are indices into it, from the
//! oldest: committed, dispatched (the reorder buffer lies between these two), decoded, fetched. Nothing is ever
//! squashed, as wrong paths are not fetched.

use super::{
    bits::Bits,
    code::CodeLines,
    op::{Flush, Kind, Load, MOST_OPS, NONE, Op, State, Store, Track},
    units::Units,
    wrong_path::WrongPath,
};
use crate::{CoreSpec, spec::NAMED};
use mem::{PhysAddr, VirtAddr};
use std::collections::VecDeque;
use x86::trace::RegisterSet;

/// A thread's share of the resources that threads divide.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    pub fetch_queue: usize,
    pub micro_op_queue: u64,
    pub rob: u64,
    pub issue_queue: usize,
    pub load_queue: u64,
    pub store_queue: u64,
    /// Registers beyond the architectural ones.
    pub registers: [usize; 3],
}

impl Shares {
    pub fn new(spec: &CoreSpec, threads: usize) -> Self {
        let registers = [spec.registers.integer, spec.registers.x87, spec.registers.xmm];
        Self {
            fetch_queue: spec.fetch_queue / threads,
            micro_op_queue: (spec.micro_op_queue / threads) as u64,
            rob: (spec.rob / threads) as u64,
            issue_queue: spec.issue_queue / threads,
            load_queue: (spec.load_queue / threads) as u64,
            store_queue: (spec.store_queue / threads) as u64,
            registers: std::array::from_fn(|kind| registers[kind] / threads - NAMED[kind]),
        }
    }
}

/// What fetch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// Nothing: fetch may continue from this cycle on.
    From(u64),
    /// The execution of a mispredicted branch.
    Branch(u64),
    /// The decoding of a branch with unknown target: until this many micro-operations have been decoded.
    Decode(u64),
    /// The completion of everything before it.
    Drain,
    /// The thread's turn to lock a line.
    Turn,
    /// The reply to a lock, or a line to load from ([`Front::Missing`]).
    Lock,
    Missing,
    /// The kernel, until this cycle.
    System(u64),
    /// Work; with the count of the bell at that time.
    Idle(u64),
    /// Blocked in the kernel; with the count of the bell at that time.
    Waiting(u64),
}

/// An instruction in the fetch queue.
pub struct Instruction {
    pub ops: u8,
    /// The numbers of its code lines.
    pub lines: [u64; 2],
}

/// Micro-operations that wait for units that are not pipelined.
struct Parked {
    waiting: Bits,
    /// How many wait, and how many have been made ready because units are free for them.
    count: usize,
    ready: usize,
}

/// A waiting micro-operation, and the next link of the list.
struct Link {
    op: u32,
    next: u32,
}

pub struct Thread {
    ops: Box<[Op]>,
    pub fetched: u64,
    pub decoded: u64,
    pub dispatched: u64,
    pub committed: u64,
    pub fetch_queue: VecDeque<Instruction>,
    pub front: Front,
    pub wrong_path: Option<WrongPath>,
    pub code: CodeLines,
    /// Lines locked by an atomic access that has not stored to them yet.
    pub locked: Vec<(VirtAddr, PhysAddr)>,
    /// Micro-operations that are ready to issue, and their number.
    ready: Bits,
    pub ready_count: usize,
    /// For each pool of units that are not pipelined, the micro-operations that wait for a free unit.
    parked: Vec<Option<Parked>>,
    /// The pools for which micro-operations wait, one bit each.
    pub parked_pools: u64,
    /// Store addresses that are not known yet.
    unaddressed: Bits,
    /// For each register, the micro-operation that writes it last: its number plus 1.
    producers: [u64; 64],
    links: Vec<Link>,
    free_link: u32,
    pub issue_queue: usize,
    pub registers: [usize; 3],
    pub loads: Track<Load>,
    /// Loads before this number have been dispatched.
    pub loads_dispatched: u64,
    pub stores: Track<Store>,
    /// Stores before these numbers have been dispatched; committed; sent.
    pub stores_dispatched: u64,
    pub stores_committed: u64,
    pub stores_sent: u64,
    /// The next store is not sent before this cycle.
    pub send_from: u64,
    /// Lines to be flushed that have not been sent; how many of them have been committed; how many have been sent and
    /// are not done.
    pub flushes: VecDeque<Flush>,
    pub flushes_committed: usize,
    pub flushing: usize,
    /// Number of stores in flight, by a hash of their lines.
    filter: [u16; 64],
    /// Loads that wait until a store has been performed.
    pub blocked: Vec<(u64, u64)>,
    /// Loads that wait for the addresses of older stores.
    pub held: Vec<u64>,
    /// Whether a full store queue blocked dispatch.
    pub lacks_stores: bool,
}

impl Thread {
    pub fn new(spec: &CoreSpec, shares: &Shares, units: &Units) -> Self {
        let size = shares.rob as usize + shares.micro_op_queue as usize + 4 * shares.fetch_queue + 2 * MOST_OPS;
        let size = size.next_power_of_two().max(64);
        let parked = |(_, slow): (usize, bool)| slow.then(|| Parked { waiting: Bits::new(size), count: 0, ready: 0 });
        Self {
            ops: vec![Op::new(Kind::Compute, 0, RegisterSet::NONE, RegisterSet::NONE); size].into_boxed_slice(),
            fetched: 0,
            decoded: 0,
            dispatched: 0,
            committed: 0,
            fetch_queue: VecDeque::new(),
            front: Front::From(0),
            wrong_path: None,
            code: CodeLines::new(spec.line_buffers),
            locked: Vec::new(),
            ready: Bits::new(size),
            ready_count: 0,
            parked: units.slow().map(parked).collect(),
            parked_pools: 0,
            unaddressed: Bits::new(size),
            producers: [0; 64],
            links: Vec::new(),
            free_link: NONE,
            issue_queue: 0,
            registers: [0; 3],
            loads: Track::new(),
            loads_dispatched: 0,
            stores: Track::new(),
            stores_dispatched: 0,
            stores_committed: 0,
            stores_sent: 0,
            send_from: 0,
            flushes: VecDeque::new(),
            flushes_committed: 0,
            flushing: 0,
            filter: [0; 64],
            blocked: Vec::new(),
            held: Vec::new(),
            lacks_stores: false,
        }
    }

    fn place(&self, number: u64) -> usize {
        (number & (self.ops.len() as u64 - 1)) as usize
    }

    pub fn op(&self, number: u64) -> &Op {
        &self.ops[self.place(number)]
    }

    pub fn op_mut(&mut self, number: u64) -> &mut Op {
        &mut self.ops[self.place(number)]
    }

    /// Whether an instruction of any size fits into the ring.
    pub fn has_room(&self) -> bool {
        self.fetched - self.committed + MOST_OPS as u64 <= self.ops.len() as u64
    }

    pub fn push(&mut self, op: Op) -> u64 {
        let number = self.fetched;
        *self.op_mut(number) = op;
        self.fetched += 1;
        number
    }

    /// Whether nothing of the thread is in flight.
    pub fn is_quiet(&self) -> bool {
        self.committed == self.fetched && self.stores.is_empty() && self.flushes.is_empty() && self.flushing == 0
    }

    /// Makes the micro-operation being dispatched wait for its inputs, and registers it as the producer of its outputs.
    pub fn rename(&mut self, number: u64) {
        let Op { kind, reads, writes, .. } = *self.op(number);
        let mut waiting = 0;
        let mut left = reads.0;
        while left != 0 {
            let producer = self.producers[left.trailing_zeros() as usize];
            left &= left - 1;
            // Producers are stored as number plus 1; 0 means none.
            if producer > self.committed {
                waiting += self.follow(producer - 1, number) as u8;
            }
        }
        // The value of a store waits for its address.
        if kind == Kind::StoreData && number > self.committed && self.op(number - 1).kind == Kind::StoreAddress {
            waiting += self.follow(number - 1, number) as u8;
        }
        let mut left = writes.0;
        while left != 0 {
            self.producers[left.trailing_zeros() as usize] = number + 1;
            left &= left - 1;
        }
        let place = self.place(number);
        self.ops[place].waiting = waiting;
        if waiting == 0 {
            self.set_ready(place);
        }
        if kind == Kind::StoreAddress {
            self.unaddressed.set(place);
        }
    }

    /// Makes `op` wait for `producer`, unless that is done. Returns whether it waits.
    pub fn follow(&mut self, producer: u64, op: u64) -> bool {
        let (producer, op) = (self.place(producer), self.place(op) as u32);
        if self.ops[producer].state == State::Done {
            return false;
        }
        let link = Link { op, next: self.ops[producer].waiters };
        let number = match self.free_link {
            NONE => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
            free => {
                self.free_link = std::mem::replace(&mut self.links[free as usize], link).next;
                free
            }
        };
        self.ops[producer].waiters = number;
        true
    }

    /// Marks a result as available. Loads that waited to have it forwarded are added to `again`.
    pub fn complete(&mut self, number: u64, again: &mut Vec<u64>) {
        let op = self.op_mut(number);
        op.state = State::Done;
        let mut link = std::mem::replace(&mut op.waiters, NONE);
        while link != NONE {
            let Link { op: place, next } = self.links[link as usize];
            self.links[link as usize].next = self.free_link;
            self.free_link = link;
            let place = place as usize;
            self.ops[place].waiting -= 1;
            if self.ops[place].waiting == 0 {
                match self.ops[place].state {
                    State::Accessing => again.push(self.number(place)),
                    _ => self.set_ready(place),
                }
            }
            link = next;
        }
    }

    /// The number of the micro-operation at a place of the ring.
    fn number(&self, place: usize) -> u64 {
        let last = self.ops.len() as u64 - 1;
        self.committed + ((place as u64).wrapping_sub(self.committed) & last)
    }

    fn set_ready(&mut self, place: usize) {
        let pool = self.ops[place].pool;
        if let Some(parked) = &mut self.parked[pool as usize] {
            parked.waiting.set(place);
            parked.count += 1;
            self.parked_pools |= 1 << pool;
        } else {
            self.ready.set(place);
            self.ready_count += 1;
        }
    }

    /// Makes the oldest micro-operations ready that wait for units that are not pipelined, as many as there are free
    /// units.
    pub fn unpark(&mut self, units: &mut Units, now: u64) {
        let last = self.ops.len() - 1;
        let mut pools = self.parked_pools;
        while pools != 0 {
            let pool = pools.trailing_zeros() as usize;
            pools &= pools - 1;
            let Some(parked) = &mut self.parked[pool] else { continue };
            let free = units.free(pool, now);
            while parked.ready < free
                && let Some(number) = parked.waiting.next(self.committed, self.dispatched)
            {
                parked.waiting.clear(number as usize & last);
                parked.count -= 1;
                parked.ready += 1;
                self.ready.set(number as usize & last);
                self.ready_count += 1;
            }
            if parked.count == 0 {
                self.parked_pools &= !(1 << pool);
            }
        }
    }

    /// Records that a ready micro-operation has been issued.
    pub fn issued(&mut self, number: u64) {
        let place = self.place(number);
        self.ready.clear(place);
        self.ready_count -= 1;
        self.issue_queue -= 1;
        if let Some(parked) = &mut self.parked[self.ops[place].pool as usize] {
            parked.ready -= 1;
        }
    }

    /// The first micro-operation from `number` on that is ready to issue.
    pub fn next_ready(&self, number: u64) -> Option<u64> {
        self.ready.next(number, self.dispatched)
    }

    /// Whether an older store has an unknown address.
    pub fn is_unaddressed_before(&self, number: u64) -> bool {
        self.unaddressed.next(self.committed, number).is_some()
    }

    pub fn set_addressed(&mut self, number: u64) {
        self.unaddressed.clear(self.place(number));
    }

    pub fn push_store(&mut self, store: Store) {
        self.filter[hash(store.line)] += 1;
        self.stores.push(store);
    }

    pub fn pop_store(&mut self) -> Option<Store> {
        let store = self.stores.pop()?;
        self.filter[hash(store.line)] -= 1;
        Some(store)
    }

    /// Whether there may be more than `count` stores to a line.
    pub fn may_store_to(&self, line: PhysAddr, count: u16) -> bool {
        self.filter[hash(line)] > count
    }
}

fn hash(line: PhysAddr) -> usize {
    let line = line.0 / mem::LINE as u64;
    (line ^ line >> 6 ^ line >> 12) as usize % 64
}
