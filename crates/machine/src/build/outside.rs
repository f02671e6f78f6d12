//! Builds a host outside the machine that executes a program, and its DMA engine.

use super::{
    Agents,
    elements::{Builder, Refused, only},
    memories::put,
    wires::End,
};
use crate::{
    plan::{EdgeId, Freight, Id},
    program::{
        CacheRecall, Claims, DmaPort, FrontEnd, GpusSpec, HostAudit, HostDma, HostDmaSpec, HostPort, ModelGpus,
        Outside, OutsideProcess, TlbRecall,
    },
    run::PROGRAM,
};
use engine::Scope;
use interconnect::Wire;
use mem::Interleave;
use os::forward::Forward;
use protocol::Node;
use std::{rc::Rc, sync::Arc};

impl Builder<'_> {
    /// Starts the process and copies the devices' memory contents into the channels.
    pub(super) fn outside(&mut self, id: Id, gpus: GpusSpec, scope: &Scope) -> Result<(), Refused> {
        let (Some(Agents::Program(start)), Some(front_end)) = (self.agents.take(), self.front_end.take()) else {
            unreachable!("a machine that has a program is built for one")
        };
        let loader = self.reporter(id, 0, scope);
        let forward = start.forward.map(Forward::new);
        let inside = ModelGpus::forwarded(gpus, self.translators.tables.clone(), forward.clone());
        self.take_pages_away(&inside, &front_end, scope);
        if let Some((claims, scope)) = &self.claims {
            claims.serve(&inside, scope);
        }
        inside.launch_by(front_end);
        let (finish, drained) = (Arc::clone(&start.finish), Arc::clone(&start.drained));
        let Some((mut process, usage)) = start.process(&inside) else { return Err(Refused) };
        if let Some(forward) = &forward {
            process.fast_forward(forward);
        }
        let audit = loader.clone().filter(|_| !gpus.apart).map(HostAudit::new);
        put(&mut process, self.stores, &self.plan.channels, loader, true, |at| gpus.of_devices(at));
        let process = OutsideProcess::new(process, usage, inside.clone(), finish, drained);
        self.host_bytes.is_of(&process);
        let host = Outside::new(process.clone(), inside.clone(), scope.eventcount("bell"), audit);
        scope.spawn(PROGRAM, |cx| host.run(cx));
        self.outside = Some((process, inside));
        Ok(())
    }

    /// Enables page recalls from these GPUs, if the machine has TLBs with shootdowns.
    pub(super) fn take_pages_away(&self, gpus: &ModelGpus, front_end: &FrontEnd, scope: &Scope) {
        if let Some((shootdowns, kernel)) = &self.translators.shootdowns {
            let caches = CacheRecall::new(gpus, front_end.clone(), scope);
            let tlbs = TlbRecall::new(gpus, Rc::clone(shootdowns), Rc::clone(&caches), kernel);
            kernel.serve("recall_tlbs", |cx| tlbs.run(cx));
            scope.serve("recall", |cx| caches.run(cx));
        }
    }

    pub(super) fn claims(&mut self, id: Id, homes: &Interleave<Node>, block: u64, scope: &Scope) {
        let me = self.plan.element(id).node.expect("it has a number");
        let directories: Vec<Node> = homes.owners().copied().collect();
        let side = only(self.side(id), Some(&directories));
        self.claims = Some((Claims::build((me, homes.clone()), block, side, scope), scope.clone()));
    }

    pub(super) fn host_port(&mut self, id: Id, scope: &Scope) {
        let (process, _) = self.outside.clone().expect("a host is built before its DMA engine");
        let edge = self.edge(id, Freight::Requests);
        let wire = self.wires.asked.remove(&edge).expect("both ends of every edge are in place");
        let port = HostPort { process, wire };
        scope.serve("control", |cx| port.run(cx));
    }

    pub(super) fn host_dma(&mut self, id: Id, spec: HostDmaSpec, scope: &Scope) {
        let (process, gpus) = self.outside.clone().expect("a host is built before its DMA engine");
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Bytes).collect();
        let wires = edges.into_iter().map(|edge| match self.wires.ends.remove(&(edge, id)) {
            Some(End::Dma(ask, answers)) => Wire { from: scope.receiver(answers), to: scope.sender(ask) },
            _ => unreachable!("both ends of every edge are in place"),
        });
        let engine = HostDma::new(&gpus, process, spec, self.plan.channels.clone(), wires.collect(), scope);
        scope.serve("control", |cx| engine.run(cx));
    }

    pub(super) fn dma_port(&mut self, id: Id, channel: usize, timed: bool, scope: &Scope) {
        let edge = self.edge(id, Freight::Bytes);
        let Some(End::DmaPort(answer, asked)) = self.wires.ends.remove(&(edge, id)) else {
            unreachable!("both ends of every edge are in place")
        };
        let wire = Wire { from: scope.receiver(asked), to: scope.sender(answer) };
        let shares = self.plan.channels.shares();
        let (_, share) = shares[channel];
        let (store, reporter) = (self.stores[channel].clone(), self.reporter(id, 0, scope));
        let port = DmaPort { wire, store, share, reporter, timed };
        scope.serve("control", |cx| port.run(cx));
    }
}
