//! A rival engine in the manner of gem5's event queue: an intrusive two-level list of bins in time order, with a list
//! of events in each bin. Events are objects of four classes with a virtual `process`, and schedule themselves again.
//!
//! As in gem5, each event has flags and a priority, and is checked not to be scheduled twice or into the past.

use super::{Measured, Rival, measure};
use std::cell::Cell;

pub struct Binned;

const NONE: u32 = u32::MAX;
const SCHEDULED: u16 = 1;
const SQUASHED: u16 = 2;

#[derive(Default)]
struct Event {
    when: Cell<u64>,
    priority: i16,
    flags: Cell<u16>,
    next_bin: Cell<u32>,
    next_in_bin: Cell<u32>,
}

struct Queue {
    events: Vec<Event>,
    head: Cell<u32>,
    now: Cell<u64>,
    end: u64,
    value: Cell<u64>,
}

trait Process {
    fn process(&self, queue: &Queue);
}

impl Queue {
    fn new(events: usize, end: u64) -> Queue {
        let events = (0..events).map(|_| Event::default()).collect();
        Queue { events, head: Cell::new(NONE), now: Cell::new(0), end, value: Cell::new(0) }
    }

    fn event(&self, id: u32) -> &Event {
        &self.events[id as usize]
    }

    /// Whether `a` comes before `b`.
    fn before(&self, a: &Event, b: &Event) -> bool {
        a.when.get() < b.when.get() || (a.when.get() == b.when.get() && a.priority < b.priority)
    }

    fn schedule(&self, id: u32, when: u64) {
        let event = self.event(id);
        assert!(when >= self.now.get() && event.flags.get() & SCHEDULED == 0);
        event.when.set(when);
        event.flags.set(event.flags.get() | SCHEDULED);
        let head = self.head.get();
        if head == NONE || !self.before(self.event(head), event) {
            self.head.set(self.insert_before(id, head));
            return;
        }
        let (mut previous, mut current) = (head, self.event(head).next_bin.get());
        while current != NONE && self.before(self.event(current), event) {
            previous = current;
            current = self.event(current).next_bin.get();
        }
        self.event(previous).next_bin.set(self.insert_before(id, current));
    }

    /// Inserts the event at the top of bin `current` if it belongs there, otherwise as a new bin before it.
    fn insert_before(&self, id: u32, current: u32) -> u32 {
        let event = self.event(id);
        if current == NONE || self.before(event, self.event(current)) {
            event.next_bin.set(current);
            event.next_in_bin.set(NONE);
        } else {
            event.next_bin.set(self.event(current).next_bin.get());
            event.next_in_bin.set(current);
        }
        id
    }

    /// Executes events until none is left; returns their number.
    fn run(&self, objects: &[Box<dyn Process>]) -> u64 {
        let mut served = 0;
        while self.head.get() != NONE {
            let id = self.head.get();
            let event = self.event(id);
            let next = event.next_in_bin.get();
            if next == NONE {
                self.head.set(event.next_bin.get());
            } else {
                self.event(next).next_bin.set(event.next_bin.get());
                self.head.set(next);
            }
            event.flags.set(event.flags.get() & !SCHEDULED);
            if event.flags.get() & SQUASHED == 0 {
                self.now.set(event.when.get());
                objects[id as usize].process(self);
                served += 1;
            }
        }
        served
    }
}

struct Add(u32);
struct Xor(u32);
struct Multiply(u32);
struct Shift(u32);

macro_rules! periodic {
    ($($class:ident: $work:expr;)*) => {$(
        impl Process for $class {
            fn process(&self, queue: &Queue) {
                queue.value.set($work(queue.value.get()));
                let next = queue.now.get() + 1;
                if next < queue.end {
                    queue.schedule(self.0, next);
                }
            }
        }
    )*};
}

periodic! {
    Add: |x: u64| x.wrapping_add(1);
    Xor: |x: u64| x ^ 3;
    Multiply: |x: u64| x.wrapping_mul(3);
    Shift: |x: u64| x >> 1;
}

/// Passes the token on at once; the first one passes it in the next cycle.
struct Pass {
    next: u32,
    delay: u64,
}

impl Process for Pass {
    fn process(&self, queue: &Queue) {
        let when = queue.now.get() + self.delay;
        if when < queue.end {
            queue.schedule(self.next, when);
        }
    }
}

/// Runs once per cycle and wakes another event.
struct Ring {
    own: u32,
    other: u32,
}

impl Process for Ring {
    fn process(&self, queue: &Queue) {
        let now = queue.now.get();
        if now + 1 < queue.end {
            queue.schedule(self.own, now + 1);
        }
        queue.schedule(self.other, now);
    }
}

/// Does nothing but wait to be woken.
struct Woken;

impl Process for Woken {
    fn process(&self, queue: &Queue) {
        queue.value.set(queue.value.get() + 1);
    }
}

fn measured(
    events: usize,
    end: u64,
    object: impl Fn(u32) -> Box<dyn Process>,
    first: impl Fn(u32) -> bool,
) -> Measured {
    measure(|| {
        let queue = Queue::new(events, end);
        let objects: Vec<_> = (0..events as u32).map(object).collect();
        (0..events as u32).filter(|id| first(*id)).for_each(|id| queue.schedule(id, 0));
        queue.run(&objects)
    })
}

impl Rival for Binned {
    fn pause1(&self, contexts: usize, cycles: u64) -> Measured {
        let class = |id| -> Box<dyn Process> {
            match id % 4 {
                0 => Box::new(Add(id)),
                1 => Box::new(Xor(id)),
                2 => Box::new(Multiply(id)),
                _ => Box::new(Shift(id)),
            }
        };
        measured(contexts, cycles, class, |_| true)
    }

    fn ring(&self, contexts: usize, laps: u64) -> Measured {
        let last = contexts as u32 - 1;
        let pass =
            |id| -> Box<dyn Process> { Box::new(Pass { next: (id + 1) % (last + 1), delay: u64::from(id == last) }) };
        measured(contexts, laps, pass, |id| id == 0)
    }

    fn pairs(&self, contexts: usize, cycles: u64) -> Measured {
        let half = |id| -> Box<dyn Process> {
            if id % 2 == 0 { Box::new(Ring { own: id, other: id + 1 }) } else { Box::new(Woken) }
        };
        measured(contexts, cycles, half, |id| id % 2 == 0)
    }
}
