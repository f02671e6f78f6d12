//! Outstanding misses: translations that have been requested from below.

use crate::{PageSize, Shootdown, Translate, TranslationId};
use engine::{Context, Lane, Level, Scope};
use interconnect::Sender;
use mem::{Asid, PhysAddr, VirtAddr};
use rustc_hash::FxHashMap;

/// A page that is being looked up below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    pub asid: Asid,
    /// Aligned to 4 KiB, also if the address lies in a huge page.
    pub page: VirtAddr,
    /// Whether the page was requested for a write.
    pub write: bool,
    /// Whether the requester has a physical address of its own and uses it. Otherwise it uses the one in the answer.
    pub placed: bool,
    /// Whether the page has been shot down since. The answer must not be cached; if the requester depends on it, the
    /// page is requested again.
    pub void: bool,
}

impl Miss {
    /// Whether the answer must be discarded and the page requested again.
    pub fn is_stale(&self) -> bool {
        self.void && !self.placed
    }
}

/// The state of a page in a TLB and its outstanding misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// The translation is in the TLB.
    Known,
    Nothing,
    UnderWay(TranslationId),
    /// The page was shot down while it was looked up: it can be requested again when the answer has arrived.
    Void,
}

/// The outstanding misses, up to a maximum number.
pub(crate) struct Misses {
    slots: Vec<Option<Miss>>,
    /// The slot of each page that is being looked up. Never iterated.
    of_page: FxHashMap<(Asid, VirtAddr), usize>,
    free: Vec<usize>,
    under_way: Level,
}

impl Misses {
    pub fn new(count: usize, scope: &Scope) -> Misses {
        let under_way = scope.level("misses_under_way");
        Misses { slots: vec![None; count], of_page: FxHashMap::default(), free: (0..count).rev().collect(), under_way }
    }

    /// Tells the report on a run that makes no progress that translations are awaited from `below`.
    pub fn explain(&self, cx: &Context, below: &Sender<Translate>) {
        let count = self.slots.iter().flatten().count();
        if count > 0 {
            cx.needs_of_receiver(format!("{count} translations"), below.outlet(), Lane::Request);
        }
    }

    /// Whether the page of an address is being looked up, and under which number.
    pub fn find(&self, asid: Asid, address: VirtAddr) -> Search {
        let page = address.align_down(PageSize::Small.bytes());
        match self.of_page.get(&(asid, page)).copied() {
            Some(slot) if self.slots[slot].is_some_and(|miss| miss.void && miss.placed) => Search::Void,
            Some(slot) => Search::UnderWay(id(slot)),
            None => Search::Nothing,
        }
    }

    /// Records a miss for the page of an address; returns the request to send below, or `None` if there is no room.
    pub fn open(&mut self, asid: Asid, address: VirtAddr, phys: Option<PhysAddr>, write: bool) -> Option<Translate> {
        let free = self.free.pop()?;
        let page = address.align_down(PageSize::Small.bytes());
        self.of_page.insert((asid, page), free);
        self.slots[free] = Some(Miss { asid, page, write, placed: phys.is_some(), void: false });
        self.under_way.rise();
        let phys = phys.map(|phys| phys.align_down(PageSize::Small.bytes()));
        Some(Translate { id: id(free), asid, virt: page, phys, write })
    }

    /// The miss that an answer belongs to.
    pub fn get(&self, id: TranslationId) -> Miss {
        self.slots[id.0 as usize].expect("what is answered was asked")
    }

    /// The answer was read-only: returns the request to send for requests that write.
    pub fn ask_to_write(&mut self, id: TranslationId, phys: Option<PhysAddr>) -> Translate {
        let miss = self.slots[id.0 as usize].as_mut().expect("what is answered was asked");
        miss.write = true;
        Translate { id, asid: miss.asid, virt: miss.page, phys, write: true }
    }

    /// The page was unmapped while it was looked up: returns the request to send for requests that still need it.
    /// The next answer is valid again.
    pub fn ask_again(&mut self, id: TranslationId, write: bool) -> Translate {
        let miss = self.slots[id.0 as usize].as_mut().expect("what is answered was asked");
        (miss.write, miss.void) = (write, false);
        Translate { id, asid: miss.asid, virt: miss.page, phys: None, write }
    }

    /// All requests that waited have their answer.
    pub fn close(&mut self, id: TranslationId) {
        self.under_way.fall();
        let slot = id.0 as usize;
        if let Some(miss) = self.slots[slot].take() {
            self.of_page.remove(&(miss.asid, miss.page));
            self.free.push(slot);
        }
    }

    /// Marks a miss whose answer must not be cached, because its request uses a translation that is being shot down.
    pub fn make_void(&mut self, id: TranslationId) {
        self.slots[id.0 as usize].iter_mut().for_each(|miss| miss.void = true);
    }

    /// Marks the misses that a shootdown affects: their answers must not be cached.
    pub fn void(&mut self, what: &Shootdown) {
        self.slots
            .iter_mut()
            .flatten()
            .filter(|miss| what.covers(miss.asid, miss.page))
            .for_each(|miss| miss.void = true);
    }

    /// Whether the answer to a shot-down miss is awaited for a requester that uses its own physical address. Other
    /// shot-down misses do not count: they ask again, and the answer may need a driver that waits for the end of this
    /// shootdown.
    pub fn has_void(&self) -> bool {
        self.slots.iter().flatten().any(|miss| miss.void && miss.placed)
    }
}

fn id(slot: usize) -> TranslationId {
    TranslationId(u32::try_from(slot).expect("fewer than 2^32 translations are under way"))
}
