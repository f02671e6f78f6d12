//! The properties that must hold in every world. The search itself checks for progress and that the system can come
//! to rest.

use super::{
    super::{
        explore::Invariant,
        system::{BYTES, DRIVER},
        world::{Trouble, World},
    },
    Check,
};
use crate::{Access, Block, Cell, Controller, Kind, Lane, Line, Msg, Node, WHOLE};
use smallvec::SmallVec;

/// All properties.
pub(super) static ALL: &[Invariant<Check>] = &[
    Invariant {
        name: "no impossible cell",
        holds: |_, world: &World| !matches!(world.trouble, Some(Trouble::Impossible(_))),
    },
    Invariant {
        name: "a read returns a value it may: none lost, none invented",
        holds: |_, world: &World| !matches!(world.trouble, Some(Trouble::Value(_))),
    },
    Invariant {
        name: "a read returns the newest write up to its logical time",
        holds: |_, world: &World| !matches!(world.trouble, Some(Trouble::Order(_))),
    },
    Invariant {
        name: "a line holds what its state says",
        holds: |check: &Check, world: &World| {
            let members = || check.system.members.iter().cycle();
            world.trouble.is_some()
                || world.lines.iter().zip(members()).all(|(line, member)| member.controller.fits(line))
                    && check.stores_fit(world)
                    && check.orders_fit(world)
        },
    },
    Invariant {
        name: "a whole line answers a read at once",
        holds: |check: &Check, world: &World| {
            let members = check.members();
            world.trouble.is_some()
                || check.system.coherent
                || world.lines.iter().enumerate().all(|(place, line)| {
                    let ask =
                        |kind| check.ask(DRIVER, Node((place % members) as u16), kind, place / members, Block::EMPTY);
                    // A home whose timestamps have overflowed stalls in every state, also at rest.
                    let table = &check.system.tables[check.system.members[place % members].table];
                    let stalls =
                        |kind| matches!(check.cell(world, &ask(kind)), Some(Cell::Stall)) && !table.at_rest(line.state);
                    // A copy whose lease is being renewed, or whose write has no time yet, must not be read.
                    let locked = check.system.has_core_clocks() && line.is_asked();
                    let whole = line.data.is_full() && !line.is_partial() && !locked;
                    !whole || !stalls(Kind::Load) && !stalls(Kind::Read)
                })
        },
    },
    Invariant {
        name: "single writer",
        holds: |check: &Check, world: &World| {
            world.trouble.is_some() || world.lines.chunks(check.members()).all(|row| check.has_single_writer(row))
        },
    },
    Invariant {
        name: "directory agrees",
        holds: |check: &Check, world: &World| {
            world.trouble.is_some() || (0..check.system.lines).all(|line| check.directories_agree(line, &world.lines))
        },
    },
    Invariant {
        name: "notices that need no answer are accepted at once",
        holds: |check: &Check, world: &World| {
            let told = |msg: &&Msg<BYTES>| {
                msg.lane() == Lane::Coherence
                    && msg.line != WHOLE
                    && msg.from != msg.to
                    && check.system.members[msg.to.0 as usize].controller.is_merely_told()
            };
            let waits = |msg: &Msg<BYTES>| matches!(check.cell(world, msg), Some(Cell::Stall));
            world.trouble.is_some() || !world.network.iter().filter(told).any(waits)
        },
    },
    Invariant {
        name: "a line at rest takes any request",
        holds: |check: &Check, world: &World| {
            let taken = |msg: &Msg<BYTES>| !matches!(check.cell(world, msg), Some(Cell::Stall));
            world.trouble.is_some()
                || !check.is_quiet(world)
                || check.requests(world).into_iter().chain(check.whims(world)).all(|msg| taken(&msg))
        },
    },
];

impl Check {
    /// If a first-level cache may write a line, no other first-level cache may access it.
    fn has_single_writer(&self, row: &[Line<BYTES>]) -> bool {
        let first_level = self.system.members.iter().zip(row).filter(|(member, _)| member.core.is_some());
        let accesses = first_level.map(|(member, line)| member.controller.access(line));
        let (mut readers, mut writers) = (0, 0);
        for access in accesses {
            readers += usize::from(access == Access::Read);
            writers += usize::from(access == Access::Write);
        }
        writers == 0 || (writers == 1 && readers == 0)
    }

    /// No cache may do more to a line than the directory below it has granted.
    fn directories_agree(&self, line: usize, lines: &[Line<BYTES>]) -> bool {
        let row = &lines[line * self.members()..(line + 1) * self.members()];
        self.system.members.iter().zip(row).enumerate().all(|(number, (member, held))| {
            let below = member.below[line];
            let place = self.place(below, line);
            let directory = self.system.members[below.0 as usize].controller;
            let first = line - line % directory.lines();
            let record = &lines[first * self.members() + below.0 as usize];
            let Some(granted) = directory.granted(place, record) else { return true };
            let me = place.sharer(Node(number as u16));
            match member.controller.access(held) {
                Access::Write => granted.writers.meets(me),
                Access::Read => granted.readers.or(granted.writers).meets(me),
                Access::None => true,
            }
        })
    }

    /// The records of orders and markers match their states.
    fn orders_fit(&self, world: &World) -> bool {
        let marking = world.marking.chunks(self.members());
        let whole = world.whole.iter().zip(&self.system.members);
        whole.into_iter().all(|(line, member)| member.orders.as_ref().is_none_or(|(_, orders)| orders.fits(line)))
            && marking.zip(&self.system.members).all(|(lines, member)| {
                member.markers.as_ref().is_none_or(|(_, markers)| lines.iter().all(|line| markers.fits(line)))
            })
    }

    /// If a block's bytes are in a separate store, they match the block's record.
    fn stores_fit(&self, world: &World) -> bool {
        let members = self.members();
        let stored = self.system.members.iter().skip(1).map(|store| store.controller.is_prompt());
        self.system.members.iter().zip(stored).enumerate().filter(|(_, (_, stored))| *stored).all(
            |(number, (member, _))| {
                let lines = member.controller.lines();
                (0..self.system.lines).step_by(lines).all(|first| {
                    let store = (first..first + lines).map(|line| world.lines[line * members + number + 1]);
                    let store: SmallVec<[_; 4]> = store.collect();
                    member.controller.fits_store(&world.lines[first * members + number], &store)
                })
            },
        )
    }
}
