//! The wires of a plan. Links are declared for the whole model and their ends moved to their partitions; ports are
//! created in the partition that holds both ends.

use crate::{
    build::translation::{TranslationEnds, translation_link},
    plan::{EdgeId, Element, Freight, Id, Plan, Way, Wire as WirePlan},
    program::{FromChannel, ToChannel},
    stress::{self, ConductorEnd, TesterEnd},
};
use engine::{Inlet, LinkReceiver, LinkSender, Model, Outlet, Partition, Scope};
use gpu::{DispatcherEnd, UnitEnd, doorbell};
use interconnect::{Packet, Wire};
use mem::{Reply, Request};
use std::collections::BTreeMap;
use vm::{Forgotten, Shootdown, Translate, Translated};

/// One end of a link, on its way to its partition.
pub enum End {
    Messages(LinkSender<Packet>, LinkReceiver<Packet>),
    Doorbell(doorbell::HostEnd),
    Commands(doorbell::GpuEnd),
    Dispatcher(DispatcherEnd),
    Unit(UnitEnd),
    Conductor(ConductorEnd),
    Tester(TesterEnd),
    Translations(TranslationEnds),
    Dma(LinkSender<ToChannel>, LinkReceiver<FromChannel>),
    DmaPort(LinkSender<FromChannel>, LinkReceiver<ToChannel>),
}

/// The ends of links, by edge and by the element at that end.
pub type Ends = BTreeMap<(EdgeId, Id), End>;

/// Declares the links of a plan.
pub fn declare(plan: &Plan, model: &mut Model) -> Ends {
    let mut ends = Ends::new();
    for (number, edge) in plan.edges.iter().enumerate() {
        let WirePlan::Link(spec) = edge.wire else { continue };
        let name = &edge.name;
        let (upper, lower) = match edge.freight {
            Freight::Messages => {
                let (down, from_above) = model.link(format!("{name}.down"), spec);
                let (up, from_below) = model.link(format!("{name}.up"), spec);
                (End::Messages(down, from_below), End::Messages(up, from_above))
            }
            Freight::Commands => {
                let (host, gpu) = doorbell::link(model, name, spec);
                (End::Doorbell(host), End::Commands(gpu))
            }
            Freight::Work => {
                let (dispatcher, unit) = gpu::link(model, name, spec);
                (End::Dispatcher(dispatcher), End::Unit(unit))
            }
            Freight::Tests => {
                let (conductor, tester) = stress::link(model, name, spec);
                (End::Conductor(conductor), End::Tester(tester))
            }
            Freight::Translations | Freight::Shootdowns => {
                let (upper, lower) = translation_link(model, name, spec, edge.freight);
                (End::Translations(upper), End::Translations(lower))
            }
            Freight::Bytes => {
                let (ask, asked) = model.link(format!("{name}.down"), spec);
                let (answer, answers) = model.link(format!("{name}.up"), spec);
                (End::Dma(ask, answers), End::DmaPort(answer, asked))
            }
            freight => unreachable!("{freight:?} travel within a partition"),
        };
        ends.insert((EdgeId(number), edge.upper), upper);
        ends.insert((EdgeId(number), edge.lower), lower);
    }
    ends
}

/// The wires of a partition; the element at each end takes its own.
#[derive(Default)]
pub struct Wires {
    pub messages: BTreeMap<(EdgeId, Id), Wire<Packet, Packet>>,
    pub asks: BTreeMap<EdgeId, Wire<Reply, Request>>,
    pub asked: BTreeMap<EdgeId, Wire<Request, Reply>>,
    pub translates: BTreeMap<EdgeId, Wire<Translated, Translate>>,
    pub translated: BTreeMap<EdgeId, Wire<Translate, Translated>>,
    pub shoots: BTreeMap<EdgeId, Wire<Forgotten, Shootdown>>,
    pub forgets: BTreeMap<EdgeId, Wire<Shootdown, Forgotten>>,
    /// Incoming messages of a cache behind a junction; `deals`: the junction's end of that wire.
    pub arrivals: BTreeMap<EdgeId, Inlet<Packet>>,
    pub deals: BTreeMap<EdgeId, Outlet<Packet>>,
    /// Ends of links that their elements install themselves.
    pub ends: Ends,
}

impl Wires {
    /// Creates the ports of a partition, and installs the ends of its links.
    pub fn place(plan: &Plan, part: usize, mut ends: Ends, scopes: &Scopes<'_>) -> Self {
        let mut wires = Self::default();
        for (number, edge) in plan.edges.iter().enumerate() {
            let id = EdgeId(number);
            let [upper, lower] = [edge.upper, edge.lower].map(|end| plan.element(end));
            match &edge.wire {
                WirePlan::Link(_) => {
                    for (end, element) in [(edge.upper, upper), (edge.lower, lower)] {
                        if element.part == part
                            && let Some(placed) = ends.remove(&(id, end))
                        {
                            wires.link(id, end, placed, &scopes.of(element));
                        }
                    }
                }
                WirePlan::Ports { there, back } if upper.part == part => {
                    let (from, to) = (scopes.of(upper), scopes.of(lower));
                    wires.ports(id, edge, (&from, &to), (there, back));
                }
                WirePlan::Shared(spec) if upper.part == part => {
                    let scope = scopes.of(upper);
                    let (to, from) = scope.port(edge.name.as_str(), *spec, &scope);
                    wires.arrivals.insert(id, from);
                    wires.deals.insert(id, to);
                }
                WirePlan::Ports { .. } | WirePlan::Shared(_) | WirePlan::Call => {}
            }
        }
        wires
    }

    fn link(&mut self, edge: EdgeId, at: Id, end: End, scope: &Scope) {
        match end {
            End::Messages(sender, receiver) => {
                let wire = Wire { from: scope.receiver(receiver), to: scope.sender(sender) };
                self.messages.insert((edge, at), wire);
            }
            End::Translations(TranslationEnds::Ask(ask, answers)) => {
                let wire = Wire { from: scope.receiver(answers), to: scope.sender(ask) };
                self.translates.insert(edge, wire);
            }
            End::Translations(TranslationEnds::Asked(asked, answer)) => {
                let wire = Wire { from: scope.receiver(asked), to: scope.sender(answer) };
                self.translated.insert(edge, wire);
            }
            End::Translations(TranslationEnds::Shoot(order, forgotten)) => {
                let wire = Wire { from: scope.receiver(forgotten), to: scope.sender(order) };
                self.shoots.insert(edge, wire);
            }
            End::Translations(TranslationEnds::Forget(orders, forgot)) => {
                let wire = Wire { from: scope.receiver(orders), to: scope.sender(forgot) };
                self.forgets.insert(edge, wire);
            }
            other => _ = self.ends.insert((edge, at), other),
        }
    }

    fn ports(&mut self, id: EdgeId, edge: &crate::plan::Edge, scopes: (&Scope, &Scope), ways: (&Way, &Way)) {
        match edge.freight {
            Freight::Messages | Freight::Flushes => {
                let (upper, lower) = pair(scopes, ways);
                self.messages.insert((id, edge.upper), upper);
                self.messages.insert((id, edge.lower), lower);
            }
            Freight::Requests => {
                let (upper, lower) = pair(scopes, ways);
                self.asks.insert(id, upper);
                self.asked.insert(id, lower);
            }
            Freight::Translations => {
                let (upper, lower) = pair(scopes, ways);
                self.translates.insert(id, upper);
                self.translated.insert(id, lower);
            }
            Freight::Shootdowns => {
                let (upper, lower) = pair(scopes, ways);
                self.shoots.insert(id, upper);
                self.forgets.insert(id, lower);
            }
            freight => unreachable!("{freight:?} travel on links"),
        }
    }

    pub fn take(&mut self, edge: EdgeId, at: Id) -> Wire<Packet, Packet> {
        self.messages.remove(&(edge, at)).expect("both ends of every edge are in place")
    }
}

fn pair<Down: 'static, Up: 'static>(
    (upper, lower): (&Scope, &Scope),
    (there, back): (&Way, &Way),
) -> (Wire<Up, Down>, Wire<Down, Up>) {
    let (down, from_above) = one_way(upper, there, lower);
    let (up, from_below) = one_way(lower, back, upper);
    (Wire { from: from_below, to: down }, Wire { from: from_above, to: up })
}

fn one_way<T: 'static>(from: &Scope, way: &Way, to: &Scope) -> (Outlet<T>, Inlet<T>) {
    let (outlet, inlet) = from.port(way.name.as_str(), way.spec, to);
    (way.head.map_or(outlet.clone(), |head| outlet.cut_through(head)), inlet)
}

/// The scopes of a partition.
pub struct Scopes<'a> {
    pub partition: &'a Partition,
    pub clocks: &'a [engine::ClockId],
}

impl Scopes<'_> {
    pub fn of(&self, element: &Element) -> Scope {
        element.path.scope(&self.partition.scope(self.clocks[element.clock]))
    }
}
