//! Who translates for cores and GPUs, in the complex: MMUs and walkers of cores, the IOMMU, and who makes them forget.

use super::{Builder, First, Top, first};
use crate::{
    system::{
        Report,
        translation::{self, HubEnds, MmuPlan, Shooter},
    },
    translation::{CoreMmu, GpuMmu, Pages},
};
use cache::Requesters;
use engine::{Cycles, Scope};
use interconnect::Wire;
use mem::{Interleave, Reply, Request};
use protocol::mesi::l1::L1D;
use std::rc::Rc;
use vm::{Forgotten, IommuSpec, Roots, Shootdown, Shootdowns, Walk};

/// How long it takes testers, who have no tables, to find a page.
const UNTOLD: Cycles = Cycles(40);

/// All who translate.
pub(super) struct Translators {
    roots: Roots,
    /// From where they are told what to forget.
    kernel: Scope,
    /// Those whom others ask, and the others.
    stages: [Vec<Wire<Forgotten, Shootdown>>; 2],
    /// Whether there are page tables; testers have none.
    tables: bool,
}

impl Translators {
    pub fn new(kernel: Scope, tables: bool) -> Self {
        Self { roots: Roots::default(), kernel, stages: Default::default(), tables }
    }

    /// Who makes them forget, if there are any.
    pub fn shooter(&mut self) -> Option<Rc<Shooter>> {
        let stages = std::mem::take(&mut self.stages);
        if stages.iter().all(Vec::is_empty) {
            return None;
        }
        let shooter = Shooter::new(&self.roots, &self.kernel);
        let (all, own) = (Shootdowns::new(stages.into(), &self.roots, &self.kernel), Rc::clone(&shooter));
        self.kernel.serve("shooter", |cx| own.run(all, cx));
        Some(shooter)
    }
}

impl Builder {
    /// What finds pages, and the walkers' way into a cache if they read tables; `cache` makes that.
    fn walk(
        &self,
        pages: Pages,
        cache: impl FnOnce() -> (Wire<Reply, Request>, Wire<Request, Reply>),
    ) -> (Walk, Option<Wire<Request, Reply>>) {
        match pages {
            Pages::Tables { page_walk_cache } if self.translators.tables => {
                let (memory, top) = cache();
                (Walk::Tables { memory, page_walk_cache }, Some(top))
            }
            Pages::Tables { .. } => (Walk::Flat { latency: UNTOLD }, None),
            Pages::Flat(latency) => (Walk::Flat { latency }, None),
        }
    }

    /// Puts an MMU between a core and its caches; gives what the core is connected to, and who asks its data cache beside it.
    pub(super) fn core_mmu(&mut self, core: usize, mmu: CoreMmu, top: Top) -> (Top, Requesters) {
        let (scope, clock) = (self.core_scope(core), self.complex.clock);
        let (own, walkers) = (scope.scope("mmu"), scope.scope("walkers"));
        let (below, asked) = translation::asks(mmu.mmu, &own, &walkers);
        let latency = (self.complex.l1d.latency.0, 1);
        let cache = || self.pair((&walkers, clock), "to_l1d", (&scope.scope("l1d"), clock), latency);
        let (walk, reader) = self.walk(mmu.pages, cache);
        let Translators { roots, kernel, stages, .. } = &mut self.translators;
        let (order, control) = translation::orders(kernel, &walkers);
        stages[0].push(order);
        vm::walkers(mmu.walkers, walk, vec![asked], Some(control), roots, &walkers);
        let (order, control) = translation::orders(kernel, &own);
        stages[1].push(order);
        let plan = MmuPlan { tlb: mmu.tlb, spec: mmu.mmu, below, control, roots };
        let [data, code] = translation::between([("data", top.data), ("code", top.code)], plan, &own);
        (Top { data, code }, reader.map(|wire| (self.layout.walkers(core), wire)).into_iter().collect())
    }

    /// Whom compute units ask for pages. It reads tables through caches of its own, as a core does.
    pub(super) fn iommu(&mut self, translated: Vec<HubEnds>, report: Report) {
        let Some(GpuMmu { iommu, .. }) = self.complex.gpu_mmu else { return };
        let (layout, clock, core) = (self.layout, self.complex.clock, self.complex.cores);
        let scope = self.scopes.gpu.scope("iommu");
        let caches = self.scopes.cpu.scope("iommu");
        let (l1, l2) = (caches.scope("l1d"), caches.scope("l2"));
        let cache = || self.pair((&scope, self.gpu_clock), "to_l1d", (&l1, clock), (iommu.cache.latency.0, 1));
        let (walk, reader) = self.walk(iommu.pages, cache);
        if let Some(reader) = reader {
            let (down, up) = self.pair((&l1, clock), "to_l2", (&l2, clock), (iommu.cache.latency.0, 1));
            let below = Interleave::One(layout.core_l2(core));
            let spec = First { node: layout.l1d(core), controller: &L1D, spec: iommu.cache, below, down };
            let cache = first(spec, vec![(layout.walkers(core), reader)], report, &l1);
            l1.serve("control", |cx| cache.run(cx));
            self.second(core, iommu.cache, vec![(layout.l1d(core), up)], &l2);
        }
        let Translators { roots, kernel, stages, .. } = &mut self.translators;
        let (order, control) = translation::orders(kernel, &scope);
        stages[0].push(order);
        let mut askers = Vec::new();
        for ends in translated {
            let (asks, forgets) = ends.place(&scope, kernel);
            askers.push(asks);
            stages[1].push(forgets);
        }
        match iommu.tlb {
            Some(tlb) => {
                let spec = IommuSpec { tlb, walkers: iommu.walkers };
                vm::iommu(spec, walk, askers, Some(control), roots, &scope);
            }
            None => vm::walkers(iommu.walkers, walk, askers, Some(control), roots, &scope.scope("walkers")),
        }
    }
}
