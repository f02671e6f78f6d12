//! The engine that is shipped, with its statistics on.

use super::{Measured, Rival, measure};
use engine::{Hertz, Model, Outcome, Run, RunOptions, Scope};
use std::{cell::Cell, rc::Rc};

pub struct Ours;

/// Whether contexts offer themselves to a trace. None is taken either way.
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

/// Four kinds of contexts, so that no jump can be predicted by the last one.
macro_rules! kinds {
    ($scope:ident, $index:ident, $value:ident, $cycles:ident, $($hook:ident)?) => {
        match $index % 4 {
            0 => kinds!(@kind $scope, $index, $value, $cycles, |x: u64| x.wrapping_add(1), $($hook)?),
            1 => kinds!(@kind $scope, $index, $value, $cycles, |x: u64| x ^ 3, $($hook)?),
            2 => kinds!(@kind $scope, $index, $value, $cycles, |x: u64| x.wrapping_mul(3), $($hook)?),
            _ => kinds!(@kind $scope, $index, $value, $cycles, |x: u64| x >> 1, $($hook)?),
        }
    };
    (@kind $scope:ident, $index:ident, $value:ident, $cycles:ident, $work:expr, $($hook:ident)?) => {
        $scope.spawn(("context", $index), async move |cx| {
            for _ in 0..$cycles {
                $value.set($work($value.get()));
                $(cx.$hook("tick");)?
                cx.pause(1).await;
            }
        })
    };
}

pub fn pause1_with(contexts: usize, cycles: u64, hooks: Hooks) -> Measured {
    measure(|| {
        run(move |scope| {
            let value = Rc::new(Cell::new(0u64));
            for index in 0..contexts {
                let value = Rc::clone(&value);
                match hooks {
                    Hooks::None => kinds!(scope, index, value, cycles,),
                    Hooks::Off => kinds!(scope, index, value, cycles, instant),
                }
            }
        })
        .events
    })
}

/// So many contexts at a time, of the smallest kind.
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
        pause1_with(contexts, cycles, Hooks::None)
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
        measure(|| {
            run(move |scope| {
                for index in 0..contexts / 2 {
                    let bell = scope.eventcount(("bell", index));
                    let waits = bell.clone();
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
            })
            .events
        })
    }
}
