//! The caches through which a DMA engine asks: to the directory it is one more core, so that whatever it reads is the newest and
//! whatever it writes takes others' copies away. It runs at the network's clock.

use super::{Builder, First, cache_spec, first};
use crate::{
    complex::DmaSpec,
    program::{Dma, Inside},
    system::Report,
};
use cache::{Cache, Homes};
use engine::Scope;
use interconnect::{Side, Wire};
use mem::{LINE, Reply, Request};
use protocol::mesi::{l1::L1D, l2::L2};

/// A DMA engine that is to be.
pub(super) struct Engine {
    spec: DmaSpec,
    wire: Wire<Reply, Request>,
    scope: Scope,
}

impl Engine {
    pub fn start(self, inside: &Inside) {
        let Self { spec, wire, scope } = self;
        let engine = Dma::new(inside, spec.outstanding, wire, &scope);
        scope.serve("control", |cx| engine.run(cx));
    }
}

impl Builder {
    /// The engine's caches.
    pub(super) fn engine(&mut self, spec: DmaSpec, report: Report) -> Engine {
        let (layout, clock, number) = (self.layout, self.complex.system_clock, self.complex.cores);
        let scope = self.scopes.system.scope("dma");
        let (l1, l2) = (scope.scope("l1"), scope.scope("l2"));
        let latency = (spec.cache.latency.0, 1);
        let (wire, top) = self.pair((&scope, clock), "to_l1", (&l1, clock), latency);
        let (down, up) = self.pair((&l1, clock), "to_l2", (&l2, clock), latency);
        let me = layout.core_l2(number);
        let below = Homes { nodes: vec![me], stride: LINE as u64 };
        let report = report.map(|(who, end)| (who, scope.sender(end)));
        let requesters = vec![(layout.core(number), top)];
        let own = First { node: layout.l1d(number), controller: &L1D, spec: spec.cache, below, down };
        let cache = first(own, requesters, report, &l1).watched_by(self.eyes.of_transfers());
        l1.serve("control", |cx| cache.run(cx));
        let out = self.attach(vec![me], &l2, clock, 0);
        let others = layout.of_complex().into_iter().chain(layout.gpu_l2s()).filter(|node| *node != me).collect();
        let neighbours =
            Side { from: vec![up.from, out.from], to: vec![(vec![layout.l1d(number)], up.to), (others, out.to)] };
        let cache = cache_spec(spec.cache, &L2, me, self.slice_homes(), layout.l1d(number), false);
        let cache = Cache::new(cache, Vec::new(), neighbours, None, &l2).lines_watched_by(self.eyes.of_core_l2());
        l2.serve("control", |cx| cache.run(cx));
        Engine { spec, wire, scope }
    }
}
