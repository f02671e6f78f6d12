//! Accesses through a [`Window`]; while there is one, all accesses take this path.

use super::{
    AddressSpace, DIRECT_MAP, HUGE_PAGE, PAGE, USER_END,
    space::Backed,
    table::{self, Entry},
    window::{Spot, Window},
};
use mem::{Block, LINE, LineAddr, PhysAddr, VirtAddr};
use x86::{Access, Stop};

impl AddressSpace {
    /// Lays the memory out for timed cores that will use it later. The tables get the kernel's direct map
    /// ([`DIRECT_MAP`]), pages of devices' memory are mapped at allocation, and the shared page of zeros is not used.
    /// So a program that runs functionally first gets the physical addresses that it would have in a timed run.
    pub fn expect_cores(&mut self) {
        if std::mem::replace(&mut self.for_cores, true) {
            return;
        }
        // Small and huge pages, allocated in any order, reach at most twice as far as the limit.
        let reach = 2 * self.physical.limit().0 + 2 * HUGE_PAGE;
        for page in (0..reach).step_by(HUGE_PAGE as usize) {
            let entry = Entry(page | Entry::PRESENT | Entry::WRITABLE | Entry::NO_EXECUTE);
            if table::map_huge(&mut self.physical, self.root, VirtAddr(DIRECT_MAP + page), entry).is_none() {
                break;
            }
        }
    }

    /// From now on the stores of `agents` agents are pending until they are performed.
    pub fn open_window(&mut self, agents: usize) {
        self.expect_cores();
        let nowhere = self.nowhere();
        self.tlb = super::tlb::Tlb::new(nowhere);
        self.physical.window = Some(Box::new(Window::new(agents, nowhere)));
    }

    pub fn window(&mut self) -> Option<&mut Window> {
        self.physical.window.as_deref_mut()
    }

    pub(super) fn has_window(&self) -> bool {
        self.physical.window.is_some()
    }

    /// Makes an agent's oldest store visible to all agents. A store with an empty mask is ignored.
    ///
    /// # Panics If it is not the agent's oldest store: the caller has performed stores out of order.
    pub fn perform(&mut self, agent: usize, line: LineAddr, data: &Block<LINE>) {
        if data.mask().is_empty() {
            return;
        }
        self.arrived(line, data);
        if let Some(window) = &mut self.physical.window
            && window.performed(agent, line, data)
        {
            self.code_changed();
        }
    }

    /// Writes a line that a device had changed to the image: all CPU agents see these bytes from now on.
    pub fn arrived(&mut self, line: LineAddr, data: &Block<LINE>) {
        for (start, count) in data.mask().pieces() {
            self.physical.frames.write(PhysAddr(line.0 + start as u64), &data.bytes()[start..start + count]);
        }
    }

    /// Called when all stores of the kernel for its last caller have been performed. Returns the ranges whose
    /// translation has changed.
    pub fn leave_kernel(&mut self) -> Vec<(u64, u64)> {
        let changed = self.window().map(Window::leave_kernel).unwrap_or_default();
        if changed.iter().any(|(start, end)| self.holds_code_in(*start, *end)) {
            self.code_changed();
        }
        changed
    }

    /// The physical address of a fetched instruction.
    pub fn code_place(&mut self, rip: u64) -> Result<PhysAddr, Stop> {
        Ok(self.spot(rip, Access::Execute)?.place(rip))
    }

    /// Translates an address, by the cached translations or the page tables.
    fn spot(&mut self, address: u64, access: Access) -> Result<Spot, Stop> {
        let page = address / PAGE;
        let window = self.physical.window.as_ref().expect("only a window asks for spots");
        if let Some(spot) = window.find(page)
            && (access != Access::Write || spot.writable)
        {
            return Ok(spot);
        }
        let leaf = self.leaf(address, access)?;
        let Backed { phys, frame, offset } = self.backed(leaf, address);
        // A write to code must be noticed, so it never hits the cache.
        let writable = access == Access::Write && !self.holds_code(page);
        let spot = Spot::new(page, phys, (frame, offset), writable);
        if let Some(window) = &mut self.physical.window {
            window.remember(spot);
        }
        Ok(spot)
    }

    pub(super) fn load_seen(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Stop> {
        let all = bytes.len();
        let mut done = 0;
        while done < all {
            let at = address.wrapping_add(done as u64);
            let count = ((PAGE - at % PAGE) as usize).min(all - done);
            let access = self.physical.window.as_ref().map_or(Access::Read, |window| window.load_access());
            let spot = self.spot(at, access)?;
            let super::Physical { window: Some(window), frames, .. } = &mut self.physical else { break };
            if window.stops_at(spot, at, all - done) || !window.load(frames, spot, at, &mut bytes[done..done + count]) {
                return Err(Stop::Wait);
            }
            done += count;
        }
        Ok(())
    }

    /// Notes that a line is to be written back and dropped. Its bytes are not looked at, wherever they are.
    pub(super) fn flush_seen(&mut self, address: u64) -> Result<(), Stop> {
        let spot = self.spot(address, Access::Read)?;
        if let Some(window) = &mut self.physical.window {
            window.note_flush(spot, address);
        }
        Ok(())
    }

    /// Stores bytes. On a fault, bytes in earlier pages have been stored.
    pub(super) fn store_seen(&mut self, address: u64, bytes: &[u8]) -> Result<(), Stop> {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let count = ((PAGE - at % PAGE) as usize).min(bytes.len() - done);
            let spot = self.spot(at, Access::Write)?;
            let code = !spot.writable && self.holds_code(at / PAGE);
            if code {
                self.code_changed();
            }
            let Some(window) = &mut self.physical.window else { break };
            if window.stops_at(spot, at, bytes.len() - done) {
                return Err(Stop::Wait);
            }
            window.store(spot, at, &bytes[done..done + count], code);
            done += count;
        }
        Ok(())
    }

    /// Checks that all of these bytes could be stored.
    pub(super) fn probe_seen(&mut self, address: u64, bytes: u64) -> Result<(), Stop> {
        let mut done = 0;
        while done < bytes {
            let at = address.wrapping_add(done);
            let spot = self.spot(at, Access::Write)?;
            let window = self.physical.window.as_mut().expect("it has just been asked");
            if window.stops_at(spot, at, (bytes - done) as usize) {
                return Err(Stop::Wait);
            }
            done += PAGE - at % PAGE;
        }
        Ok(())
    }

    pub(super) fn fetch_seen(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop> {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let leaf = match self.leaf(at, Access::Execute) {
                Ok(leaf) => leaf,
                Err(stop) if done == 0 => return Err(stop),
                Err(_) => break,
            };
            let page = at / PAGE;
            self.note_code(page);
            if let Some(window) = &mut self.physical.window {
                window.forget_page(page);
            }
            let count = ((PAGE - at % PAGE) as usize).min(bytes.len() - done);
            self.physical.read(leaf.place(VirtAddr(at)), &mut bytes[done..done + count]);
            done += count;
        }
        Ok(done)
    }

    /// The page of an address: for a program, as a core finds it in the tables; for the kernel, after handling a page
    /// fault.
    pub(super) fn leaf(&mut self, address: u64, access: Access) -> Result<super::Leaf, Stop> {
        if address >= USER_END {
            return Err(Stop::PageFault { address, access, present: false });
        }
        if self.physical.window.as_ref().is_some_and(|window| window.is_program()) {
            return self.present(address, access);
        }
        self.page(address, access).map_err(|why| why.stop(address, access))
    }
}
