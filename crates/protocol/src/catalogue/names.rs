//! Two names for one line: the states of one line in a forward-backward table (`[vcache 4.1]`), written as a protocol
//! table, so that the checker can search it together with the second-level caches above it
//! ([`wb_claims`](crate::wb_claims)).
//!
//! In a checked system lines are independent, so one cache can't hold a line under two tags. Each name therefore has a
//! second-level cache of its own. When a request uses the name that does not lead, the table first recalls the line
//! from the cache of the leading name. In the timing model a line read under its second name is answered once, and is a
//! fault if the page is written. Here both names may write, which tests recalls, claims and write-backs harder.

use super::systems::{fences, member, memory_of, node, order, told};
use crate::{
    Block, Cell, Controller, Kind, Line, Msg, Place, Roster, Sharers, Table, Work,
    check::{Coverage, Limits, Member, Network, Report, Stage, System, check},
    common, memory, protocol,
    vi_l1::{self, ViL1},
    wb_claims::{ClaimingL2, claims},
};
use mem::Scope;
use names::{Action, Event, State};

protocol! {
 /// `N`: no cache may hold the line. `L`: a cache may hold it under the leading name. `LR`, `LW`: as `L`, with a read
 /// or a write-back in flight below. `R`: the line has been recalled. `RR`, `RW`: as `R`, with a read or a write-back
 /// in flight. `Rn`, `Rwn`: the cache has reported the line as gone, but has not answered the recall yet. `Rc`, `Rf`: a
 /// claim or a read waits for that answer. `G`: the line has been given up, and its write-back is in flight.
 names actions(Lead Unlead Ask Fetch Pass Give Ack Grant GrantAsked Recall Again)
 on(   Read                 ReadOther         Claim           ClaimOther        Write          Notice     )
 N   { [LR Lead Ask Fetch]  x                 [L Lead Grant]  x                 x              x          }
 L   { [LR Ask Fetch]       [R Recall Again]  [L Grant]       [R Recall Again]  [LW Ask Pass]  [N Unlead] }
 LR  { z                    z                 z               z                 x              x          }
 LW  { z                    z                 z               z                 x              [G]        }
 R   { [RR Ask Fetch]       z                 [Rc Ask]        z                 [RW Ask Pass]  [Rn]       }
 RR  { z                    z                 z               z                 x              x          }
 RW  { z                    z                 z               z                 x              [Rwn]      }
 Rn  { [Rf Ask]             z                 [Rc Ask]        z                 x              x          }
 Rc  { x                    z                 x               z                 x              x          }
 Rf  { x                    z                 x               z                 x              x          }
 Rwn { z                    z                 z               z                 x              x          }
 G   { z                    z                 z               z                 x              x          };
 on(   Gone            Data      Landed         )
 N   { x               x         x              }
 L   { x               x         x              }
 LR  { x               [L Give]  x              }
 LW  { x               x         [L Ack]        }
 R   { [N Unlead]      x         x              }
 RR  { x               [R Give]  x              }
 RW  { [G]             x         [R Ack]        }
 Rn  { [N Unlead]      x         x              }
 Rc  { [L GrantAsked]  x         x              }
 Rf  { [LR Fetch]      x         x              }
 Rwn { [G]             x         [Rn Ack]       }
 G   { x               x         [N Unlead Ack] }
}

struct Names;

impl<const N: usize> Controller<N> for Names {
    fn table(&self) -> &'static Table {
        &names::TABLE
    }

    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let leads = line.sharers.is_empty() || line.sharers == place.sharer(msg.from);
        let event = match msg.kind {
            Kind::Read if leads => Event::Read,
            Kind::Read => Event::ReadOther,
            Kind::Upgrade if leads => Event::Claim,
            Kind::Upgrade => Event::ClaimOther,
            Kind::Write => Event::Write,
            Kind::Evicted if msg.of.is_some() => Event::Gone,
            Kind::Evicted => Event::Notice,
            Kind::Data => Event::Data,
            Kind::Ack => Event::Landed,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let asked = matches!(
            State::ALL[line.state as usize],
            State::LR | State::LW | State::RR | State::RW | State::Rc | State::Rf | State::Rwn | State::G
        );
        let leads = State::ALL[line.state as usize] != State::N;
        line.is_empty() && line.is_asked() == asked && line.sharers.len() == u8::from(leads)
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Lead => work.line.sharers = work.place.sharer(work.msg.from),
            Action::Unlead => work.line.sharers = Sharers::NONE,
            Action::Ask => common::ask(work),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Pass => work.send(work.place.below, Kind::Write, work.msg.data),
            Action::Give | Action::Ack => {
                let to = work.line.asked.take().ok_or("has no requester to answer")?;
                work.send(to, work.msg.kind, work.msg.data);
            }
            Action::GrantAsked => {
                let to = work.line.asked.take().ok_or("has nobody to grant a claim to")?;
                work.send(to, Kind::UpgradeAck, Block::EMPTY);
            }
            Action::Grant => work.send(work.msg.from, Kind::UpgradeAck, Block::EMPTY),
            Action::Recall => {
                let leading = work.line.sharers.numbers().next().ok_or("has no cache to recall the line from")?;
                work.send(work.place.above.member(leading), Kind::CoreFlush, Block::EMPTY);
            }
            Action::Again => work.push(*work.msg),
        }
        Ok(())
    }
}

/// A compute unit for each of two names of one line, each with a first-level cache and a second-level cache, over one
/// table and memory.
fn two_names() -> System {
    let (table, memory) = (node(4), node(5));
    let l1 = |name: usize| Member {
        core: Some(name),
        ..member(format!("l1.{name}"), &ViL1::ANY_ORDER, 0, vec![node(2 + name)])
    };
    let l2 = |name: usize| member(format!("l2.{name}"), &ClaimingL2, 1, vec![table]);
    let names = Member { above: Roster::row(node(2), 2), ..member("names".to_owned(), &Names, 3, vec![memory]) };
    let members = vec![l1(0), l1(1), l2(0), l2(1), names, memory_of("memory", 1, 5)];
    let mut stages = vec![Stage::Work { cores: vec![0, 1] }];
    stages.extend([Kind::Flush, Kind::Invalidate].map(|kind| order(kind, Scope::System, 0..2)));
    System {
        tables: vec![
            vi_l1::l1::TABLE.clone(),
            claims::TABLE.clone(),
            memory::memory::TABLE.clone(),
            names::TABLE.clone(),
        ],
        members,
        cores: 2,
        lines: 1,
        stages,
        whims: fences([node(0), node(1), node(2), node(3)].iter()),
        equals: vec![vec![node(0), node(2)], vec![node(1), node(3)]],
        coherent: false,
        modifies: false,
        recalls_behind_answers: true,
        horizon: None,
    }
    .with_orders(told)
}

fn search(system: System) -> Report {
    check(system, Network::Ordered { depth: 2 }, Limits::default())
}

/// The system with one cell of the table replaced by another of its cells.
fn with_cell(state: State, event: Event, like: (State, Event)) -> System {
    let mut system = two_names();
    let cell = names::TABLE.cell(like.0 as u8, like.1 as u8).clone();
    system.tables[3] = names::TABLE.with(state as u8, event as u8, cell);
    system
}

#[test]
fn a_line_with_two_names_that_are_both_written_keeps_every_write() {
    let (system, mut coverage) = (two_names(), Coverage::default());
    let report = search(system.clone());
    assert!(report.holds(), "{}", report.counterexample.unwrap_or_default());
    coverage.add(&system, &report);
    let goes = |cell: &String| {
        let named = |state: u8, event: u8| {
            format!("names: {} on {}", names::TABLE.states[state as usize], names::TABLE.events[event as usize])
        };
        names::TABLE.cells().any(|(state, event, found)| named(state, event) == *cell && *found != Cell::Stall)
    };
    let unreached: Vec<String> = coverage.unreached().into_iter().filter(goes).collect();
    assert_eq!(unreached, [""; 0], "{} states", report.states);
}

/// Atomic accesses are performed in a cache that has claimed its line, before the claim is granted.
#[test]
fn a_line_with_two_names_that_are_both_accessed_atomically_keeps_every_write() {
    let report = search(System { modifies: true, ..two_names() });
    assert!(report.holds(), "{}", report.counterexample.unwrap_or_default());
}

/// The table must recall a line before it gives the line under another name.
#[test]
fn a_line_that_is_given_under_two_names_at_a_time_loses_writes() {
    let wrong = [
        with_cell(State::L, Event::ClaimOther, (State::L, Event::Claim)),
        with_cell(State::L, Event::ReadOther, (State::L, Event::Read)),
    ];
    for system in wrong {
        assert!(!search(system).holds());
    }
}
