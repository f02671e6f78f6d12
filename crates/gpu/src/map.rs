//! The regions of memory that a kernel may access.
//!
//! On machines without virtual memory, this check replaces it: an access outside is an error of the kernel, found
//! before it reaches a cache. For a kernel that runs in the memory of a process, the map also translates addresses.

use gcn3::error::{Access, Fault};
use mem::{Asid, Bytes, PAGE, PhysAddr, VirtAddr};
use std::ops::Range;

/// Regions, sorted by address.
#[derive(Clone, Debug, Default)]
pub struct AddressMap {
    /// Start, end (exclusive) and whether the region is writable.
    regions: Vec<(u64, u64, bool)>,
    /// First virtual address, first physical address and size of each piece. Empty: physical and virtual addresses are
    /// equal.
    pieces: Vec<(u64, u64, u64)>,
    /// The address space, and whether only an MMU knows the physical addresses.
    asid: Asid,
    moves: bool,
}

impl AddressMap {
    pub fn new(regions: impl Iterator<Item = (VirtAddr, Bytes, bool)>) -> Self {
        let mut regions: Vec<_> = regions.map(|(base, size, writable)| (base.0, base.0 + size.0, writable)).collect();
        regions.sort_unstable();
        Self { regions, pieces: Vec::new(), ..Self::default() }
    }

    /// Regions of an address space whose pages may move while a kernel runs: an MMU translates each access.
    pub fn of_space(asid: Asid, regions: impl Iterator<Item = (VirtAddr, Bytes, bool)>) -> Self {
        Self { asid, moves: true, ..Self::new(regions) }
    }

    /// The address space of the requests, and the physical address, if it is known.
    pub fn locate(&self, address: VirtAddr) -> (Asid, Option<PhysAddr>) {
        (self.asid, (!self.moves).then(|| self.place(address)))
    }

    /// The same regions in address space `asid`, which may map these addresses to other pages than other spaces.
    pub fn in_space(self, asid: Asid) -> Self {
        Self { asid, ..self }
    }

    /// Pages of a process: virtual address, physical address, size, whether it is writable.
    pub fn of_pages(pages: impl Iterator<Item = (VirtAddr, PhysAddr, Bytes, bool)>) -> Self {
        let mut pages: Vec<_> = pages.collect();
        pages.sort_unstable();
        let mut map = Self::default();
        for (virt, phys, size, writable) in pages {
            match map.regions.last_mut() {
                Some((_, end, same)) if *end == virt.0 && *same == writable => *end += size.0,
                _ => map.regions.push((virt.0, virt.0 + size.0, writable)),
            }
            match map.pieces.last_mut() {
                Some((start, place, all)) if *start + *all == virt.0 && *place + *all == phys.0 => *all += size.0,
                _ => map.pieces.push((virt.0, phys.0, size.0)),
            }
        }
        map
    }

    /// The physical address of a virtual one. An address outside all pieces is returned unchanged.
    pub fn place(&self, address: VirtAddr) -> PhysAddr {
        let behind = self.pieces.partition_point(|(start, ..)| *start <= address.0);
        match behind.checked_sub(1).map(|piece| self.pieces[piece]) {
            Some((start, place, size)) if address.0 - start < size => PhysAddr(place + (address.0 - start)),
            _ => PhysAddr(address.0),
        }
    }

    /// The address space of the requests.
    pub fn space(&self) -> Asid {
        self.asid
    }

    /// The pages of all regions: the first virtual and the first physical address, and whether it is writable. A page
    /// on a border of regions comes for each of them.
    pub fn pages(&self) -> impl Iterator<Item = (VirtAddr, PhysAddr, bool)> {
        self.regions.iter().flat_map(|(start, end, writable)| {
            let pages = (start / PAGE * PAGE..*end).step_by(PAGE as usize);
            pages.map(|page| (VirtAddr(page), self.place(VirtAddr(page)), *writable))
        })
    }

    /// Start and end (exclusive) of each region.
    pub fn regions(&self) -> impl Iterator<Item = (u64, u64)> {
        self.regions.iter().map(|(start, end, _)| (*start, *end))
    }

    /// Checks whether `bytes` bytes may be accessed at an address; returns the region that they lie in.
    pub fn check(&self, access: Access, address: u64, bytes: u64, lane: Option<u8>) -> Result<Range<u64>, Fault> {
        let behind = self.regions.partition_point(|(start, ..)| *start <= address);
        let region = behind.checked_sub(1).map(|place| self.regions[place]);
        match region {
            Some((start, end, writable)) if address.checked_add(bytes).is_some_and(|last| last <= end) => {
                match writable || access == Access::Load {
                    true => Ok(start..end),
                    false => Err(Fault::ReadOnly { access, address, lane }),
                }
            }
            _ => Err(Fault::Unmapped { access, address, bytes, lane }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_where_they_lie() {
        let page = |virt, phys, writable| (VirtAddr(virt), PhysAddr(phys), Bytes(0x1000), writable);
        let map = AddressMap::of_pages(
            [page(0x3000, 0x9000, true), page(0x1000, 0x5000, true), page(0x2000, 0x8000, true)].into_iter(),
        );
        let places = [0x1040, 0x2fff, 0x3000].map(|address| map.place(VirtAddr(address)).0);
        assert_eq!(places, [0x5040, 0x8fff, 0x9000]);
        assert_eq!(map.regions().collect::<Vec<_>>(), [(0x1000, 0x4000)]);
        let pages: Vec<_> = map.pages().map(|(virt, phys, writable)| (virt.0, phys.0, writable)).collect();
        assert_eq!(pages, [(0x1000, 0x5000, true), (0x2000, 0x8000, true), (0x3000, 0x9000, true)]);
        assert_eq!(map.check(Access::Store, 0x1fff, 2, None), Ok(0x1000..0x4000));
        assert!(map.check(Access::Load, 0x4000, 1, None).is_err());
    }

    #[test]
    fn without_pages_an_address_is_its_own_place() {
        let map = AddressMap::new([(VirtAddr(64), Bytes(64), true)].into_iter());
        assert_eq!(map.place(VirtAddr(100)), PhysAddr(100));
    }

    #[test]
    fn an_access_must_lie_in_one_region_that_allows_it() {
        let map = AddressMap::new([(VirtAddr(64), Bytes(64), true), (VirtAddr(256), Bytes(4), false)].into_iter());
        assert_eq!(map.check(Access::Store, 124, 4, None), Ok(64..128));
        assert!(matches!(map.check(Access::Load, 125, 4, None), Err(Fault::Unmapped { .. })));
        assert_eq!(map.check(Access::Load, 256, 4, None), Ok(256..260));
        assert!(matches!(map.check(Access::Store, 256, 4, None), Err(Fault::ReadOnly { .. })));
        assert!(matches!(map.check(Access::Load, 0, 4, None), Err(Fault::Unmapped { .. })));
        assert!(matches!(map.check(Access::Load, u64::MAX, 4, None), Err(Fault::Unmapped { .. })));
    }
}
