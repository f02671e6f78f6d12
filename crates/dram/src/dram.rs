//! DRAM with several channels behind one memory: its parameters, and the contexts that run the channels' controllers.

use crate::{Mapping, Scheduler, Standard, Tally};
use engine::{Context, Counter, Cycles, EventCount, Lane, Level, Outlet, Scope};
use interconnect::Packet;
use mem::{LINE, PhysAddr, Stride};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// Parameters from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct DramSpec {
    pub standard: &'static Standard,
    /// Channels behind one memory; consecutive lines go to consecutive channels.
    pub channels: usize,
    pub ranks: usize,
    pub mapping: Mapping,
    pub order: Order,
    pub page: Page,
    /// Maximum reads waiting in each channel.
    pub read_queue: usize,
    /// Maximum writes waiting in each channel.
    pub write_queue: usize,
    /// Draining of writes starts when this many wait.
    pub drain_from: usize,
    /// Draining stops when this many are left.
    pub drain_to: usize,
    /// An access that has waited longer than this comes before all others.
    pub patience: Cycles,
    /// From the last data of a read until its answer leaves; from accepting a write until its answer leaves.
    pub latency: Cycles,
}

/// Which access is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Accesses to open rows first, then the oldest.
    FrFcfs,
    /// The oldest.
    Fcfs,
}

/// What happens to an open row that no access waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The row stays open.
    Open,
    /// The row is closed.
    Closed,
}

impl DramSpec {
    /// A usual controller: FR-FCFS, open rows, queues of 64 reads and 64 writes, and half of the writes drained at a
    /// time.
    pub fn new(standard: &'static Standard) -> Self {
        Self {
            standard,
            channels: 1,
            ranks: 1,
            mapping: Mapping::default(),
            order: Order::FrFcfs,
            page: Page::Open,
            read_queue: 64,
            write_queue: 64,
            drain_from: 48,
            drain_to: 16,
            patience: Cycles(2000),
            latency: Cycles(0),
        }
    }
}

/// The answers that wait for a read.
type Answers = Vec<Packet>;

/// Timed DRAM.
pub(crate) struct Dram {
    spec: DramSpec,
    channels: Vec<Rc<Channel>>,
}

struct Channel {
    scheduler: RefCell<Scheduler<Answers>>,
    /// Completed reads, each with the cycle in which its data is there, in order.
    done: RefCell<VecDeque<(u64, Answers)>>,
    /// Advanced when an access has been enqueued.
    enqueued: EventCount,
    /// Advanced when a read has been completed.
    read: EventCount,
    /// Advanced when there is room again after `has_room` found none.
    room: EventCount,
    was_full: Cell<bool>,
    reading: Level,
    writing: Level,
    counters: Counters,
}

impl Dram {
    /// Starts the contexts of every channel. Answers go to `answers`; `room` is advanced when a full queue has room
    /// again.
    pub(crate) fn new(spec: DramSpec, answers: &Outlet<Packet>, room: &EventCount, scope: &Scope) -> Self {
        let channels = (0..spec.channels).map(|number| {
            let scope = scope.scope(("channel", number));
            let channel = Rc::new(Channel {
                scheduler: RefCell::new(Scheduler::new(spec)),
                done: RefCell::default(),
                enqueued: scope.eventcount("enqueued"),
                read: scope.eventcount("read"),
                room: room.clone(),
                was_full: Cell::default(),
                reading: scope.level("read_queue"),
                writing: scope.level("write_queue"),
                counters: Counters::new(&scope),
            });
            let (one, other, answers) = (Rc::clone(&channel), Rc::clone(&channel), answers.clone());
            scope.serve("schedule", |cx| schedule(one, cx));
            scope.serve("return", |cx| give_back(other, answers, cx));
            channel
        });
        Self { channels: channels.collect(), spec }
    }

    /// The channel of an address, and the address within it.
    fn channel(&self, address: PhysAddr) -> (&Channel, PhysAddr) {
        let (inside, channel) = Stride::of(LINE as u64).split(address.0, self.channels.len() as u64);
        (&self.channels[channel as usize], PhysAddr(inside))
    }

    /// Whether the channel of this address has room for an access of either kind.
    pub(crate) fn has_room(&self, address: PhysAddr) -> bool {
        let channel = self.channel(address).0;
        let (reading, writing) = channel.scheduler.borrow().waiting();
        let room = reading + channel.done.borrow().len() < self.spec.read_queue && writing < self.spec.write_queue;
        channel.was_full.set(!room);
        room
    }

    /// Enqueues a read; its answers are sent when it is complete. Returns the answers if they need not wait.
    pub(crate) fn read(&self, now: u64, address: PhysAddr, answers: Answers) -> Option<Answers> {
        let (channel, inside) = self.channel(address);
        let at_once = channel.scheduler.borrow_mut().read(now, inside, answers);
        channel.changed();
        channel.enqueued.advance();
        at_once
    }

    /// Enqueues a write, which is performed later.
    pub(crate) fn write(&self, now: u64, address: PhysAddr) {
        let (channel, inside) = self.channel(address);
        channel.scheduler.borrow_mut().write(now, inside);
        channel.changed();
        channel.enqueued.advance();
    }
}

impl Channel {
    /// Updates the statistics of the queues' lengths.
    fn changed(&self) {
        let (reading, writing) = self.scheduler.borrow().waiting();
        self.reading.set(reading as u64);
        self.writing.set(writing as u64);
    }

    /// Wakes the memory if it found no room before.
    fn has_served(&self) {
        if self.was_full.take() {
            self.room.advance();
        }
    }
}

/// Advances a channel's controller whenever a command can be issued.
async fn schedule(channel: Rc<Channel>, cx: Context) {
    loop {
        let seen = channel.enqueued.count();
        let now = cx.now().0;
        let next = {
            let mut scheduler = channel.scheduler.borrow_mut();
            let next = scheduler.advance(now);
            while let Some(read) = scheduler.completed() {
                channel.done.borrow_mut().push_back(read);
                channel.read.advance();
            }
            channel.counters.add(&scheduler.tally);
            next
        };
        channel.changed();
        channel.has_served();
        match next {
            Some(next) => _ = channel.enqueued.wait_for(seen + 1, next - now).await,
            None => channel.enqueued.wait(seen + 1).await,
        }
    }
}

/// Sends the answers of each read when its data is there.
async fn give_back(channel: Rc<Channel>, answers: Outlet<Packet>, cx: Context) {
    loop {
        let next = channel.done.borrow().front().map(|(done, _)| *done);
        match next {
            None => channel.read.next().await,
            Some(done) if done > cx.now().0 => cx.pause(done - cx.now().0).await,
            Some(_) => {
                let read = channel.done.borrow_mut().pop_front();
                channel.has_served();
                for msg in read.into_iter().flat_map(|(_, answers)| answers) {
                    answers.send(Lane::Reply, msg, 0).await;
                }
            }
        }
    }
}

/// A channel's statistics.
struct Counters {
    counted: Cell<Tally>,
    row_hits: Counter,
    row_closed: Counter,
    row_conflicts: Counter,
    bus_busy: Counter,
    refreshes: Counter,
    bytes_read: Counter,
    bytes_written: Counter,
    forwarded: Counter,
    merged: Counter,
}

impl Counters {
    fn new(scope: &Scope) -> Self {
        Self {
            counted: Cell::default(),
            row_hits: scope.counter("row_hits"),
            row_closed: scope.counter("row_closed"),
            row_conflicts: scope.counter("row_conflicts"),
            bus_busy: scope.counter("bus_busy_cycles"),
            refreshes: scope.counter("refreshes"),
            bytes_read: scope.counter("bytes_read"),
            bytes_written: scope.counter("bytes_written"),
            forwarded: scope.counter("forwarded"),
            merged: scope.counter("merged"),
        }
    }

    /// Adds what has happened since the last call.
    fn add(&self, tally: &Tally) {
        let before = self.counted.replace(*tally);
        self.row_hits.add(tally.row_hits - before.row_hits);
        self.row_closed.add(tally.row_closed - before.row_closed);
        self.row_conflicts.add(tally.row_conflicts - before.row_conflicts);
        self.bus_busy.add(tally.bus_busy - before.bus_busy);
        self.refreshes.add(tally.refreshes - before.refreshes);
        self.bytes_read.add((tally.reads - before.reads) * LINE as u64);
        self.bytes_written.add((tally.writes - before.writes) * LINE as u64);
        self.forwarded.add(tally.forwarded - before.forwarded);
        self.merged.add(tally.merged - before.merged);
    }
}
