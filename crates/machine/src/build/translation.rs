//! Builds page walkers, MMUs and TLBs, and the shootdowns that notify them of changed page tables.
//!
//! ```text
//! core ---- mmu ---- l1d             cu ---- mmu ---- l1v
//!            |        |                       |
//!         walkers ----'                       '=== iommu (at the hub) ---- l1d, l2 of its own on the network
//! ```
//! Answers of caches bypass the MMU. The kernel's [`Shooter`] sends shootdowns to walkers first, then to shared TLBs,
//! then to MMUs. The kernel is left only after all have acknowledged.

use super::elements::Builder;
use crate::{
    plan::{EdgeId, Element, FbtPlan, Freight, Id, WalkersPlan, What},
    program::{KnownSoftware, Software, Translations},
    translation::Pages,
};
use engine::{Context, EventCount, LinkReceiver, LinkSender, LinkSpec, Model, Scope};
use interconnect::Wire;
use mem::{Asid, Bytes, VirtAddr};
use std::{
    cell::{OnceCell, RefCell},
    collections::VecDeque,
    rc::Rc,
};
use vm::{
    DriverTables, Fbt, FbtPlace, FbtTables, Forgotten, IommuSpec, MOST_PAGES, PageSize, PageTables, Roots, SecondLevel,
    SharedTlb, SharedTlbSpec, Shootdown, Shootdowns, Translate, Translated, Walk,
};

/// One end of a link that carries translation requests, or shootdowns.
pub enum TranslationEnds {
    Ask(LinkSender<Translate>, LinkReceiver<Translated>),
    Asked(LinkReceiver<Translate>, LinkSender<Translated>),
    Shoot(LinkSender<Shootdown>, LinkReceiver<Forgotten>),
    Forget(LinkReceiver<Shootdown>, LinkSender<Forgotten>),
}

/// The upper and the lower end of such a link.
pub fn translation_link(
    model: &mut Model,
    name: &str,
    spec: LinkSpec,
    freight: Freight,
) -> (TranslationEnds, TranslationEnds) {
    if freight == Freight::Translations {
        let (ask, asked) = model.link(format!("{name}.translate"), spec);
        let (answer, answers) = model.link(format!("{name}.translated"), spec);
        (TranslationEnds::Ask(ask, answers), TranslationEnds::Asked(asked, answer))
    } else {
        let (order, orders) = model.link(format!("{name}.shootdown"), spec);
        let (forgotten, forgot) = model.link(format!("{name}.forgotten"), spec);
        (TranslationEnds::Shoot(order, forgot), TranslationEnds::Forget(orders, forgotten))
    }
}

/// State that the translating elements of a partition share.
#[derive(Default)]
pub struct Translators {
    pub roots: Roots,
    /// The sender of shootdowns, until the kernel takes it.
    pub shooter: Option<Rc<Shooter>>,
    /// Sends shootdowns to all elements, and its scope; `tables`: the page tables that a driver keeps.
    pub shootdowns: Option<(Rc<Shootdowns>, Scope)>,
    pub tables: DriverTables,
    /// The tables in the memory of a host outside, if walkers read them there.
    page_tables: Option<PageTables>,
    /// The forward-backward table, shared by its element and the IOMMU.
    pub fbt: Option<FbtTables>,
}

impl Translators {
    /// The tables in the memory of a host outside. Clones share them.
    fn page_tables(&mut self) -> PageTables {
        self.page_tables.get_or_insert_with(|| PageTables::new(&self.roots)).clone()
    }
}

impl Builder<'_> {
    /// The tables in which a front end enters the pages of kernels, if walkers read those of a host outside.
    pub(super) fn page_tables(&mut self) -> Option<PageTables> {
        let reads = |element: &Element| {
            matches!(&element.what, What::Walkers(WalkersPlan { pages: Pages::Tables { host: Some(_), .. }, .. }))
        };
        self.plan.elements.iter().any(reads).then(|| self.translators.page_tables())
    }

    pub(super) fn walkers(&mut self, id: Id, plan: &WalkersPlan, scope: &Scope) {
        let walk = match plan.pages {
            Pages::Tables { page_walk_cache, host } => {
                let memory = match host {
                    Some(latency) => self.translators.page_tables().memory(latency, &scope.scope("walkers")),
                    None => self.asks(id).pop().expect("walkers that read a kernel's tables have a cache"),
                };
                Walk::Tables { memory, page_walk_cache }
            }
            Pages::Flat(latency) => Walk::Flat { latency },
            Pages::Driver(latency) => Walk::Driver { latency, tables: self.translators.tables.clone() },
        };
        let asked: Vec<EdgeId> = self.plan.edges_of(id, Freight::Translations).collect();
        let take = |edge| self.wires.translated.remove(&edge).expect("both ends of every edge are in place");
        let askers = asked.into_iter().map(take).collect();
        let (control, roots) = (self.control(id), &self.translators.roots);
        match plan.tlb {
            Some(tlb) => {
                let spec = IommuSpec { tlb, walkers: plan.walkers };
                let fbt = &mut self.translators.fbt;
                let second = plan.second_level.map(|spec| SecondLevel {
                    tables: fbt.get_or_insert_with(|| FbtTables::new(spec.table)).clone(),
                    latency: spec.latency,
                });
                vm::iommu(spec, walk, askers, second, control, roots, scope);
            }
            None if plan.iommu => vm::walkers(plan.walkers, walk, askers, control, roots, &scope.scope("walkers")),
            None => vm::walkers(plan.walkers, walk, askers, control, roots, scope),
        }
    }

    pub(super) fn fbt(&mut self, id: Id, plan: &FbtPlan, scope: &Scope) {
        let below = self.edge(id, Freight::Translations);
        let below = self.wires.translates.remove(&below).expect("both ends of every edge are in place");
        // If the IOMMU uses the table as a second-level TLB, the machine has only one.
        let tables = match plan.spec.second_level {
            false => FbtTables::new(plan.spec.table),
            true => self.translators.fbt.get_or_insert_with(|| FbtTables::new(plan.spec.table)).clone(),
        };
        let me = self.plan.element(id).node.expect("a forward-backward table has a number");
        let FbtPlan { banks, first_level, line, above, .. } = plan.clone();
        let tells_names = plan.spec.remaps > 0;
        let place = FbtPlace { me, banks, first_level, line, above, tells_names };
        let (side, control) = (self.side(id), self.control(id));
        let fbt = Fbt::new(tables, place, side, below, (control, &self.translators.roots), scope);
        scope.serve("control", |cx| fbt.run(cx));
    }

    pub(super) fn shared_tlb(&mut self, id: Id, spec: SharedTlbSpec, scope: &Scope) {
        let mut below = None;
        let mut askers = Vec::new();
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Translations).collect();
        for edge in edges {
            match self.plan.edge(edge).upper == id {
                true => below = self.wires.translates.remove(&edge),
                false => askers.extend(self.wires.translated.remove(&edge)),
            }
        }
        let below = below.expect("both ends of every edge are in place");
        let tlb = SharedTlb::new(spec, askers, below, self.control(id), None, scope);
        scope.serve("control", |cx| tlb.run(cx));
    }

    /// Builds the sender of shootdowns. Elements that serve others' misses come in earlier stages.
    pub(super) fn shooter(&mut self, id: Id, scope: &Scope) {
        let mut stages: [Vec<Wire<Forgotten, Shootdown>>; 3] = Default::default();
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Shootdowns).collect();
        for edge in edges {
            let stage = match self.plan.element(self.plan.edge(edge).lower).what {
                What::Walkers(_) => 0,
                What::SharedTlb(_) => 1,
                _ => 2,
            };
            let wire = self.wires.shoots.remove(&edge).expect("both ends of every edge are in place");
            stages[stage].push(wire);
        }
        let shooter = Shooter::new(&self.translators.roots, scope);
        let all = Rc::new(Shootdowns::new(stages.into(), &self.translators.roots, scope));
        self.translators.shootdowns = Some((Rc::clone(&all), scope.clone()));
        let own = Rc::clone(&shooter);
        scope.serve("shooter", |cx| own.run(all, cx));
        self.translators.shooter = Some(shooter);
    }
}
/// Sends shootdowns for the kernel's page table changes.
pub struct Shooter {
    roots: Roots,
    work: EventCount,
    ranges: RefCell<VecDeque<Vec<(u64, u64)>>>,
    software: OnceCell<KnownSoftware>,
}

impl Shooter {
    pub fn new(roots: &Roots, scope: &Scope) -> Rc<Self> {
        let work = scope.eventcount("work");
        Rc::new(Self { roots: roots.clone(), work, ranges: RefCell::default(), software: OnceCell::new() })
    }

    /// Sets the kernel to serve. Its tables are those of the first address space.
    pub fn obey(self: &Rc<Self>, software: &Software) {
        assert!(self.software.set(software.known()).is_ok(), "a machine has one process");
        self.roots.set(Asid::default(), software.with_process(|process| process.space.root()));
        software.set_translations(Rc::clone(self) as Rc<dyn Translations>);
    }

    /// Serves shootdowns, in the stages of `all`.
    pub async fn run(self: Rc<Self>, all: Rc<Shootdowns>, _: Context) {
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

/// The shootdowns for these address ranges.
fn orders_for(ranges: &[(u64, u64)]) -> Vec<Shootdown> {
    let asid = Asid::default();
    let Bytes(page) = PageSize::Small.bytes();
    let mut pages: Vec<u64> = Vec::new();
    for (start, end) in ranges {
        let (first, behind) = (start / page, end.div_ceil(page));
        if pages.len() as u64 + (behind - first) > MOST_PAGES as u64 {
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
