//! Builds the cores, the program that runs on them, and the front end of the GPUs that its driver uses.

use super::{
    Agents,
    elements::{Builder, Refused, only},
    memories::put,
    wires::End,
};
use crate::{
    plan::{CorePlan, EdgeId, FLUSHER, Freight, FrontEndPlan, Id, ProgramPlan, Tells, What},
    program::{Caches, Coherent, Direct, Dma, FrontEnd, ModelGpus, Software, SoftwareSpec, Translations},
    run::PROGRAM,
    stress,
};
use cpu::Core;
use engine::{EventCount, Lane, Scope};
use gpu::CommandProcessor;
use interconnect::{HEADER, Packet, WHOLE, Wire};
use mem::{Block, Interleave, LineAddr, PAGE, PhysAddr};
use os::forward::Forward;
use protocol::{Kind, Msg, Node};
use rustc_hash::FxHashSet;
use std::{cell::RefCell, pin::Pin, rc::Rc, sync::Arc};

/// A program that has been started, for the elements connected to it.
pub struct Running {
    software: Software,
    inside: ModelGpus,
    bells: Vec<EventCount>,
}

impl Builder<'_> {
    /// Starts the process and copies its memory contents into the channels.
    pub(super) fn program(&mut self, id: Id, plan: &ProgramPlan, scope: &Scope) -> Result<(), Refused> {
        let Some(Agents::Program(start)) = self.agents.take() else {
            unreachable!("a machine that has a program is built for one")
        };
        let loader = self.reporter(id, 0, scope);
        let forward = start.forward.map(Forward::new);
        let inside = ModelGpus::forwarded(plan.gpus, self.translators.tables.clone(), forward.clone());
        let finish = Arc::clone(&start.finish);
        let Some((mut process, usage)) = start.process(&inside) else { return Err(Refused) };
        if let Some(forward) = &forward {
            process.space.expect_cores();
            process.fast_forward(forward);
        }
        let ProgramPlan { cores, threads, kernel: system, slice, .. } = *plan;
        let spec = SoftwareSpec { cores, threads, system, slice };
        // One image of all caches keeps apart what memory has received.
        let landed = self.plan.domains.len() == 1;
        let bells: Vec<EventCount> = (0..cores).map(|core| scope.scope(("core", core)).eventcount("bell")).collect();
        let software = Software::new(process, spec, bells.clone(), scope.eventcount("alert"), finish);
        software.with_process(|process| put(process, self.stores, &self.plan.channels, loader, landed, Some));
        software.attach(&inside, usage);
        if let Some(view) = &self.view {
            software.set_look(view.look());
            view.open(software.clone());
        }
        if let Some(shooter) = self.translators.shooter.take() {
            shooter.obey(&software);
        }
        self.running = Some(Running { software, inside, bells });
        Ok(())
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("a program is started before its cores are built")
    }

    pub(super) fn core(&mut self, id: Id, plan: &CorePlan, scope: &Scope) {
        let [data, code] = self.asks(id).try_into().unwrap_or_else(|_| unreachable!("a core has two caches"));
        let CorePlan { number, spec, threads } = plan;
        let Running { software, bells, .. } = self.running();
        let guest = Rc::new(RefCell::new(software.guest(*number)));
        let core = Core::new(spec.clone(), *threads, guest, data, code, bells[*number].clone(), scope);
        scope.serve("pipeline", |cx| core.run(cx));
    }

    pub(super) fn timekeeper(&mut self, scope: &Scope) {
        let timekeeper = self.running().software.timekeeper();
        scope.spawn(PROGRAM, |cx| timekeeper.run(cx));
    }

    pub(super) fn dma(&mut self, id: Id, outstanding: usize, scope: &Scope) {
        let wires = self.asks(id);
        let gpus = match (&self.running, &self.outside, &self.driver) {
            (Some(running), ..) => &running.inside,
            (None, Some((_, gpus)), _) | (None, None, Some(gpus)) => gpus,
            (None, None, None) => unreachable!("a program is started before its DMA engine is built"),
        };
        let engine = Dma::new(gpus, outstanding, wires, scope);
        scope.serve("control", |cx| engine.run(cx));
    }

    /// A DMA engine's access to memory past all caches.
    pub(super) fn direct(&mut self, id: Id, homes: &Interleave<Node>, tells: Tells, scope: &Scope) {
        let edge = self.edge(id, Freight::Requests);
        let asked = self.wires.asked.remove(&edge).expect("both ends of every edge are in place");
        let me = self.plan.element(id).node.expect("it has a number");
        let reporter = self.reporter(id, 0, scope).map(|reporter| (reporter, tells));
        let memories: Vec<Node> = homes.owners().copied().collect();
        let side = only(self.side(id), Some(&memories));
        let direct = Direct::new((me, homes.clone()), asked, side, reporter, scope);
        scope.serve("control", |cx| direct.run(cx));
    }

    pub(super) fn front_end(&mut self, id: Id, plan: &FrontEndPlan, scope: &Scope) {
        let flusher = self.flusher(id);
        if self.plan.edges_of(id, Freight::Tests).next().is_some() {
            return self.tester_front_end(id, flusher, scope);
        }
        let caches: Rc<dyn Caches> = match &self.claims {
            Some((claims, _)) => Rc::new(claims.clone()),
            None if plan.flushes => Rc::new(flusher),
            None => Rc::new(Coherent),
        };
        let observer = self.reporter(id, 0, scope).filter(|_| !self.plan.element(id).reports.is_empty());
        let gpus = self.command_processors(id, scope);
        let front_end = FrontEnd::build(plan.spec, gpus, caches, observer, self.page_tables(), scope);
        match &self.running {
            Some(Running { inside, .. }) => {
                self.take_pages_away(inside, &front_end, scope);
                inside.launch_by(front_end);
            }
            None => self.front_end = Some(front_end),
        }
    }

    /// The command processors of GPUs: those of this partition directly, those of other partitions through links.
    fn command_processors(&mut self, id: Id, scope: &Scope) -> Vec<CommandProcessor> {
        let mut here = std::mem::take(&mut self.dispatchers).into_iter();
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Commands).collect();
        let processors = edges.into_iter().filter_map(|edge| {
            let What::Dispatcher(spec, _) = &self.plan.element(self.plan.edge(edge).lower).what else { return None };
            let own = self.plan.edge(edge).name.clone();
            match self.wires.ends.remove(&(edge, id)) {
                Some(End::Doorbell(wire)) => Some(wire.place(spec.kernels, &scope.scope(own.as_str()))),
                _ => here.next(),
            }
        });
        processors.collect()
    }

    /// A tester in place of the front end.
    fn tester_front_end(&mut self, id: Id, flusher: Flusher, scope: &Scope) {
        let tests = self.edge(id, Freight::Tests);
        let Some(End::Tester(end)) = self.wires.ends.remove(&(tests, id)) else {
            unreachable!("a tester is told what to do")
        };
        let translations = self.translators.shooter.take().map(|shooter| shooter as Rc<dyn Translations>);
        let front_end = stress::FrontEnd::new(self.stress(), end, Rc::new(flusher), translations, scope);
        scope.serve("control", |cx| front_end.run(cx));
    }
}

/// Pages that the CPU's caches have to flush. Never iterated.
#[derive(Default)]
pub struct Pages(RefCell<FxHashSet<PhysAddr>>);

impl Pages {
    pub fn has(&self, line: LineAddr) -> bool {
        self.0.borrow().contains(&PhysAddr(line.0 / PAGE * PAGE))
    }
}

/// Makes the CPU's caches flush some pages. The last-level cache recalls the lines from the caches above it.
pub struct Flusher {
    pub slices: Vec<(Node, Wire<Packet, Packet>)>,
    pub pages: Rc<Pages>,
}

impl Caches for Flusher {
    fn flush(&self, pages: &[PhysAddr]) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        *self.pages.0.borrow_mut() = pages.iter().copied().collect();
        Box::pin(async {
            for (slice, wire) in &self.slices {
                let order =
                    Msg { scope: mem::Scope::System, ..Msg::new(FLUSHER, *slice, Kind::Flush, WHOLE, Block::EMPTY) };
                wire.to.send(Lane::Coherence, order.into(), HEADER).await;
            }
            for (_, wire) in &self.slices {
                wire.from.recv(Lane::Reply).await;
            }
        })
    }
}
