//! Who translates, and how they hear that tables have changed.
//!
//! ```text
//! core ---- mmu ---- l1d             cu ---- mmu ---- l1v
//!            |        |                       |
//!         walkers ----'                       '=== iommu (at the hub) ---- l1d, l2 of its own on the network
//! ```
//! Answers of caches go straight back. The kernel's [`Shooter`] tells walkers first, then MMUs, and the kernel is not left
//! before all have forgotten.

use crate::program::{KnownSoftware, Software, Translations};
use engine::{Context, Cycles, EventCount, LinkReceiver, LinkSender, LinkSpec, Model, PortSpec, Scope};
use interconnect::Wire;
use mem::{Asid, Bytes, Reply, Request, VirtAddr};
use std::{
    cell::{OnceCell, RefCell},
    collections::VecDeque,
    rc::Rc,
};
use vm::{
    Control, Forgotten, Mmu, MmuPort, MmuSpec, PageSize, Roots, Shootdown, Shootdowns, TlbSpec, Translate, Translated,
};

/// The ends of the wires between the MMU of a compute unit and the hub: at the unit.
pub struct UnitEnds {
    ask: LinkSender<Translate>,
    answers: LinkReceiver<Translated>,
    orders: LinkReceiver<Shootdown>,
    forgotten: LinkSender<Forgotten>,
}

/// The same at the hub.
pub struct HubEnds {
    ask: LinkReceiver<Translate>,
    answers: LinkSender<Translated>,
    orders: LinkSender<Shootdown>,
    forgotten: LinkReceiver<Forgotten>,
}

pub fn link(model: &mut Model, name: &str, spec: LinkSpec) -> (UnitEnds, HubEnds) {
    let (ask, asked) = model.link(format!("{name}.translate"), spec);
    let (answer, answers) = model.link(format!("{name}.translated"), spec);
    let (order, orders) = model.link(format!("{name}.shootdown"), spec);
    let (forgotten, forgot) = model.link(format!("{name}.forgotten"), spec);
    (
        UnitEnds { ask, answers, orders, forgotten },
        HubEnds { ask: asked, answers: answer, orders: order, forgotten: forgot },
    )
}

impl UnitEnds {
    /// Whom the unit's MMU asks, and who gives it orders.
    pub fn place(self, scope: &Scope) -> (Wire<Translated, Translate>, Control) {
        let ask = Wire { from: scope.receiver(self.answers), to: scope.sender(self.ask) };
        (ask, Wire { from: scope.receiver(self.orders), to: scope.sender(self.forgotten) })
    }
}

impl HubEnds {
    /// Who asks, at the scope of the IOMMU; and who obeys, at that of the kernel's shooter.
    pub fn place(self, iommu: &Scope, shooter: &Scope) -> (Wire<Translate, Translated>, Wire<Forgotten, Shootdown>) {
        let asks = Wire { from: iommu.receiver(self.ask), to: iommu.sender(self.answers) };
        (asks, Wire { from: shooter.receiver(self.forgotten), to: shooter.sender(self.orders) })
    }
}

/// What an MMU is made of.
pub struct MmuPlan<'a> {
    pub tlb: TlbSpec,
    pub spec: MmuSpec,
    pub below: Wire<Translated, Translate>,
    pub control: Control,
    pub roots: &'a Roots,
}

/// Puts an MMU at `scope` between somebody and his caches; gives what he is connected to instead.
pub fn between<const N: usize>(
    caches: [(&str, Wire<Reply, Request>); N],
    plan: MmuPlan<'_>,
    scope: &Scope,
) -> [Wire<Reply, Request>; N] {
    let way =
        PortSpec { capacity: plan.spec.lookups.max(plan.spec.waiting), latency: Cycles(0), bytes_per_cycle: None };
    let mut ports = Vec::new();
    let tops = caches.map(|(name, Wire { from: replies, to })| {
        let (top, from) = scope.port(format!("from_{name}").as_str(), way, scope);
        ports.push(MmuPort { name: name.to_owned(), tlb: plan.tlb, from, to });
        Wire { from: replies, to: top }
    });
    let mmu = Mmu::new(plan.spec, ports, plan.below, Some(plan.control), plan.roots, scope);
    scope.serve("control", |cx| mmu.run(cx));
    tops
}

/// A wire within a partition to somebody who asks: his end and the other.
pub fn asks(spec: MmuSpec, from: &Scope, to: &Scope) -> (Wire<Translated, Translate>, Wire<Translate, Translated>) {
    let way = PortSpec { capacity: spec.misses, latency: Cycles(1), bytes_per_cycle: None };
    let (ask, asked) = from.port("translate", way, to);
    let (answer, answers) = to.port("translated", way, from);
    (Wire { from: answers, to: ask }, Wire { from: asked, to: answer })
}

/// A wire within a partition on which somebody is told what to forget: the shooter's end and his.
pub fn orders(shooter: &Scope, to: &Scope) -> (Wire<Forgotten, Shootdown>, Control) {
    let way = PortSpec { capacity: 1, latency: Cycles(1), bytes_per_cycle: None };
    let (order, orders) = shooter.port(format!("to_{}", to.path().replace('.', "_")).as_str(), way, to);
    let (done, forgotten) = to.port("forgotten", way, shooter);
    (Wire { from: forgotten, to: order }, Wire { from: orders, to: done })
}

/// Has everybody forget what the kernel has changed.
pub struct Shooter {
    roots: Roots,
    work: EventCount,
    ranges: RefCell<VecDeque<Vec<(u64, u64)>>>,
    software: OnceCell<KnownSoftware>,
}

/// More pages than these are not forgotten one by one; as under Linux.
const MOST_PAGES: u64 = 33;

impl Shooter {
    pub fn new(roots: &Roots, scope: &Scope) -> Rc<Self> {
        let work = scope.eventcount("work");
        Rc::new(Self { roots: roots.clone(), work, ranges: RefCell::default(), software: OnceCell::new() })
    }

    /// The kernel to obey. Its tables are those of the first address space.
    pub fn obey(self: &Rc<Self>, software: &Software) {
        assert!(self.software.set(software.known()).is_ok(), "a machine has one process");
        self.roots.set(Asid::default(), software.with_process(|process| process.space.root()));
        software.set_translations(Rc::clone(self) as Rc<dyn Translations>);
    }

    /// `all`: those whom others ask in stages before these.
    pub async fn run(self: Rc<Self>, all: Shootdowns, _: Context) {
        loop {
            let seen = self.work.count();
            let Some(ranges) = self.ranges.borrow_mut().pop_front() else {
                self.work.wait(seen + 1).await;
                continue;
            };
            for what in orders_for(&ranges) {
                all.shoot(what).await;
            }
            if let Some(software) = self.software.get().and_then(KnownSoftware::get) {
                software.shot_down();
            }
        }
    }
}

impl Translations for Shooter {
    fn in_kernel(&self, entered: bool) {
        match entered {
            true => self.roots.begin_change(Asid::default()),
            false => self.roots.end_change(Asid::default()),
        }
    }

    fn shoot(&self, ranges: Vec<(u64, u64)>) {
        self.ranges.borrow_mut().push_back(ranges);
        self.work.advance();
    }
}

/// What has to be forgotten for ranges of addresses.
fn orders_for(ranges: &[(u64, u64)]) -> Vec<Shootdown> {
    let asid = Asid::default();
    let Bytes(page) = PageSize::Small.bytes();
    let mut pages: Vec<u64> = Vec::new();
    for (start, end) in ranges {
        let (first, behind) = (start / page, end.div_ceil(page));
        if pages.len() as u64 + (behind - first) > MOST_PAGES {
            return vec![Shootdown::Space { asid }];
        }
        pages.extend(first..behind);
    }
    pages.sort_unstable();
    pages.dedup();
    pages.into_iter().map(|number| Shootdown::Page { asid, virt: VirtAddr(number * page) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pages_are_forgotten_one_by_one_and_many_at_once() {
        let page = |virt| Shootdown::Page { asid: Asid::default(), virt: VirtAddr(virt) };
        assert_eq!(orders_for(&[(0x3000, 0x5000), (0x4000, 0x4001)]), [page(0x3000), page(0x4000)]);
        assert_eq!(orders_for(&[(0, 33 * 0x1000)]).len(), 33);
        assert_eq!(orders_for(&[(0, 34 * 0x1000)]), [Shootdown::Space { asid: Asid::default() }]);
    }
}
