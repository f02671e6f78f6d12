//! The caches through which a DMA engine asks: to the directory it is one more core, so that whatever it reads is the newest and
//! whatever it writes takes others' copies away.

use super::{Builder, First, first};
use crate::{
    complex::DmaSpec,
    program::{Dma, Inside},
    system::Report,
};
use engine::Scope;
use interconnect::Wire;
use mem::{Interleave, Reply, Request};
use protocol::mesi::l1::L1D;

/// A DMA engine that is to be.
pub(super) struct Engine {
    pub spec: DmaSpec,
    pub wire: Wire<Reply, Request>,
    pub scope: Scope,
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
        let (layout, clock, number) = (self.layout, self.complex.clock, self.complex.stacks() - 1);
        let scope = self.scopes.cpu.scope("dma");
        let (l1, l2) = (scope.scope("l1"), scope.scope("l2"));
        let latency = (spec.cache.latency.0, 1);
        let (wire, top) = self.pair((&scope, clock), "to_l1", (&l1, clock), latency);
        let (down, up) = self.pair((&l1, clock), "to_l2", (&l2, clock), latency);
        let below = Interleave::One(layout.core_l2(number));
        let own = First { node: layout.l1d(number), controller: &L1D, spec: spec.cache, below, down };
        let cache = first(own, vec![(layout.core(number), top)], report, &l1);
        let cache = cache.watched_by(self.eyes.of_transfers());
        l1.serve("control", |cx| cache.run(cx));
        self.second(number, spec.cache, vec![(layout.l1d(number), up)], &l2);
        Engine { spec, wire, scope }
    }
}
