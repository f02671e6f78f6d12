//! Translations that have been asked for below and have not come.

use crate::{PageSize, Shootdown, Translate, TranslationId};
use engine::{Context, Lane, Level, Scope};
use interconnect::Sender;
use mem::{Asid, PhysAddr, VirtAddr};

/// A page that is being looked up below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    pub asid: Asid,
    /// A huge page is asked for as the small one that the address would lie in.
    pub page: VirtAddr,
    /// It was asked for in order to write.
    pub write: bool,
    /// Whether the requester knows where it is, and goes by that. Else what comes is all that it will know.
    pub placed: bool,
    /// It has been shot down meanwhile. What comes must not be remembered; for a requester that goes by it, it is asked for again.
    pub void: bool,
}

impl Miss {
    /// Whether what comes is to be asked for again.
    pub fn is_stale(&self) -> bool {
        self.void && !self.placed
    }
}

/// What is known about a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// It is in the TLB.
    Known,
    Nothing,
    UnderWay(TranslationId),
    /// It has been shot down while it was looked up: it can be asked for again when that has come.
    Void,
}

/// So many pages that can be looked up below at a time.
pub(crate) struct Misses {
    slots: Vec<Option<Miss>>,
    under_way: Level,
}

impl Misses {
    pub fn new(count: usize, scope: &Scope) -> Misses {
        Misses { slots: vec![None; count], under_way: scope.level("misses_under_way") }
    }

    /// Tells a report on a run that does not get on that pages are awaited from `below`.
    pub fn explain(&self, cx: &Context, below: &Sender<Translate>) {
        let count = self.slots.iter().flatten().count();
        if count > 0 {
            cx.needs_of_receiver(format!("{count} translations"), below.outlet(), Lane::Request);
        }
    }

    /// Whether the page of an address is being looked up, and under which number.
    pub fn find(&self, asid: Asid, address: VirtAddr) -> Search {
        let page = address.align_down(PageSize::Small.bytes());
        let same = |miss: &Miss| miss.page == page && miss.asid == asid;
        match self.slots.iter().position(|slot| slot.as_ref().is_some_and(same)) {
            Some(slot) if self.slots[slot].is_some_and(|miss| miss.void && miss.placed) => Search::Void,
            Some(slot) => Search::UnderWay(id(slot)),
            None => Search::Nothing,
        }
    }

    /// Notes that the page of an address is looked up; what is to be asked below, if there was room.
    pub fn open(&mut self, asid: Asid, address: VirtAddr, phys: Option<PhysAddr>, write: bool) -> Option<Translate> {
        let free = self.slots.iter().position(Option::is_none)?;
        let page = address.align_down(PageSize::Small.bytes());
        self.slots[free] = Some(Miss { asid, page, write, placed: phys.is_some(), void: false });
        self.under_way.rise();
        let phys = phys.map(|phys| phys.align_down(PageSize::Small.bytes()));
        Some(Translate { id: id(free), asid, virt: page, phys, write })
    }

    /// What an answer is about.
    pub fn get(&self, id: TranslationId) -> Miss {
        self.slots[id.0 as usize].expect("what is answered was asked")
    }

    /// The answer was for readers only: what to ask for those who write.
    pub fn ask_to_write(&mut self, id: TranslationId, phys: Option<PhysAddr>) -> Translate {
        let miss = self.slots[id.0 as usize].as_mut().expect("what is answered was asked");
        miss.write = true;
        Translate { id, asid: miss.asid, virt: miss.page, phys, write: true }
    }

    /// The page was taken away while it was looked up: what to ask for those who still want it. What comes now is newer.
    pub fn ask_again(&mut self, id: TranslationId, write: bool) -> Translate {
        let miss = self.slots[id.0 as usize].as_mut().expect("what is answered was asked");
        (miss.write, miss.void) = (write, false);
        Translate { id, asid: miss.asid, virt: miss.page, phys: None, write }
    }

    /// All who waited have their answer.
    pub fn close(&mut self, id: TranslationId) {
        self.under_way.fall();
        self.slots[id.0 as usize] = None;
    }

    /// What comes must not be remembered: it is for a request that goes by what is being forgotten.
    pub fn make_void(&mut self, id: TranslationId) {
        self.slots[id.0 as usize].iter_mut().for_each(|miss| miss.void = true);
    }

    /// What comes for pages that this is about must not be remembered.
    pub fn void(&mut self, what: &Shootdown) {
        self.slots
            .iter_mut()
            .flatten()
            .filter(|miss| what.covers(miss.asid, miss.page))
            .for_each(|miss| miss.void = true);
    }

    /// Whether something that was shot down has not come, and will be gone by. What will be asked for again may take as long as a driver
    /// takes, who may wait for the end of the shootdown.
    pub fn has_void(&self) -> bool {
        self.slots.iter().flatten().any(|miss| miss.void && miss.placed)
    }
}

fn id(slot: usize) -> TranslationId {
    TranslationId(u32::try_from(slot).expect("fewer than 2^32 translations are under way"))
}
