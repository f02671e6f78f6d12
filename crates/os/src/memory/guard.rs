//! Page guards of a driver: an access of the host to a guarded page faults to the driver before it can become a signal.
//!
//! A guard removes some of the rights that the page's area grants, also in the page tables, so that cores see it. The
//! page keeps its frame.

use super::{
    AddressSpace, PAGE,
    area::Rights,
    fault::BadAccess,
    table::{self, Entry},
};
use crate::guest::{Fault, Guard};
use mem::{PhysAddr, VirtAddr};
use x86::Access;

impl Guard {
    fn forbids(self, access: Access) -> bool {
        match self {
            Self::None => false,
            Self::Writes => access == Access::Write,
            Self::All => true,
        }
    }

    /// The rights that remain under this guard.
    fn within(self, rights: Rights) -> Rights {
        match self {
            Self::None => rights,
            Self::Writes if rights.any() => Rights::READ,
            _ => Rights::NONE,
        }
    }
}

impl AddressSpace {
    /// Sets the guard of pages, replacing earlier guards.
    pub(super) fn set_guard(&mut self, start: u64, size: u64, guard: Guard) {
        let (start, end) = (start & !(PAGE - 1), start.saturating_add(size));
        for page in (start..end).step_by(PAGE as usize) {
            match guard {
                Guard::None => _ = self.guards.remove(&page),
                guard => _ = self.guards.insert(page, guard),
            }
        }
        // A page of 2 MiB has one set of rights, so it is split first.
        _ = self.split_at(start).and_then(|()| self.split_at(end));
        let leaves = table::leaves(&self.physical, self.root, start, end);
        for (page, leaf) in &leaves {
            let Some((_, area)) = self.areas.find(*page) else { continue };
            let entry = leaf.entry.with_rights(guard.within(area.rights));
            if entry != leaf.entry {
                self.physical.write_u64(leaf.at, entry.0);
                self.forget(*page, page + leaf.size);
            }
        }
    }

    /// Removes the guards of pages that are unmapped.
    pub(super) fn drop_guards(&mut self, start: u64, end: u64) {
        if !self.guards.is_empty() {
            let pages: Vec<u64> = self.guards.range(start..end).map(|(page, _)| *page).collect();
            pages.iter().for_each(|page| _ = self.guards.remove(page));
        }
    }

    /// The rights of a page under its guard.
    pub(super) fn guarded_rights(&self, address: u64, rights: Rights) -> Rights {
        match self.guards.is_empty() {
            true => rights,
            false => self.guard_of(address).within(rights),
        }
    }

    fn guard_of(&self, address: u64) -> Guard {
        self.guards.get(&(address & !(PAGE - 1))).copied().unwrap_or_default()
    }

    /// Fails and records an access that the page's guard forbids.
    pub(super) fn check_guard(&mut self, address: u64, access: Access) -> Result<(), BadAccess> {
        if !self.guards.is_empty() && self.guard_of(address).forbids(access) {
            self.guarded = Some(Fault { address: VirtAddr(address), write: access == Access::Write });
            return Err(BadAccess::Guarded);
        }
        Ok(())
    }

    pub(crate) fn has_guards(&self) -> bool {
        !self.guards.is_empty()
    }

    /// The number of accessible bytes from an address up to the next guarded page.
    pub(crate) fn unguarded(&self, start: u64, size: u64, access: Access) -> u64 {
        let end = start.saturating_add(size);
        let forbidden = |(_, guard): &(&u64, &Guard)| guard.forbids(access);
        let first = self.guards.range(start & !(PAGE - 1)..end).find(forbidden);
        first.map_or(size, |(page, _)| page.saturating_sub(start))
    }

    /// Takes the last access of the kernel that a guard refused.
    pub(crate) fn take_guarded(&mut self) -> Option<Fault> {
        self.guarded.take()
    }

    /// Records an access that must go to the driver.
    pub(crate) fn note_guarded(&mut self, address: u64, write: bool) {
        self.guarded = Some(Fault { address: VirtAddr(address), write });
    }

    /// The frame of a page, regardless of its guard. A shared frame is copied first, as on a write.
    pub(super) fn frame_beneath(&mut self, address: u64) -> Result<PhysAddr, BadAccess> {
        let leaf = table::find(&self.physical, self.root, VirtAddr(address));
        if let Some(leaf) = leaf.filter(|leaf| !leaf.entry.has(Entry::COPY)) {
            return Ok(leaf.place(VirtAddr(address)));
        }
        let page = address & !(PAGE - 1);
        let guard = self.guards.remove(&page);
        let brought = self.page(address, Access::Write);
        if let Some(guard) = guard {
            self.set_guard(page, PAGE, guard);
        }
        Ok(brought?.place(VirtAddr(address)))
    }
}
