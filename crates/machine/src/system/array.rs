//! An array: compute units with their vector caches, and the caches of code and scalars that they share.

use super::{
    Agent, Ends, HISTORY, Layout, Parts, Report,
    translation::{self, MmuPlan, UnitEnds},
    wire,
};
use crate::{
    protocols::Roles,
    spec::{Banks, CacheSpec, Machine},
    stress::{Port, Tester},
    translation::GpuMmu,
};
use cache::{Atomics, BankSpec, Requesters};
use engine::{Cycles, Inlet, Outlet, PortSpec, Scope};
use gpu::{Caches, ComputeUnit};
use interconnect::{Packet, Side, Wire, deal};
use mem::{Interleave, Reply, Request};
use protocol::Node;
use vm::Roots;

/// What an array is connected to.
pub struct ArrayPlan {
    pub layout: Layout,
    pub gpu: usize,
    pub array: usize,
    /// To the banks, and which of them each leads to.
    pub below: Vec<(Vec<Node>, Ends)>,
    pub agents: Vec<Agent>,
    /// Of vector caches, and of the caches of scalars and code.
    pub reports: (Vec<Report>, Report, Report),
    /// Of each compute unit, if translation takes time.
    pub mmus: Vec<(GpuMmu, UnitEnds)>,
}

pub fn part(machine: &Machine, plan: ArrayPlan, partition: usize, parts: &mut Parts) {
    let (l1v, l1s, l1i) = (machine.l1v, machine.l1s, machine.l1i);
    let (unit_spec, per_array, units) = (machine.compute_unit, machine.units_per_array, machine.compute_units());
    let (banks, roles) = (machine.banks, machine.protocol);
    parts.add(partition, move |root| {
        let ArrayPlan { layout, gpu, array, .. } = plan;
        let scope = root.scope(("gpu", gpu)).scope(("array", array));
        let mut caches = FirstLevel::new(layout, gpu, (banks, roles), plan.below, &scope);
        let (s_scope, i_scope) = (scope.scope("l1s"), scope.scope("l1i"));
        let (mut s_top, mut i_top) = (Vec::new(), Vec::new());
        let mut built = Vec::new();
        let mut mmus = plan.mmus.into_iter();
        let (of_vectors, of_scalars, of_code) = plan.reports;
        for (number, (agent, report)) in plan.agents.into_iter().zip(of_vectors).enumerate() {
            let unit = array * per_array + number;
            let me = layout.unit(gpu, unit);
            let unit_scope = scope.scope(("cu", number));
            let v_scope = unit_scope.scope("l1v");
            let (vector, v_side) = port_pair(&unit_scope, "to_l1v", l1v, &v_scope);
            caches.add(layout.l1v(gpu, unit), l1v, vec![(me, v_side)], report, &v_scope);
            let mmu = mmus.next();
            match agent {
                Agent::Unit(end) => {
                    let (scalar, s_side) = port_pair(&unit_scope, "to_l1s", l1s, &s_scope);
                    let (code, i_side) = port_pair(&unit_scope, "to_l1i", l1i, &i_scope);
                    s_top.push((me, s_side));
                    i_top.push((me, i_side));
                    let caches = [("vector", vector), ("scalar", scalar), ("code", code)];
                    let [vector, scalar, code] = translate(caches, mmu, &unit_scope);
                    built.push((unit, number, end, Caches { vector, scalar, code }, unit_scope));
                }
                Agent::Tester(stress, end) => {
                    let [vector] = translate([("vector", vector)], mmu, &unit_scope);
                    let port = Port::Unit { by_lane: unit_spec.coalescer == gpu::Coalescer::Cache };
                    let tester = Tester::new((stress, port), me.0.into(), end, vector, &unit_scope);
                    unit_scope.serve("control", |cx| tester.run(cx));
                }
            }
        }
        if !built.is_empty() {
            caches.add(layout.l1s(gpu, array), l1s, s_top, of_scalars, &s_scope);
            caches.add(layout.l1i(gpu, array), l1i, i_top, of_code, &i_scope);
        }
        for (unit, number, end, caches, scope) in built {
            // Units of all GPUs are told apart: each has scratch memory of its own.
            let unit = gpu * units + unit;
            let unit = ComputeUnit::new(unit_spec, unit, number == 0, end.place(&scope), caches, &scope);
            scope.serve("control", |cx| unit.run(cx));
        }
        caches.deal(&scope);
    });
}

/// Puts the MMU of a compute unit before its caches, if it has one.
fn translate<const N: usize>(
    caches: [(&str, Wire<Reply, Request>); N],
    mmu: Option<(GpuMmu, UnitEnds)>,
    unit: &Scope,
) -> [Wire<Reply, Request>; N] {
    let Some((GpuMmu { tlb, mmu: spec, .. }, ends)) = mmu else { return caches.map(|(_, wire)| wire) };
    let scope = unit.scope("mmu");
    let (below, control) = ends.place(&scope);
    // The tables are far away: what changes there, orders say.
    let plan = MmuPlan { tlb, spec, below, control, roots: &Roots::default() };
    translation::between(caches, plan, &scope)
}

/// The first-level caches of an array: they share the ways to the banks; what comes back is dealt.
struct FirstLevel {
    roles: Roles,
    homes: Interleave<Node>,
    above: Node,
    ways: Vec<(Vec<Node>, Outlet<Packet>)>,
    arrivals: Vec<Inlet<Packet>>,
    dealt_to: Vec<(Node, Outlet<Packet>)>,
}

impl FirstLevel {
    fn new(
        layout: Layout,
        gpu: usize,
        (banks, roles): (Banks, Roles),
        below: Vec<(Vec<Node>, Ends)>,
        scope: &Scope,
    ) -> Self {
        let (mut ways, mut arrivals) = (Vec::new(), Vec::new());
        for (banks, ends) in below {
            let Wire { from, to } = wire(ends, scope);
            ways.push((banks, to));
            arrivals.push(from);
        }
        let homes = banks.deal(|bank| layout.l2(gpu, bank));
        Self { roles, homes, above: layout.unit(0, 0), ways, arrivals, dealt_to: Vec::new() }
    }

    fn add(&mut self, me: Node, spec: CacheSpec, requesters: Requesters, report: Report, scope: &Scope) {
        let arrives = PortSpec { capacity: spec.waiting, latency: Cycles(0), bytes_per_cycle: None };
        let (to, from) = scope.port("arrivals", arrives, scope);
        self.dealt_to.push((me, to));
        let bank = BankSpec {
            controller: self.roles.l1,
            me,
            below: self.homes.clone(),
            above: self.above,
            shape: spec.shape,
            mshrs: spec.mshrs,
            waiting: spec.waiting,
            join_queue: spec.join_queue,
            write_back_queue: spec.write_back_queue,
            peers: Vec::new(),
        };
        let neighbours = Side { from: vec![from], to: self.ways.clone() };
        let (ports, acquire) = (spec.ports, self.roles.acquire);
        let atomics = if self.roles.atomics == Atomics::Owned { Atomics::Owned } else { Atomics::Below };
        let claims = self.roles.levels.is_some();
        let spec = cache::CacheSpec { bank, history: HISTORY, ports, atomics, acquire, lifts_requests: false, claims };
        let cache = report.cache(spec, requesters, neighbours, scope);
        scope.serve("control", |cx| cache.run(cx));
    }

    fn deal(self, scope: &Scope) {
        scope.serve("deal", |cx| deal(self.arrivals, self.dealt_to, cx));
    }
}

/// Requests one way, with the time of the look-up; replies the other.
fn port_pair(from: &Scope, name: &str, cache: CacheSpec, to: &Scope) -> (Wire<Reply, Request>, Wire<Request, Reply>) {
    let way = |latency| PortSpec {
        capacity: cache.waiting + latency as usize,
        latency: Cycles(latency),
        bytes_per_cycle: None,
    };
    let (request_out, request_in): (Outlet<Request>, Inlet<Request>) = from.port(name, way(cache.latency.0), to);
    let back = format!("{name}_replies_{}", from.path().replace('.', "_"));
    let (reply_out, reply_in): (Outlet<Reply>, Inlet<Reply>) = to.port(&back, way(1), from);
    (Wire { from: reply_in, to: request_out }, Wire { from: request_in, to: reply_out })
}
