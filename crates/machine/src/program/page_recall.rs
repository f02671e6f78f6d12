//! Recalls pages from GPUs for the driver: TLBs drop their translations, then caches write back and invalidate their
//! lines.

use super::{FrontEnd, ModelGpus};
use engine::{Context, Counter, EventCount, Histogram, Scope, Time};
use mem::{Asid, PhysAddr, VirtAddr};
use rustc_hash::FxHashMap;
use std::{cell::RefCell, collections::VecDeque, rc::Rc};
use vm::{MOST_PAGES, Shootdown, Shootdowns};

/// A recall that the driver has ordered.
pub(super) struct Recall {
    pub number: u64,
    pub pages: Vec<(Asid, VirtAddr)>,
}

/// Minimum time that a page stays after a fault was served, so that the access that waited for it can complete.
const STAY: Time = Time::nanos(2000);

/// Frames whose translations are gone, on their way to the caches.
struct Forgotten {
    number: u64,
    start: Time,
    frames: Vec<PhysAddr>,
}

/// Executes the TLB part of recalls, one at a time, in the kernel's clock domain.
pub struct TlbRecall {
    gpus: ModelGpus,
    shootdowns: Rc<Shootdowns>,
    bell: EventCount,
    next: Rc<CacheRecall>,
}

/// Executes the cache part of recalls: caches write back and invalidate the frames' lines. Runs where the front end
/// runs.
pub struct CacheRecall {
    gpus: ModelGpus,
    front_end: FrontEnd,
    forgotten: RefCell<VecDeque<Forgotten>>,
    bell: EventCount,
    pages: Counter,
    cycles: Histogram,
}

impl CacheRecall {
    pub fn new(gpus: &ModelGpus, front_end: FrontEnd, scope: &Scope) -> Rc<Self> {
        let scope = scope.scope("recall");
        let (bell, pages, cycles) = (scope.eventcount("work"), scope.counter("pages"), scope.histogram("cycles"));
        Rc::new(Self { gpus: gpus.clone(), front_end, forgotten: RefCell::default(), bell, pages, cycles })
    }

    pub async fn run(self: Rc<Self>, cx: Context) {
        loop {
            let next = self.forgotten.borrow_mut().pop_front();
            let Some(Forgotten { number, start, frames }) = next else {
                self.bell.next().await;
                continue;
            };
            self.pages.add(frames.len() as u64);
            self.front_end.recall(&frames).await;
            self.cycles.record(cx.now().0.saturating_sub(cx.cycle_at(start).0));
            self.gpus.end(number, start, cx.time());
        }
    }
}

impl TlbRecall {
    /// Builds the recall unit at `scope`, which belongs to the clock domain of `shootdowns`. From then on the driver
    /// may recall pages from these GPUs.
    pub fn new(gpus: &ModelGpus, shootdowns: Rc<Shootdowns>, next: Rc<CacheRecall>, scope: &Scope) -> Self {
        let bell = scope.scope("recall").eventcount("work");
        gpus.recalls_to(bell.clone());
        Self { gpus: gpus.clone(), shootdowns, bell, next }
    }

    pub async fn run(self, cx: Context) {
        // When pages were last mapped for faults; never iterated.
        let mut given = FxHashMap::default();
        loop {
            given.extend(self.gpus.take_answered().into_iter().map(|page| (page, cx.time())));
            let Some(Recall { number, pages }) = self.gpus.next_recall() else {
                self.bell.next().await;
                continue;
            };
            let start = cx.time();
            let stays = pages.iter().filter_map(|page| given.remove(page)).max();
            let until = stays.map_or(Time::ZERO, |given| given + STAY);
            let cycles = cx.cycle_at(until).0.saturating_sub(cx.now().0);
            if cycles > 0 {
                cx.pause(cycles).await;
            }
            let remove = |(asid, page)| Some((asid, page, self.gpus.tables().remove(asid, page)?));
            let pages: Vec<(Asid, VirtAddr, PhysAddr)> = pages.into_iter().filter_map(remove).collect();
            for what in orders_for(&pages) {
                self.shootdowns.shoot(what).await;
            }
            let mut frames: Vec<PhysAddr> = pages.iter().map(|(.., frame)| *frame).collect();
            frames.sort_unstable();
            frames.dedup();
            self.next.forgotten.borrow_mut().push_back(Forgotten { number, start, frames });
            self.next.bell.advance();
        }
    }
}

/// The shootdowns for these pages.
fn orders_for(pages: &[(Asid, VirtAddr, PhysAddr)]) -> Vec<Shootdown> {
    let mut spaces: Vec<Asid> = pages.iter().map(|(asid, ..)| *asid).collect();
    spaces.sort_unstable();
    spaces.dedup();
    let of_space = |asid: Asid| {
        let own: Vec<VirtAddr> = pages.iter().filter(|(of, ..)| *of == asid).map(|(_, virt, _)| *virt).collect();
        match own.len() {
            0..=MOST_PAGES => own.into_iter().map(|virt| Shootdown::Page { asid, virt }).collect(),
            _ => vec![Shootdown::Space { asid }],
        }
    };
    spaces.into_iter().flat_map(of_space).collect()
}
