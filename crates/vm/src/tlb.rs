//! A TLB: translations by address space and page, in sets of ways (`[giles Fig. 3.13]`). It knows no time.
//!
//! Pages of both sizes share the sets; a look-up tries each size that is present. A read-only entry may have become
//! writable in the tables. A write therefore drops such an entry and looks the page up again, as a processor does on
//! the fault.

use crate::{PageSize, ShapeError, Shootdown, Translation};
use mem::{Asid, Sets, VirtAddr};
use rustc_hash::FxHashMap;

/// Entries and associativity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbSpec {
    /// 0 with `ways` 0: any number of translations.
    sets: usize,
    ways: usize,
}

impl TlbSpec {
    /// A TLB without a limit.
    pub const UNLIMITED: TlbSpec = TlbSpec { sets: 0, ways: 0 };

    /// `entries` in sets of `ways`; fully associative if both are equal.
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

    pub(crate) fn entries(self) -> usize {
        self.sets * self.ways
    }

    pub(crate) fn build<E>(self) -> Sets<E> {
        Sets::new(self.sets, self.ways)
    }
}

/// A table of translations.
pub struct Tlb {
    entries: Entries,
    /// How many of the entries are huge pages.
    huge: usize,
}

enum Entries {
    Sets(Sets<(Asid, Translation)>),
    /// Never iterated, except to drop entries.
    Unlimited(FxHashMap<(Asid, VirtAddr, PageSize), Translation>),
}

impl Tlb {
    pub fn new(spec: TlbSpec) -> Tlb {
        let entries = match spec {
            TlbSpec::UNLIMITED => Entries::Unlimited(FxHashMap::default()),
            _ => Entries::Sets(spec.build()),
        };
        Tlb { entries, huge: 0 }
    }

    /// The translation of an address, if it is present.
    pub fn look_up(&mut self, asid: Asid, address: VirtAddr) -> Option<Translation> {
        let huge = if self.huge > 0 { self.look_up_sized(asid, address, PageSize::Huge) } else { None };
        huge.or_else(|| self.look_up_sized(asid, address, PageSize::Small))
    }

    fn look_up_sized(&mut self, asid: Asid, address: VirtAddr, size: PageSize) -> Option<Translation> {
        let page = address.align_down(size.bytes());
        match &mut self.entries {
            Entries::Sets(sets) => sets.look_up(number(page, size), meant(asid, page, size)).map(|(_, entry)| *entry),
            Entries::Unlimited(entries) => entries.get(&(asid, page, size)).copied(),
        }
    }

    /// Inserts a translation and replaces what was known about its page. Returns the evicted entry.
    pub fn insert(&mut self, asid: Asid, translation: Translation) -> Option<(Asid, Translation)> {
        self.forget(Shootdown::Page { asid, virt: translation.page });
        let Translation { page, size, .. } = translation;
        let gone = match &mut self.entries {
            Entries::Sets(sets) => sets.put(number(page, size), (asid, translation)),
            Entries::Unlimited(entries) => {
                entries.insert((asid, page, size), translation);
                None
            }
        };
        let is_huge = |entry: &Translation| usize::from(entry.size == PageSize::Huge);
        self.huge += is_huge(&translation);
        self.huge -= gone.as_ref().map_or(0, |(_, entry)| is_huge(entry));
        gone
    }

    /// Drops the entries that a shootdown affects; returns how many.
    pub fn forget(&mut self, what: Shootdown) -> usize {
        if let Shootdown::Page { asid, virt } = what {
            return [PageSize::Small, PageSize::Huge].map(|size| self.forget_page(asid, virt, size)).iter().sum();
        }
        let is_huge = |size: PageSize| size == PageSize::Huge;
        match &mut self.entries {
            Entries::Sets(sets) => {
                let gone = sets.retain(|(asid, entry)| !what.covers(*asid, entry.page));
                self.huge = sets.iter().filter(|(_, entry)| is_huge(entry.size)).count();
                gone
            }
            Entries::Unlimited(entries) => {
                let before = entries.len();
                entries.retain(|(asid, page, _), _| !what.covers(*asid, *page));
                self.huge = entries.keys().filter(|(.., size)| is_huge(*size)).count();
                before - entries.len()
            }
        }
    }

    fn forget_page(&mut self, asid: Asid, virt: VirtAddr, size: PageSize) -> usize {
        if size == PageSize::Huge && self.huge == 0 {
            return 0;
        }
        let page = virt.align_down(size.bytes());
        let gone = usize::from(match &mut self.entries {
            Entries::Sets(sets) => sets.remove(number(page, size), meant(asid, page, size)).is_some(),
            Entries::Unlimited(entries) => entries.remove(&(asid, page, size)).is_some(),
        });
        if size == PageSize::Huge {
            self.huge -= gone;
        }
        gone
    }
}

/// Matches the entry of a page.
fn meant(asid: Asid, page: VirtAddr, size: PageSize) -> impl Fn(&(Asid, Translation)) -> bool {
    move |(space, entry)| entry.page == page && entry.size == size && *space == asid
}

/// The number that selects the set of a page.
fn number(page: VirtAddr, size: PageSize) -> u64 {
    page.0 / size.bytes().0
}
