//! The I/O memory management unit: a shared TLB over walkers (`[vcache 2, Table 1]`, `[giles 3.2.4]`, `[giles
//! 3.2.7]`). First-level TLBs ask it over wires that model the latency.

use crate::{
    Control, Forgotten, Roots, SecondLevel, SharedTlb, SharedTlbSpec, Shootdown, Shootdowns, Translate, Translated,
    Walk, WalkersSpec, walkers,
};
use engine::{Cycles, Lane, PortSpec, Scope};
use interconnect::{HEADER, Wire};

/// Parameters from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct IommuSpec {
    pub tlb: SharedTlbSpec,
    pub walkers: WalkersSpec,
}

/// Starts an IOMMU at `scope`, which serves the requests on the wires `askers`.
pub fn iommu(
    spec: IommuSpec,
    walk: Walk,
    askers: Vec<Wire<Translate, Translated>>,
    second: Option<SecondLevel>,
    control: Option<Control>,
    roots: &Roots,
    scope: &Scope,
) {
    let inside = |capacity| PortSpec { capacity, latency: Cycles(0), bytes_per_cycle: None };
    let (ask, questions) = scope.port::<Translate>("ask", inside(spec.tlb.misses), scope);
    let (answer, answers) = scope.port::<Translated>("answer", inside(spec.tlb.misses), scope);
    let mut stages = Vec::new();
    let mut controls = [None, None];
    if control.is_some() {
        // The walkers come first, because the TLB sends requests to them.
        for (name, control) in ["control_walkers", "control_tlb"].iter().zip(&mut controls) {
            let (order, orders) = scope.scope(*name).port::<Shootdown>("orders", inside(1), scope);
            let (done, answers) = scope.scope(*name).port::<Forgotten>("done", inside(1), scope);
            *control = Some(Wire { from: orders, to: done });
            stages.push(vec![Wire { from: answers, to: order }]);
        }
    }
    let [of_walkers, of_tlb] = controls;
    let walkers_scope = scope.scope("walkers");
    walkers(spec.walkers, walk, vec![Wire { from: questions, to: answer }], of_walkers, roots, &walkers_scope);
    let tlb_scope = scope.scope("tlb");
    let tlb = SharedTlb::new(spec.tlb, askers, Wire { from: answers, to: ask }, of_tlb, second, &tlb_scope);
    tlb_scope.serve("control", |cx| tlb.run(cx));
    if let Some(control) = control {
        let inner = Shootdowns::new(stages, roots, scope);
        scope.serve("shootdown", |_| async move {
            loop {
                let order = control.from.recv(Lane::Request).await;
                inner.shoot(order).await;
                control.to.send(Lane::Reply, Forgotten, HEADER).await;
            }
        });
    }
}
