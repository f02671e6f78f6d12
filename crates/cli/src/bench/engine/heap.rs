//! A rival engine of the simplest kind: a binary heap of boxed callbacks, ordered by time and then by scheduling order.

use super::{Measured, Rival, measure};
use std::{cell::Cell, cmp::Ordering, collections::BinaryHeap, rc::Rc};

pub struct Heap;

type Callback = Box<dyn FnMut(&mut Queue)>;

struct Scheduled {
    when: u64,
    sequence: u64,
    id: usize,
}

impl Ord for Scheduled {
    /// Reversed order, because the heap returns the greatest element.
    fn cmp(&self, other: &Scheduled) -> Ordering {
        (other.when, other.sequence).cmp(&(self.when, self.sequence))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scheduled {}

struct Queue {
    heap: BinaryHeap<Scheduled>,
    now: u64,
    sequence: u64,
}

impl Queue {
    fn schedule(&mut self, id: usize, when: u64) {
        self.sequence += 1;
        self.heap.push(Scheduled { when, sequence: self.sequence, id });
    }
}

fn measured(mut callbacks: Vec<Callback>, first: impl Iterator<Item = usize>) -> Measured {
    measure(|| {
        let mut queue = Queue { heap: BinaryHeap::new(), now: 0, sequence: 0 };
        first.for_each(|id| queue.schedule(id, 0));
        let mut served = 0;
        while let Some(event) = queue.heap.pop() {
            queue.now = event.when;
            callbacks[event.id](&mut queue);
            served += 1;
        }
        served
    })
}

impl Rival for Heap {
    fn pause1(&self, contexts: usize, cycles: u64) -> Measured {
        let value = Rc::new(Cell::new(0u64));
        let periodic = |id: usize, work: fn(u64) -> u64| -> Callback {
            let value = Rc::clone(&value);
            Box::new(move |queue| {
                value.set(work(value.get()));
                if queue.now + 1 < cycles {
                    queue.schedule(id, queue.now + 1);
                }
            })
        };
        let kind = |id: usize| match id % 4 {
            0 => periodic(id, |x| x.wrapping_add(1)),
            1 => periodic(id, |x| x ^ 3),
            2 => periodic(id, |x| x.wrapping_mul(3)),
            _ => periodic(id, |x| x >> 1),
        };
        measured((0..contexts).map(kind).collect(), 0..contexts)
    }

    fn ring(&self, contexts: usize, laps: u64) -> Measured {
        let pass = |id: usize| -> Callback {
            let (next, delay) = ((id + 1) % contexts, u64::from(id + 1 == contexts));
            Box::new(move |queue| {
                if queue.now + delay < laps {
                    queue.schedule(next, queue.now + delay);
                }
            })
        };
        measured((0..contexts).map(pass).collect(), 0..1)
    }

    fn pairs(&self, contexts: usize, cycles: u64) -> Measured {
        let woken = Rc::new(Cell::new(0u64));
        let half = |id: usize| -> Callback {
            if id.is_multiple_of(2) {
                return Box::new(move |queue| {
                    if queue.now + 1 < cycles {
                        queue.schedule(id, queue.now + 1);
                    }
                    queue.schedule(id + 1, queue.now);
                });
            }
            let woken = Rc::clone(&woken);
            Box::new(move |_| woken.set(woken.get() + 1))
        };
        measured((0..contexts).map(half).collect(), (0..contexts).step_by(2))
    }
}
