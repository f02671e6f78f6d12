//! A rival engine with a stack for each context, as in KnightSim and the Threads Package: `corosensei` coroutines on a
//! calendar like the shipped engine's (the next cycle's batch is a vector, woken contexts are a list).

use super::{Measured, Rival, measure};
use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

pub struct Stackful;

/// A context's request when it yields.
#[derive(Clone, Copy)]
enum Ask {
    NextCycle,
    Wait,
}

type Context = Coroutine<(), Ask, (), DefaultStack>;

fn context(body: impl FnOnce(&Yielder<(), Ask>) + 'static) -> Context {
    let stack = DefaultStack::new(16 * 1024).expect("a stack of 16 KiB can be had");
    Coroutine::with_stack(stack, move |yielder, ()| body(yielder))
}

/// Contexts woken in this cycle.
type Ready = Rc<RefCell<Vec<u32>>>;

/// An eventcount with at most one waiter.
#[derive(Default)]
struct EventCount {
    count: Cell<u64>,
    wanted: Cell<u64>,
}

impl EventCount {
    fn wait(&self, value: u64, yielder: &Yielder<(), Ask>) {
        if self.count.get() < value {
            self.wanted.set(value);
            yielder.suspend(Ask::Wait);
        }
    }

    fn advance(&self, waiter: u32, ready: &Ready) {
        self.count.set(self.count.get() + 1);
        if self.count.get() == self.wanted.get() {
            ready.borrow_mut().push(waiter);
        }
    }
}

fn measured(mut contexts: Vec<Context>, ready: &Ready) -> Measured {
    measure(|| {
        let mut batch: Vec<u32> = (0..contexts.len() as u32).collect();
        let mut next = Vec::with_capacity(contexts.len());
        let mut round = Vec::new();
        let mut served = 0;
        while !batch.is_empty() {
            loop {
                for &id in &batch {
                    if let CoroutineResult::Yield(Ask::NextCycle) = contexts[id as usize].resume(()) {
                        next.push(id);
                    }
                }
                served += batch.len() as u64;
                batch.clear();
                std::mem::swap(&mut round, &mut *ready.borrow_mut());
                std::mem::swap(&mut batch, &mut round);
                if batch.is_empty() {
                    break;
                }
            }
            std::mem::swap(&mut batch, &mut next);
        }
        served
    })
}

impl Rival for Stackful {
    fn pause1(&self, contexts: usize, cycles: u64) -> Measured {
        let value = Rc::new(Cell::new(0u64));
        fn periodic(value: &Rc<Cell<u64>>, cycles: u64, work: impl Fn(u64) -> u64 + 'static) -> Context {
            let value = Rc::clone(value);
            context(move |yielder| {
                for _ in 0..cycles {
                    value.set(work(value.get()));
                    yielder.suspend(Ask::NextCycle);
                }
            })
        }
        let kind = |id: usize| match id % 4 {
            0 => periodic(&value, cycles, |x| x.wrapping_add(1)),
            1 => periodic(&value, cycles, |x| x ^ 3),
            2 => periodic(&value, cycles, |x| x.wrapping_mul(3)),
            _ => periodic(&value, cycles, |x| x >> 1),
        };
        measured((0..contexts).map(kind).collect(), &Ready::default())
    }

    fn ring(&self, contexts: usize, laps: u64) -> Measured {
        let ready = Ready::default();
        let tokens: Rc<Vec<EventCount>> = Rc::new((0..contexts).map(|_| EventCount::default()).collect());
        let pass = |id: usize| {
            let (tokens, ready, next) = (Rc::clone(&tokens), Rc::clone(&ready), (id + 1) % contexts);
            context(move |yielder| {
                for lap in 1..=laps {
                    if id == 0 {
                        yielder.suspend(Ask::NextCycle);
                        tokens[next].advance(next as u32, &ready);
                        tokens[id].wait(lap, yielder);
                    } else {
                        tokens[id].wait(lap, yielder);
                        tokens[next].advance(next as u32, &ready);
                    }
                }
            })
        };
        measured((0..contexts).map(pass).collect(), &ready)
    }

    fn pairs(&self, contexts: usize, cycles: u64) -> Measured {
        let ready = Ready::default();
        let bells: Rc<Vec<EventCount>> = Rc::new((0..contexts).map(|_| EventCount::default()).collect());
        let half = |id: usize| {
            let (bells, ready) = (Rc::clone(&bells), Rc::clone(&ready));
            context(move |yielder| {
                for count in 1..=cycles {
                    if id.is_multiple_of(2) {
                        yielder.suspend(Ask::NextCycle);
                        bells[id].advance(id as u32 + 1, &ready);
                    } else {
                        bells[id - 1].wait(count, yielder);
                    }
                }
            })
        };
        measured((0..contexts).map(half).collect(), &ready)
    }
}
