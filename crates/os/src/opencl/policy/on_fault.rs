//! `managed-fault`: a page is in one memory at a time, and migrates to the host or GPU that accesses it.
//!
//! An access to a page that is elsewhere faults. The driver takes the page from its current memory, moves it, and lets
//! the access continue. An untouched page has no frame; it gets its first one where it is touched. When a GPU's memory
//! is full, the page that was moved there or requested least recently is evicted to the host. A page that has moved
//! between GPUs too often stays in place, and other GPUs access it remotely if they can. `clEnqueueMigrateMemObjects`
//! and `clEnqueueSVMMigrateMem` prefetch pages.

use super::{
    super::{
        device_memory::{Region, pages_of},
        error::Cl,
        gpu::{Cause, DeviceFault, Page},
    },
    paging::{Act, ForHost, Moved, Paging, Spot, World},
};
use crate::guest::Guard;
use crate::state::{Read, Reader, state};
use mem::{Bytes, PAGE, PhysAddr, VirtAddr};
use std::collections::{BTreeMap, BTreeSet};

/// The number of moves after which a page counts as thrashed, and after which it stays in place if other GPUs can reach
/// it.
const THRASHED: u32 = 4;
const STAYS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Nowhere,
    Host,
    Gpu(usize, PhysAddr),
}

state!(enum At { 0 Nowhere, 1 Host, 2 Gpu(gpu, frame) });

#[derive(Clone, Copy, Debug)]
struct State {
    at: At,
    moves: u32,
    /// When it was last moved or requested.
    used: u64,
}

state!(struct State { at, moves, used });

#[derive(Debug, Default)]
pub struct OnFault {
    pages: BTreeMap<u64, State>,
    /// Pages in the memory of each GPU, least recently used first.
    by_use: BTreeMap<usize, BTreeSet<(u64, u64)>>,
    clock: u64,
}

fn region(page: u64) -> Region {
    (VirtAddr(page), Bytes(PAGE))
}

impl OnFault {
    /// Records the new location of a page.
    fn put(&mut self, page: u64, at: At, world: &mut World<'_>) {
        self.clock += 1;
        let Some(state) = self.pages.get_mut(&page) else { return };
        if let At::Gpu(gpu, _) = state.at {
            self.by_use.entry(gpu).or_default().remove(&(state.used, page));
        }
        if state.at != At::Nowhere && state.at != at {
            state.moves += 1;
            world.counts.migrations += 1;
            world.counts.thrashed += u64::from(state.moves == THRASHED);
        }
        (state.at, state.used) = (at, self.clock);
        if let At::Gpu(gpu, _) = at {
            self.by_use.entry(gpu).or_default().insert((self.clock, page));
        }
    }

    /// Allocates a frame for a page on a GPU, evicting another page if necessary.
    fn make_room(&mut self, gpu: usize, page: u64, acts: &mut Vec<Act>, world: &mut World<'_>) -> Option<PhysAddr> {
        if let Some(frame) = world.tables.take(gpu, page) {
            return Some(frame);
        }
        let victim = self.by_use.get(&gpu)?.first().map(|(_, victim)| *victim)?;
        let At::Gpu(_, frame) = self.pages.get(&victim)?.at else { return None };
        self.take_away(victim, frame, acts, world);
        acts.push(Act::Move(vec![Moved { page: victim, to: Spot::Host, from: Spot::Device(frame) }], Cause::Eviction));
        acts.push(Act::Spoil(victim, Spot::Device(frame)));
        acts.push(Act::Guard(region(victim), Guard::None));
        self.put(victim, At::Host, world);
        world.counts.evictions += 1;
        // The victim's frame is reused at once.
        Some(match world.tables.memories.device {
            super::super::gpu::DeviceMemory::Common { .. } => {
                world.tables.give_back(frame);
                world.tables.take(gpu, page)?
            }
            _ => frame,
        })
    }

    /// Unmaps a page from all GPUs that have it mapped.
    fn take_away(&self, page: u64, _: PhysAddr, acts: &mut Vec<Act>, world: &World<'_>) {
        let holders: Vec<usize> =
            (0..world.tables.gpus).filter(|gpu| world.tables.mapped(*gpu, page).is_some()).collect();
        acts.push(Act::Unmap(holders, vec![page]));
    }

    /// Moves a page to a GPU.
    fn bring(&mut self, page: u64, gpu: usize, cause: Cause, undefined: bool, world: &mut World<'_>) -> Vec<Act> {
        let Some(State { at, moves, .. }) = self.pages.get(&page).copied() else { return Vec::new() };
        let mut acts = Vec::new();
        let near = world.tables.neighbours(gpu);
        let from = match at {
            At::Gpu(holder, place) if near.contains(&holder) => {
                self.put(page, at, world);
                acts.extend(near.map(|gpu| Act::Map(gpu, Page { at: VirtAddr(page), place, writable: true })));
                return acts;
            }
            At::Gpu(_, place) if moves >= STAYS && world.tables.memories.reach_peers => {
                return vec![Act::Map(gpu, Page { at: VirtAddr(page), place, writable: true })];
            }
            At::Gpu(_, place) => {
                self.take_away(page, place, &mut acts, world);
                Some(Spot::Device(place))
            }
            At::Host => {
                acts.push(Act::Guard(region(page), Guard::All));
                Some(Spot::Host)
            }
            At::Nowhere => None,
        };
        // The page must not be evicted to make room for itself.
        if let At::Gpu(holder, _) = at
            && let Some(state) = self.pages.get(&page)
        {
            self.by_use.entry(holder).or_default().remove(&(state.used, page));
        }
        let Some(place) = self.make_room(gpu, page, &mut acts, world) else { return Vec::new() };
        if let Some(from) = from {
            if !undefined {
                acts.push(Act::Move(vec![Moved { page, to: Spot::Device(place), from }], cause));
            }
            acts.push(Act::Spoil(page, from));
            if let Spot::Device(old) = from {
                acts.push(Act::Free(old));
            }
        }
        acts.extend(near.map(|gpu| Act::Map(gpu, Page { at: VirtAddr(page), place, writable: true })));
        self.put(page, At::Gpu(gpu, place), world);
        acts
    }

    /// Moves a page to the host.
    fn bring_back(&mut self, page: u64, cause: Cause, undefined: bool, world: &mut World<'_>) -> Vec<Act> {
        let Some(State { at, .. }) = self.pages.get(&page).copied() else { return Vec::new() };
        let mut acts = Vec::new();
        if let At::Gpu(_, frame) = at {
            self.take_away(page, frame, &mut acts, world);
            if !undefined {
                acts.push(Act::Move(vec![Moved { page, to: Spot::Host, from: Spot::Device(frame) }], cause));
            }
            acts.extend([Act::Spoil(page, Spot::Device(frame)), Act::Free(frame)]);
        }
        acts.push(Act::Guard(region(page), Guard::None));
        self.put(page, At::Host, world);
        acts
    }
}

impl Paging for OnFault {
    fn save(&self, to: &mut Vec<u8>) -> Result<(), String> {
        crate::state::State::save(&self.pages, to);
        crate::state::State::save(&self.by_use, to);
        crate::state::State::save(&self.clock, to);
        Ok(())
    }

    fn load(&mut self, from: &mut Reader) -> Read<()> {
        self.pages = crate::state::State::load(from)?;
        self.by_use = crate::state::State::load(from)?;
        self.clock = crate::state::State::load(from)?;
        Ok(())
    }

    fn add(&mut self, region: Region, _: &mut World<'_>) -> Cl<Vec<Act>> {
        let fresh = State { at: At::Nowhere, moves: 0, used: 0 };
        self.pages.extend(pages_of(region).map(|page| (page, fresh)));
        Ok(vec![Act::Guard(region, Guard::All)])
    }

    fn remove(&mut self, region: Region) {
        for page in pages_of(region) {
            if let Some(State { at: At::Gpu(gpu, _), used, .. }) = self.pages.remove(&page) {
                self.by_use.entry(gpu).or_default().remove(&(used, page));
            }
        }
    }

    fn call(&mut self, _: &[Region], _: &[usize], _: &mut World<'_>) -> Vec<Act> {
        Vec::new()
    }

    fn pieces(&self, page: u64) -> Option<u64> {
        self.pages.get(&page).is_none_or(|state| state.at != At::Nowhere).then_some(1)
    }

    fn host(&mut self, page: u64, _: bool, world: &mut World<'_>) -> ForHost {
        match self.pages.get(&page) {
            None => ForHost::NotMine,
            Some(State { at: At::Host, .. }) => ForHost::Do(Vec::new()),
            Some(_) => ForHost::Do(self.bring_back(page, Cause::Fault, false, world)),
        }
    }

    fn device(&mut self, fault: DeviceFault, world: &mut World<'_>) -> Option<Vec<Act>> {
        self.pages.contains_key(&fault.page.0).then(|| {
            let mut acts = self.bring(fault.page.0, fault.gpu, Cause::Fault, false, world);
            acts.push(Act::Answer(fault));
            acts
        })
    }

    fn migrate(&mut self, region: Region, gpu: Option<usize>, undefined: bool, world: &mut World<'_>) -> Vec<Act> {
        let pages = pages_of(region).filter(|page| self.pages.contains_key(page)).collect::<Vec<u64>>();
        let mut acts = Vec::new();
        for page in pages {
            acts.extend(match gpu {
                Some(gpu) => self.bring(page, gpu, Cause::Prefetch, undefined, world),
                None => self.bring_back(page, Cause::Prefetch, undefined, world),
            });
        }
        acts
    }
}
