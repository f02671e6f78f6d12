//! `shared` on machines whose GPU memories cache the host's memory in blocks (`[umh 4.2]`).
//!
//! A host outside the machine has no caches that could take part in the protocol. So the driver guards the memory that
//! kernels may have copied. The host's first access to a page makes the memories of GPUs write back and drop their
//! copies of it: what a coherent access of a core would do, in blocks of a page. With a final flush the host's memory
//! is up to date after a kernel, and only the host's writes are guarded.

use super::{
    super::{
        device_memory::{Region, page_of, pages_of},
        error::Cl,
        gpu::Synchronisation,
    },
    paging::{Act, ForHost, Paging, World},
};
use crate::guest::Guard;
use mem::{Bytes, PAGE, VirtAddr};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
struct Object {
    size: Bytes,
    /// Whether a kernel has started since the object was allocated.
    guarded: bool,
}

#[derive(Debug)]
pub struct Hierarchy {
    guard: Guard,
    objects: BTreeMap<u64, Object>,
    /// Guarded pages that the host has taken back since the last kernel started.
    open: BTreeSet<u64>,
}

impl Hierarchy {
    pub fn new(how: Synchronisation) -> Self {
        let guard = match how {
            Synchronisation::Final => Guard::Writes,
            Synchronisation::Dynamic => Guard::All,
        };
        Self { guard, objects: BTreeMap::new(), open: BTreeSet::new() }
    }
}

impl Paging for Hierarchy {
    fn add(&mut self, region: Region, _: &mut World<'_>) -> Cl<Vec<Act>> {
        self.objects.insert(region.0.0, Object { size: region.1, guarded: false });
        Ok(Vec::new())
    }

    fn remove(&mut self, region: Region) {
        self.objects.remove(&region.0.0);
        pages_of(region).for_each(|page| _ = self.open.remove(&page));
    }

    fn takes_back(&self) -> bool {
        true
    }

    fn call(&mut self, _: &[Region], _: &[usize], _: &mut World<'_>) -> Vec<Act> {
        let mut acts = Vec::new();
        for (base, object) in self.objects.iter_mut().filter(|(_, object)| !object.guarded) {
            object.guarded = true;
            acts.push(Act::Guard((VirtAddr(*base), object.size), self.guard));
        }
        let open = std::mem::take(&mut self.open);
        acts.extend(open.into_iter().map(|page| Act::Guard((VirtAddr(page), Bytes(PAGE)), self.guard)));
        acts
    }

    fn host(&mut self, page: u64, _: bool, world: &mut World<'_>) -> ForHost {
        let Some((base, object)) = self.objects.range(..=page).next_back() else { return ForHost::NotMine };
        if page > page_of(VirtAddr(*base) + Bytes(object.size.0 - 1)) {
            return ForHost::NotMine;
        }
        if !object.guarded || self.open.contains(&page) {
            return ForHost::Do(Vec::new());
        }
        if world.running > 0 {
            return ForHost::Later;
        }
        self.open.insert(page);
        world.counts.migrations += 1;
        ForHost::Do(vec![Act::TakeBack(vec![page]), Act::Guard((VirtAddr(page), Bytes(PAGE)), Guard::None)])
    }
}
