//! The part of a state with logical times that can still matter.
//!
//! Time only advances. A lease that has ended stays ended. Of the writes before the earliest time at which any core
//! can still read, only the last is visible. States that differ only in the rest are equal.

use super::{
    model::Check,
    world::{Version, World},
};
use crate::Stamp;

impl Check {
    pub(super) fn essence(&self, world: &World) -> World {
        let mut essence = world.clone();
        let members = || self.system.members.iter().cycle();
        for (line, member) in essence.lines.iter_mut().zip(members()) {
            *line = member.controller.essence(line);
        }
        let earliest = self.earliest(world);
        if self.system.has_core_clocks() {
            for (line, member) in essence.lines.iter_mut().zip(members()) {
                let own = member.core.filter(|_| !line.is_asked()).map(|core| world.times[core]);
                if line.stamps.rts < own.unwrap_or(earliest) {
                    line.stamps.rts = 0;
                }
            }
        }
        let is_last = |place: usize, version: &Version| {
            let next = world.versions.get(place + 1).filter(|next| next.byte == version.byte);
            next.is_none_or(|next| next.wts > earliest)
        };
        let seen = world.versions.iter().enumerate().filter(|&(place, version)| is_last(place, version));
        essence.versions = seen.map(|(_, v)| Version { wts: if v.wts > earliest { v.wts } else { 0 }, ..*v }).collect();
        essence
    }

    /// The earliest logical time at which any core can still read.
    fn earliest(&self, world: &World) -> Stamp {
        let first_level = world.lines.iter().zip(self.system.members.iter().cycle());
        let first_level = first_level.filter(|(_, member)| member.core.is_some());
        if self.system.has_core_clocks() {
            let waiting = first_level.filter(|(line, _)| line.is_asked()).map(|(line, _)| line.stamps.cts);
            world.times.iter().copied().chain(waiting).min().unwrap_or(0)
        } else {
            // With several lines, a cache's time also advances by the other lines, so a line may arrive on a lease
            // that has ended.
            let leased = self.system.lines == 1;
            first_level.map(|(line, _)| line.stamps.cts).min().filter(|_| leased).unwrap_or(0)
        }
    }
}
