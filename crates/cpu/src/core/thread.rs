//! A hardware thread: its instructions in flight, from fetch to commit.
//!
//! Micro-operations are made at fetch and stay where they are, in a ring; the stages are numbers between which they lie. From
//! the oldest: committed, dispatched (between these two is the reorder buffer), decoded, fetched. Nothing is ever thrown
//! away, as wrong paths are not fetched.

use super::{
    bits::Bits,
    code::CodeLines,
    op::{Kind, Load, MOST_OPS, NONE, Op, State, Store, Track},
    units::Units,
};
use crate::{CoreSpec, spec::NAMED};
use mem::{PhysAddr, VirtAddr};
use std::collections::VecDeque;
use x86::trace::RegisterSet;

/// A thread's share of everything that threads divide.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    pub fetch_queue: usize,
    pub micro_op_queue: u64,
    pub rob: u64,
    pub issue_queue: usize,
    pub load_queue: u64,
    pub store_queue: u64,
    /// Registers beyond those that programs can name.
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
    /// Nothing, from this cycle on.
    From(u64),
    /// A branch that was predicted wrong, until it is executed.
    Branch(u64),
    /// A branch whose target was not known, until so many micro-operations are decoded.
    Decode(u64),
    /// Everything before it.
    Drain,
    /// Its turn to hold a line.
    Turn,
    /// The answer to a lock, or a line to load from.
    Lock,
    Missing,
    /// The kernel, until then.
    System(u64),
    /// Work; the bell had rung so often.
    Idle(u64),
    /// The same in the kernel, for others.
    Waiting(u64),
}

/// An instruction in the fetch queue.
pub struct Instruction {
    pub ops: u8,
    /// The lines of code it lies in.
    pub lines: [u64; 2],
}

/// What waits for units that are not pipelined.
struct Parked {
    waiting: Bits,
    /// How many wait; how many more are ready, as there are units for them.
    count: usize,
    ready: usize,
}

/// Somebody who waits, and the next who does.
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
    pub code: CodeLines,
    /// Lines that are held by an atomic access which has not stored to them.
    pub locked: Vec<(VirtAddr, PhysAddr)>,
    /// Micro-operations that could be issued, and how many there are.
    ready: Bits,
    pub ready_count: usize,
    /// Those that could be if a unit that is not pipelined were free, for each pool of such units.
    parked: Vec<Option<Parked>>,
    /// The pools for which somebody waits, a bit each.
    pub parked_pools: u64,
    /// Stores whose address is not known.
    unaddressed: Bits,
    /// Who writes each register last: its number plus 1.
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
    /// The next store is not sent before.
    pub send_from: u64,
    /// How many stores there are, by a hash of their lines.
    filter: [u16; 64],
    /// Loads that wait until a store has been performed.
    pub blocked: Vec<(u64, u64)>,
    /// Loads that wait for addresses of older stores.
    pub held: Vec<u64>,
    /// The queue of stores kept dispatch from going on.
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

    /// Whether an instruction, however large, fits the ring.
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
        self.committed == self.fetched && self.stores.is_empty()
    }

    /// Has the micro-operation that is dispatched now wait for its inputs, and writes it down as the producer of its outputs.
    pub fn rename(&mut self, number: u64) {
        let Op { kind, reads, writes, .. } = *self.op(number);
        let mut waiting = 0;
        let mut left = reads.0;
        while left != 0 {
            let producer = self.producers[left.trailing_zeros() as usize];
            left &= left - 1;
            // Numbers of producers are one too high: 0 is nobody.
            if producer > self.committed {
                waiting += self.follow(producer - 1, number) as u8;
            }
        }
        // The value follows its address.
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

    /// Has `op` wait for `producer`, unless that is done, and says whether it does.
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

    /// A result is there. Loads that waited for it to be forwarded are added to `again`.
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

    /// The number of the micro-operation at a place.
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

    /// The oldest of those that wait for units that are not pipelined become ready, as many as there are units for.
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

    /// A micro-operation that was ready has been issued.
    pub fn issued(&mut self, number: u64) {
        let place = self.place(number);
        self.ready.clear(place);
        self.ready_count -= 1;
        self.issue_queue -= 1;
        if let Some(parked) = &mut self.parked[self.ops[place].pool as usize] {
            parked.ready -= 1;
        }
    }

    /// The first micro-operation from `number` on that could be issued.
    pub fn next_ready(&self, number: u64) -> Option<u64> {
        self.ready.next(number, self.dispatched)
    }

    /// Whether the address of an older store is not known.
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

    /// Whether there may be stores to a line, and more than `count`.
    pub fn may_store_to(&self, line: PhysAddr, count: u16) -> bool {
        self.filter[hash(line)] > count
    }
}

fn hash(line: PhysAddr) -> usize {
    let line = line.0 / mem::LINE as u64;
    (line ^ line >> 6 ^ line >> 12) as usize % 64
}
