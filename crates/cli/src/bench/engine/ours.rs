//! The shipped engine, with its statistics on.

use super::{Measured, Rival, measure};
use engine::{Hertz, Model, Outcome, Run, RunOptions, Scope};
use std::{cell::Cell, rc::Rc};

pub struct Ours;

/// Whether contexts have trace hooks. No trace is recorded in either case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hooks {
    None,
    Off,
}

fn run(build: impl FnOnce(Scope) + Send + 'static) -> Run {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    model.partition(move |partition| build(partition.scope(clock)));
    let run = model.run(&RunOptions::default());
    assert_eq!(run.outcome, Outcome::Finished, "the benchmark's models end");
    run
}

/// Four kinds of contexts, so that the last jump does not predict the next one.
macro_rules! kind {
    ($scope:ident, $index:ident, $value:ident, $cycles:ident, $work:expr) => {
        $scope.spawn(("context", $index), async move |cx| {
            while cx.now().0 < $cycles {
                $value.set($work($value.get()));
                cx.pause(1).await;
            }
        })
    };
}

/// Pairs of contexts that wake each other; with hooks, each of their events calls a trace hook.
pub fn pairs_with(contexts: usize, cycles: u64, hooks: Hooks) -> Measured {
    let pair = move |scope: &Scope, index: usize| {
        let bell = scope.eventcount(("bell", index));
        let waits = bell.clone();
        match hooks {
            Hooks::None => {
                scope.spawn(("ringer", index), async move |cx| {
                    for _ in 0..cycles {
                        cx.pause(1).await;
                        bell.advance();
                    }
                });
                scope.spawn(("waiter", index), async move |_| {
                    for count in 1..=cycles {
                        waits.wait(count).await;
                    }
                });
            }
            Hooks::Off => {
                scope.spawn(("ringer", index), async move |cx| {
                    for _ in 0..cycles {
                        cx.pause(1).await;
                        cx.instant("rings");
                        bell.advance();
                    }
                });
                scope.spawn(("waiter", index), async move |cx| {
                    for count in 1..=cycles {
                        waits.wait(count).await;
                        cx.instant("woken");
                    }
                });
            }
        }
    };
    measure(|| run(move |scope| (0..contexts / 2).for_each(|index| pair(&scope, index))).events)
}

/// `contexts` contexts of the smallest kind at the same time.
pub fn crowd(contexts: usize) {
    run(move |scope| {
        for index in 0..contexts {
            scope.spawn(("context", index), async move |cx| {
                cx.pause(1 + index as u64 % 7).await;
                cx.pause(1).await;
            });
        }
    });
}

impl Rival for Ours {
    fn pause1(&self, contexts: usize, cycles: u64) -> Measured {
        let build = move |scope: Scope| {
            let value = Rc::new(Cell::new(0u64));
            for index in 0..contexts {
                let value = Rc::clone(&value);
                match index % 4 {
                    0 => kind!(scope, index, value, cycles, |x: u64| x.wrapping_add(1)),
                    1 => kind!(scope, index, value, cycles, |x: u64| x ^ 3),
                    2 => kind!(scope, index, value, cycles, |x: u64| x.wrapping_mul(3)),
                    _ => kind!(scope, index, value, cycles, |x: u64| x >> 1),
                }
            }
        };
        measure(|| run(build).events)
    }

    fn ring(&self, contexts: usize, laps: u64) -> Measured {
        measure(|| {
            run(move |scope| {
                let tokens: Vec<_> = (0..contexts).map(|index| scope.eventcount(("token", index))).collect();
                for index in 0..contexts {
                    let (mine, next) = (tokens[index].clone(), tokens[(index + 1) % contexts].clone());
                    scope.spawn(("context", index), async move |cx| {
                        for lap in 1..=laps {
                            if index == 0 {
                                cx.pause(1).await;
                                next.advance();
                                mine.wait(lap).await;
                            } else {
                                mine.wait(lap).await;
                                next.advance();
                            }
                        }
                    });
                }
            })
            .events
        })
    }

    fn pairs(&self, contexts: usize, cycles: u64) -> Measured {
        pairs_with(contexts, cycles, Hooks::None)
    }
}
