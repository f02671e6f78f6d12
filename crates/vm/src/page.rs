//! Pages and their translations.

use crate::Mistranslation;
use mem::{Access, Bytes, PhysAddr, Request, VirtAddr};

/// The page sizes: leaves of the lowest level of the tables, and of the one above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageSize {
    /// 4 KiB.
    Small,
    /// 2 MiB.
    Huge,
}

impl PageSize {
    pub const fn bytes(self) -> Bytes {
        match self {
            PageSize::Small => Bytes(4 << 10),
            PageSize::Huge => Bytes(2 << 20),
        }
    }
}

/// Access rights of a page. Every mapped page can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    pub write: bool,
    pub execute: bool,
}

/// The physical address of a page, and its access rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The virtual address of the page's first byte.
    pub page: VirtAddr,
    /// The physical address of the page's first byte.
    pub frame: PhysAddr,
    pub size: PageSize,
    pub rights: Rights,
}

impl Translation {
    /// Whether an address lies in the page.
    pub fn covers(&self, address: VirtAddr) -> bool {
        address.align_down(self.size.bytes()) == self.page
    }

    /// The physical address of a virtual address in the page.
    pub fn place(&self, address: VirtAddr) -> PhysAddr {
        self.frame + address.offset_in(self.size.bytes())
    }

    /// Whether a request agrees with this translation: it has the same physical address, if any, and its access is
    /// allowed.
    pub fn admits(&self, request: &Request) -> Result<(), Mistranslation> {
        let (asid, virt, tables) = (request.asid, request.virt, self.place(request.virt));
        match request.phys {
            Some(requester) if requester != tables => {
                Err(Mistranslation::Differs { asid, virt, requester, tables, size: self.size.bytes() })
            }
            _ if writes(request) && !self.rights.write => Err(Mistranslation::ReadOnly { asid, virt }),
            _ => Ok(()),
        }
    }
}

/// Whether a request needs the right to write.
pub(crate) fn writes(request: &Request) -> bool {
    !matches!(request.access, Access::Load | Access::Invalidate | Access::Flush)
}
