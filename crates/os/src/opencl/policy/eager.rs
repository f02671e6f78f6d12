//! `managed-eager`: unified memory without GPU page faults, as in CUDA 6 and 7 (`[umh 1, 3]`).
//!
//! Memory is allocated on the active GPU. Before a kernel starts, all memory that is on the host moves to GPUs, used or
//! not. The host's first access to an object after that waits until no kernel runs and moves the whole object back,
//! changed or not. With one device per GPU, memory follows the GPU that runs a kernel.

use super::{
    super::{
        cl,
        device_memory::{Region, Spread, page_of, pages_of},
        error::Cl,
        gpu::Cause,
    },
    paging::{Act, ForHost, Moved, Paging, Spot, World},
};
use crate::guest::Guard;
use crate::state::{Read, Reader, state};
use mem::{Bytes, VirtAddr, Zone};
use std::collections::BTreeMap;

#[derive(Debug)]
struct Object {
    size: Bytes,
    on_host: bool,
}

state!(struct Object { size, on_host });

#[derive(Debug)]
pub struct Eager {
    spread: Spread,
    /// Whether memory follows the GPU that runs a kernel.
    follows: bool,
    objects: BTreeMap<u64, Object>,
}

impl Eager {
    pub fn new(spread: Spread, follows: bool) -> Self {
        Self { spread, follows, objects: BTreeMap::new() }
    }
}

impl Paging for Eager {
    fn save(&self, to: &mut Vec<u8>) -> Result<(), String> {
        crate::state::State::save(&self.objects, to);
        Ok(())
    }

    fn load(&mut self, from: &mut Reader) -> Read<()> {
        self.objects = crate::state::State::load(from)?;
        Ok(())
    }

    fn add(&mut self, region: Region, world: &mut World<'_>) -> Cl<Vec<Act>> {
        if !world.tables.settle(region, self.spread) {
            return Err(cl::MEM_OBJECT_ALLOCATION_FAILURE);
        }
        self.objects.insert(region.0.0, Object { size: region.1, on_host: false });
        Ok(vec![Act::Guard(region, Guard::All)])
    }

    fn remove(&mut self, region: Region) {
        self.objects.remove(&region.0.0);
    }

    fn call(&mut self, _: &[Region], gpus: &[usize], world: &mut World<'_>) -> Vec<Act> {
        let (mut guards, mut moves, mut homes) = (Vec::new(), Vec::new(), Vec::new());
        for (base, object) in &mut self.objects {
            let region = (VirtAddr(*base), object.size);
            if object.on_host {
                guards.push(Act::Guard(region, Guard::All));
            }
            for page in pages_of(region) {
                let Some(mut home) = world.tables.home(page) else { continue };
                let near = gpus.len() > 1 || Zone::of(home) == Zone::Gpu(gpus[0]);
                let moving = self.follows && !near && world.running == 0;
                if let Some(frame) = moving.then(|| world.tables.take(gpus[0], page)).flatten() {
                    if !object.on_host {
                        moves.push(Moved { page, to: Spot::Device(frame), from: Spot::Device(home) });
                    }
                    homes.extend([Act::Home(page, frame), Act::Spoil(page, Spot::Device(home)), Act::Free(home)]);
                    world.counts.migrations += 1;
                    home = frame;
                }
                if object.on_host {
                    moves.push(Moved { page, to: Spot::Device(home), from: Spot::Host });
                    homes.push(Act::Spoil(page, Spot::Host));
                    world.counts.migrations += 1;
                }
            }
            object.on_host = false;
        }
        guards.push(Act::Move(moves, Cause::Call));
        guards.extend(homes);
        guards
    }

    fn pieces(&self, _: u64) -> Option<u64> {
        Some(self.objects.len() as u64)
    }

    fn host(&mut self, page: u64, _: bool, world: &mut World<'_>) -> ForHost {
        let Some((base, object)) = self.objects.range_mut(..=page).next_back() else { return ForHost::NotMine };
        let region = (VirtAddr(*base), object.size);
        if page > page_of(region.0 + Bytes(region.1.0 - 1)) {
            return ForHost::NotMine;
        }
        if object.on_host {
            return ForHost::Do(Vec::new());
        }
        if world.running > 0 {
            return ForHost::Later;
        }
        object.on_host = true;
        let homes = pages_of(region).filter_map(|page| Some((page, Spot::Device(world.tables.home(page)?))));
        let homes: Vec<(u64, Spot)> = homes.collect();
        world.counts.migrations += homes.len() as u64;
        let moves = homes.iter().map(|(page, home)| Moved { page: *page, to: Spot::Host, from: *home }).collect();
        let mut acts = vec![Act::Move(moves, Cause::Fault), Act::Guard(region, Guard::None)];
        acts.extend(homes.into_iter().map(|(page, home)| Act::Spoil(page, home)));
        ForHost::Do(acts)
    }
}
