//! Pages that the driver takes away from GPUs: their TLBs forget where they were, then their caches write back and forget their lines.

use super::{FrontEnd, ModelGpus};
use engine::{Context, Counter, EventCount, Histogram, Scope};
use gpu::Ticket;
use mem::{Asid, PhysAddr, VirtAddr};
use std::rc::Rc;
use vm::{Shootdown, Shootdowns};

/// What the driver has ordered.
pub(super) struct Recall {
    pub number: u64,
    /// The pages of each address space, with the frames in which they were.
    pub pages: Vec<(Asid, VirtAddr, PhysAddr)>,
}

/// More pages than these of an address space are not forgotten one by one; as under Linux.
const MOST_PAGES: usize = 33;

/// Carries that out, one order after the other.
pub struct PageRecall {
    gpus: ModelGpus,
    front_end: FrontEnd,
    shootdowns: Rc<Shootdowns>,
    bell: EventCount,
    pages: Counter,
    cycles: Histogram,
}

impl PageRecall {
    /// Builds it at `scope`; from now on pages may be taken away from these GPUs.
    pub fn new(gpus: &ModelGpus, front_end: FrontEnd, shootdowns: Rc<Shootdowns>, scope: &Scope) -> Self {
        let scope = scope.scope("recall");
        let bell = scope.eventcount("work");
        gpus.recalls_to(bell.clone());
        let (pages, cycles) = (scope.counter("pages"), scope.histogram("cycles"));
        Self { gpus: gpus.clone(), front_end, shootdowns, bell, pages, cycles }
    }

    pub async fn run(self, cx: Context) {
        loop {
            let Some(Recall { number, pages }) = self.gpus.next_recall() else {
                self.bell.next().await;
                continue;
            };
            let (start, since) = (cx.time(), cx.now());
            for what in orders_for(&pages) {
                self.shootdowns.shoot(what).await;
            }
            let mut frames: Vec<PhysAddr> = pages.iter().map(|(.., frame)| *frame).collect();
            frames.sort_unstable();
            frames.dedup();
            self.pages.add(frames.len() as u64);
            // A frame's lines may be in caches of GPUs that reach it over others.
            let recalls: Vec<Ticket> = self.front_end.recall(&frames);
            for recall in recalls {
                recall.wait().await;
            }
            self.cycles.record(cx.now().0 - since.0);
            self.gpus.end(number, start, cx.time());
        }
    }
}

/// What TLBs have to forget.
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
