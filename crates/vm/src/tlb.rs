//! A TLB: translations by address space and page, in sets of ways (`[giles Fig. 3.13]`). No time.
//!
//! Pages of both sizes share the sets; a look-up tries each size that is there. What is read-only in it may have become writable
//! since: who wants to write forgets such an entry and looks it up anew, as a processor does on the fault that follows.

use crate::{PageSize, ShapeError, Shootdown, Translation};
use mem::{Asid, Sets, VirtAddr};

/// How many translations, and in which sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbSpec {
    sets: usize,
    ways: usize,
}

impl TlbSpec {
    /// `entries` in sets of `ways`. As many ways as entries: fully associative.
    pub fn new(entries: usize, ways: usize) -> Result<TlbSpec, ShapeError> {
        if entries == 0 || ways == 0 || !entries.is_multiple_of(ways) {
            return Err(ShapeError::Uneven { entries, ways });
        }
        let sets = entries / ways;
        if !sets.is_power_of_two() {
            return Err(ShapeError::Sets { entries, ways, sets });
        }
        Ok(TlbSpec { sets, ways })
    }

    pub(crate) fn build<E>(self) -> Sets<E> {
        Sets::new(self.sets, self.ways)
    }
}

/// A table of translations.
pub struct Tlb {
    entries: Sets<(Asid, Translation)>,
    /// How many of them are huge.
    huge: usize,
}

impl Tlb {
    pub fn new(spec: TlbSpec) -> Tlb {
        Tlb { entries: spec.build(), huge: 0 }
    }

    /// The translation of an address, if it is here.
    pub fn look_up(&mut self, asid: Asid, address: VirtAddr) -> Option<Translation> {
        let huge = if self.huge > 0 { self.look_up_sized(asid, address, PageSize::Huge) } else { None };
        huge.or_else(|| self.look_up_sized(asid, address, PageSize::Small))
    }

    fn look_up_sized(&mut self, asid: Asid, address: VirtAddr, size: PageSize) -> Option<Translation> {
        let page = address.align_down(size.bytes());
        let meant = |(space, entry): &(Asid, Translation)| entry.page == page && entry.size == size && *space == asid;
        self.entries.look_up(number(page, size), meant).map(|(_, entry)| *entry)
    }

    /// Puts a translation in, in place of what was known about its page. Says whether another had to go.
    pub fn insert(&mut self, asid: Asid, translation: Translation) -> bool {
        self.forget(Shootdown::Page { asid, virt: translation.page });
        let gone = self.entries.put(number(translation.page, translation.size), (asid, translation));
        let is_huge = |entry: &Translation| usize::from(entry.size == PageSize::Huge);
        self.huge += is_huge(&translation);
        self.huge -= gone.as_ref().map_or(0, |(_, entry)| is_huge(entry));
        gone.is_some()
    }

    /// Forgets what a shootdown is about; says how many entries that were.
    pub fn forget(&mut self, what: Shootdown) -> usize {
        let entries = match what {
            Shootdown::Page { asid, virt } => {
                return [PageSize::Small, PageSize::Huge].map(|size| self.forget_page(asid, virt, size)).iter().sum();
            }
            _ => self.entries.retain(|(asid, entry)| !what.covers(*asid, entry.page)),
        };
        self.huge = self.entries.iter().filter(|(_, entry)| entry.size == PageSize::Huge).count();
        entries
    }

    fn forget_page(&mut self, asid: Asid, virt: VirtAddr, size: PageSize) -> usize {
        let page = virt.align_down(size.bytes());
        let meant = |(space, entry): &(Asid, Translation)| entry.page == page && entry.size == size && *space == asid;
        let gone = usize::from(self.entries.remove(number(page, size), meant).is_some());
        if size == PageSize::Huge {
            self.huge -= gone;
        }
        gone
    }
}

/// What picks the set of a page.
fn number(page: VirtAddr, size: PageSize) -> u64 {
    page.0 / size.bytes().0
}
