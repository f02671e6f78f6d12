//! What a kernel may touch: the regions of memory that have been set aside for it.
//!
//! Stands where a machine without virtual memory has nothing to say no: an access outside is an error of the kernel, found
//! before it reaches a cache.

use gcn3::error::{Access, Fault};
use mem::{Bytes, VirtAddr};

/// Regions by address.
#[derive(Clone, Debug, Default)]
pub struct AddressMap {
    /// First address, first address behind, whether it can be written.
    regions: Vec<(u64, u64, bool)>,
}

impl AddressMap {
    pub fn new(regions: impl Iterator<Item = (VirtAddr, Bytes, bool)>) -> Self {
        let mut regions: Vec<_> = regions.map(|(base, size, writable)| (base.0, base.0 + size.0, writable)).collect();
        regions.sort_unstable();
        Self { regions }
    }

    /// First addresses and first addresses behind.
    pub fn regions(&self) -> impl Iterator<Item = (u64, u64)> {
        self.regions.iter().map(|(start, end, _)| (*start, *end))
    }

    /// Whether so many bytes may be accessed here.
    pub fn check(&self, access: Access, address: u64, bytes: u64, lane: Option<u8>) -> Result<(), Fault> {
        let behind = self.regions.partition_point(|(start, ..)| *start <= address);
        let region = behind.checked_sub(1).map(|place| self.regions[place]);
        match region {
            Some((_, end, writable)) if address.checked_add(bytes).is_some_and(|last| last <= end) => {
                match writable || access == Access::Load {
                    true => Ok(()),
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
    fn an_access_must_lie_in_one_region_that_allows_it() {
        let map = AddressMap::new([(VirtAddr(64), Bytes(64), true), (VirtAddr(256), Bytes(4), false)].into_iter());
        assert_eq!(map.check(Access::Store, 124, 4, None), Ok(()));
        assert!(matches!(map.check(Access::Load, 125, 4, None), Err(Fault::Unmapped { .. })));
        assert_eq!(map.check(Access::Load, 256, 4, None), Ok(()));
        assert!(matches!(map.check(Access::Store, 256, 4, None), Err(Fault::ReadOnly { .. })));
        assert!(matches!(map.check(Access::Load, 0, 4, None), Err(Fault::Unmapped { .. })));
        assert!(matches!(map.check(Access::Load, u64::MAX, 4, None), Err(Fault::Unmapped { .. })));
    }
}
