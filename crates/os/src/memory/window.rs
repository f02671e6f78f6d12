//! The memory as each core sees it while stores are pending.
//!
//! On a timed machine a core executes an instruction when it fetches it, long before its stores may become visible to
//! others. The image of memory (the frames) holds the performed stores. An executed store waits in the queue of its
//! agent (a hardware thread of a core) until the first-level cache performs it
//! ([`AddressSpace::perform`](super::AddressSpace)). A load takes each byte from the agent's own youngest store to it,
//! else from the image. The result is total store order. The queues use physical addresses, so aliases need no special
//! care.
//!
//! The kernel works on behalf of an agent, through the same window. Everything that a system call, a page fault or a
//! signal writes, page tables included, becomes stores of that agent, in order. So no other core can find a new page in
//! the tables before the page's bytes are there.
//!
//! A window also records all accesses, split at line borders, so that the timing model can replay them. For pages that
//! devices may write, the image can be out of date: there a callback says first where the newest bytes are ([`Sight`]).

use super::PAGE;
use mem::{Block, FrameId, Frames, LINE, LineAddr, Mask, PhysAddr, VirtAddr};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{VecDeque, hash_map::Entry};
use x86::Access;

/// The virtual address at which the kernel maps all physical memory, as in Linux. Its stores to page tables and fresh
/// pages use these addresses, which programs can't access.
pub const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

/// An access within one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    pub store: bool,
    /// The line's virtual and physical address.
    pub virt: VirtAddr,
    pub phys: PhysAddr,
    /// The bytes of a store; for a load only the mask is meaningful, and a load of no bytes flushes the line.
    pub data: Block<LINE>,
}

/// Where the newest bytes of a line that devices may write are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// In the image.
    Own,
    /// Elsewhere: they must be transferred to the core first.
    Away,
}

/// Tells where the newest bytes of a line are.
pub type Look = Box<dyn Fn(LineAddr) -> Sight>;

/// A line that a load needed and whose bytes are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub virt: VirtAddr,
    pub phys: PhysAddr,
}

/// A cached translation of a virtual page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    page: u64,
    /// The physical address of the page, and its location on the host.
    phys: u64,
    frame: FrameId,
    offset: u32,
    pub writable: bool,
}

impl Spot {
    pub fn new(page: u64, phys: PhysAddr, (frame, offset): (FrameId, u32), writable: bool) -> Spot {
        Spot { page, phys: phys.0, frame, offset, writable }
    }

    pub fn place(&self, address: u64) -> PhysAddr {
        PhysAddr(self.phys + address % PAGE)
    }
}

/// The originator of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The program: a missing page is a page fault.
    Program,
    /// The program, stopped at its first access: only the address of that access is needed.
    Peek,
    /// The kernel on behalf of the program: missing pages are mapped.
    Kernel,
}

/// The number of cached translations, direct-mapped.
const SPOTS: usize = 1024;
const NO_PAGE: u64 = u64::MAX;

pub struct Window {
    queues: Vec<StoreQueue>,
    current: usize,
    mode: Mode,
    touches: Vec<Touch>,
    spots: Vec<Spot>,
    /// Physical pages that devices may write. Never iterated, so its order does not matter.
    shared: FxHashSet<u64>,
    /// Physical pages that devices use, and the number of pins of each. Never iterated.
    pinned: FxHashMap<u64, u32>,
    look: Option<Look>,
    missing: Option<Line>,
    peeked: Option<(Line, bool)>,
    /// Ranges whose translation the kernel has changed since it was entered.
    changed: Vec<(u64, u64)>,
}

impl Window {
    /// A window for `agents` agents; `nowhere` is any existing frame.
    pub(super) fn new(agents: usize, nowhere: FrameId) -> Window {
        let empty = Spot { page: NO_PAGE, phys: 0, frame: nowhere, offset: 0, writable: false };
        Window {
            queues: (0..agents).map(|_| StoreQueue::default()).collect(),
            current: 0,
            mode: Mode::Kernel,
            touches: Vec::new(),
            spots: vec![empty; SPOTS],
            shared: FxHashSet::default(),
            pinned: FxHashMap::default(),
            look: None,
            missing: None,
            peeked: None,
            changed: Vec::new(),
        }
    }

    /// Sets the callback that locates the newest bytes of lines that devices may write.
    pub fn set_look(&mut self, look: Look) {
        self.look = Some(look);
    }

    /// Notes that devices may write this page from now on.
    pub fn share(&mut self, page: PhysAddr) {
        self.shared.insert(page.0 / PAGE);
    }

    /// Notes that a device uses this page, which is not reallocated until [`Window::unpin`], even if the program frees
    /// it.
    pub fn pin(&mut self, page: PhysAddr) {
        *self.pinned.entry(page.0 / PAGE).or_default() += 1;
    }

    pub fn unpin(&mut self, page: PhysAddr) {
        if let Entry::Occupied(mut pins) = self.pinned.entry(page.0 / PAGE) {
            *pins.get_mut() -= 1;
            if *pins.get() == 0 {
                pins.remove();
            }
        }
    }

    /// Notes that devices may no longer write pages that have been freed. Pages are cleared before they are reused.
    pub(super) fn unshare(&mut self, start: PhysAddr, size: u64) {
        if !self.shared.is_empty() {
            (start.0 / PAGE..(start.0 + size) / PAGE).for_each(|page| _ = self.shared.remove(&page));
        }
    }

    /// Called before an agent's next instruction is executed.
    pub fn execute(&mut self, agent: usize) {
        self.turn_to(agent, Mode::Program);
    }

    /// Called before an agent's next instruction is executed only up to its first access.
    pub fn peek(&mut self, agent: usize) {
        self.turn_to(agent, Mode::Peek);
    }

    /// Called when the kernel starts to work on behalf of an agent.
    pub fn enter_kernel(&mut self, agent: usize) {
        self.turn_to(agent, Mode::Kernel);
        self.changed.clear();
    }

    fn turn_to(&mut self, agent: usize, mode: Mode) {
        (self.current, self.mode) = (agent, mode);
        self.touches.clear();
        self.missing = None;
        self.peeked = None;
    }

    /// Called when all stores of the kernel have been performed. Drops translations that were cached from the old
    /// tables meanwhile; returns the changed ranges.
    pub(super) fn leave_kernel(&mut self) -> Vec<(u64, u64)> {
        let changed = std::mem::take(&mut self.changed);
        for (start, end) in &changed {
            self.forget(*start, *end);
        }
        changed
    }

    /// The accesses since the agent's turn began, in order.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// The line whose absence stopped a load.
    pub fn missing(&self) -> Option<Line> {
        self.missing
    }

    /// The line of the access that [`Window::peek`] stopped, and whether the access crosses a line border.
    pub fn peeked(&self) -> Option<(Line, bool)> {
        self.peeked
    }

    /// Whether a device uses a page, or another agent's store to it is pending.
    pub(super) fn is_awaited(&self, page: PhysAddr) -> bool {
        if self.pinned.contains_key(&(page.0 / PAGE)) {
            return true;
        }
        let others = self.queues.iter().enumerate().filter(|(agent, _)| *agent != self.current);
        let mut busy = others.filter(|(_, queue)| !queue.lines.is_empty());
        busy.any(|(_, queue)| (page.0..page.0 + PAGE).step_by(LINE).any(|line| queue.lines.contains_key(&line)))
    }

    /// The number of pending stores of an agent.
    pub fn pending(&self, agent: usize) -> usize {
        self.queues[agent].stores.len()
    }

    /// The access that a load needs its page for. A peeked load belongs to an instruction that will lock the line and
    /// store to it.
    pub(super) fn load_access(&self) -> Access {
        if self.mode == Mode::Peek { Access::Write } else { Access::Read }
    }

    pub(super) fn is_program(&self) -> bool {
        self.mode != Mode::Kernel
    }

    pub(super) fn find(&self, page: u64) -> Option<Spot> {
        let spot = self.spots[page as usize % SPOTS];
        (spot.page == page).then_some(spot)
    }

    /// Caches a translation. Those found by the kernel are not cached: they may depend on stores that only its agent
    /// sees as yet.
    pub(super) fn remember(&mut self, spot: Spot) {
        if self.mode != Mode::Kernel {
            self.spots[spot.page as usize % SPOTS] = spot;
        }
    }

    /// Drops cached translations of the pages that overlap a range of addresses.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        let (first, last) = (start / PAGE, end.saturating_sub(1) / PAGE);
        if last - first < SPOTS as u64 {
            (first..=last).for_each(|page| self.forget_page(page));
        } else {
            self.spots.iter_mut().for_each(|spot| spot.page = NO_PAGE);
        }
    }

    pub(super) fn forget_page(&mut self, page: u64) {
        let spot = &mut self.spots[page as usize % SPOTS];
        if spot.page == page {
            spot.page = NO_PAGE;
        }
    }

    /// Records that the kernel has changed the translation of a range.
    pub(super) fn note_change(&mut self, start: u64, end: u64) {
        self.forget(start, end);
        self.changed.push((start, end));
    }

    /// Stops an access if only its address is needed, and records that address.
    pub(super) fn stops_at(&mut self, spot: Spot, address: u64, bytes: usize) -> bool {
        if self.mode == Mode::Peek {
            let crosses = address % LINE as u64 + bytes as u64 > LINE as u64;
            self.peeked = Some((line(spot, address), crosses));
        }
        self.mode == Mode::Peek
    }

    /// Loads bytes of one page; false if the newest bytes of a line are elsewhere.
    pub(super) fn load(&mut self, frames: &Frames, spot: Spot, address: u64, bytes: &mut [u8]) -> bool {
        let mut done = 0;
        while done < bytes.len() {
            let at = address + done as u64;
            let (inside, count) = piece(at, bytes.len() - done);
            let Line { virt, phys } = line(spot, at);
            let mask = Mask::range(inside, count);
            let pending = self.queues[self.current].lines.get(&phys.0);
            let covered = pending.is_some_and(|pending| mask.without(pending.block.mask()).is_empty());
            let place = spot.offset as usize + (at % PAGE) as usize;
            let is_shared = || !self.shared.is_empty() && self.shared.contains(&(phys.0 / PAGE));
            let is_away = || self.look.as_ref().is_some_and(|look| look(LineAddr(phys.0)) == Sight::Away);
            if !covered && is_shared() && is_away() {
                self.missing = Some(Line { virt, phys });
                return false;
            }
            let part = &mut bytes[done..done + count];
            part.copy_from_slice(&frames.bytes(spot.frame)[place..place + count]);
            if let Some(pending) = pending {
                pending.overlay(inside, part);
            }
            self.touches.push(Touch { store: false, virt, phys, data: Block::zeros(mask) });
            done += count;
        }
        true
    }

    /// Notes that the line of an address is to be flushed: a load of no bytes.
    pub(super) fn note_flush(&mut self, spot: Spot, address: u64) {
        let Line { virt, phys } = line(spot, address);
        self.touches.push(Touch { store: false, virt, phys, data: Block::EMPTY });
    }

    /// Queues a store to one page. `code`: instructions have been fetched from the page.
    pub(super) fn store(&mut self, spot: Spot, address: u64, bytes: &[u8], code: bool) {
        self.push(VirtAddr(address), spot.place(address), bytes, code);
    }

    /// Queues a store of the kernel to a physical address.
    pub(super) fn store_physical(&mut self, at: PhysAddr, bytes: &[u8]) {
        self.push(VirtAddr(DIRECT_MAP + at.0), at, bytes, false);
    }

    /// Overlays the agent's own pending stores on bytes of the image at a physical address.
    pub(super) fn overlay(&self, at: PhysAddr, bytes: &mut [u8]) {
        let queue = &self.queues[self.current];
        if queue.lines.is_empty() {
            return;
        }
        let mut done = 0;
        while done < bytes.len() {
            let place = at.0 + done as u64;
            let (inside, count) = piece(place, bytes.len() - done);
            if let Some(pending) = queue.lines.get(&(place - inside as u64)) {
                pending.overlay(inside, &mut bytes[done..done + count]);
            }
            done += count;
        }
    }

    fn push(&mut self, virt: VirtAddr, phys: PhysAddr, bytes: &[u8], code: bool) {
        let mut done = 0;
        while done < bytes.len() {
            let at = phys.0 + done as u64;
            let (inside, count) = piece(at, bytes.len() - done);
            let data = Block::at(inside, &bytes[done..done + count]);
            let (virt, phys) = (VirtAddr(virt.0 + done as u64 - inside as u64), PhysAddr(at - inside as u64));
            self.queues[self.current].push(Store { line: LineAddr(phys.0), data, code });
            self.touches.push(Touch { store: true, virt, phys, data });
            done += count;
        }
    }

    /// Removes an agent's oldest store, which has been performed; returns whether it was a store to code. Consecutive
    /// stores to one line may have been performed as one.
    pub(super) fn performed(&mut self, agent: usize, line: LineAddr, data: &Block<LINE>) -> bool {
        let (mut all, mut code) = (Block::EMPTY, false);
        while all != *data {
            let Some(store) = self.queues[agent].pop() else {
                panic!("agent {agent} performs a store to {line} that it never executed");
            };
            match all.mask().is_empty() {
                true => all = store.data,
                false => all.write(&store.data),
            }
            code |= store.code;
            let ordered = store.line == line && all.mask().without(data.mask()).is_empty();
            assert!(ordered, "agent {agent} performs a store to {line} before an older one to {}", store.line);
        }
        code
    }
}

/// The line of an address.
fn line(spot: Spot, address: u64) -> Line {
    let inside = address % LINE as u64;
    Line { virt: VirtAddr(address - inside), phys: PhysAddr(spot.place(address).0 - inside) }
}

/// For an access of `bytes` bytes at an address: the offset in its line, and the number of bytes in that line.
fn piece(address: u64, bytes: usize) -> (usize, usize) {
    let inside = (address % LINE as u64) as usize;
    (inside, bytes.min(LINE - inside))
}

/// A store that has been executed but not performed.
struct Store {
    line: LineAddr,
    data: Block<LINE>,
    code: bool,
}

/// The pending stores of an agent, oldest first, and their combined effect.
#[derive(Default)]
struct StoreQueue {
    stores: VecDeque<Store>,
    /// By line address. Never iterated.
    lines: FxHashMap<u64, Pending>,
}

/// The combined bytes of the pending stores to a line, and the number of stores.
struct Pending {
    block: Block<LINE>,
    count: usize,
}

impl Pending {
    /// Overlays these bytes on a buffer that begins at offset `inside` of the line.
    fn overlay(&self, inside: usize, bytes: &mut [u8]) {
        for place in self.block.mask().and(Mask::range(inside, bytes.len())).iter() {
            bytes[place - inside] = self.block.bytes()[place];
        }
    }
}

impl StoreQueue {
    fn push(&mut self, store: Store) {
        let add = |pending: &mut Pending| {
            pending.block.write(&store.data);
            pending.count += 1;
        };
        self.lines.entry(store.line.0).and_modify(add).or_insert(Pending { block: store.data, count: 1 });
        self.stores.push_back(store);
    }

    fn pop(&mut self) -> Option<Store> {
        let store = self.stores.pop_front()?;
        let pending = self.lines.get_mut(&store.line.0).expect("a line with a store has its bytes");
        pending.count -= 1;
        if pending.count == 0 {
            self.lines.remove(&store.line.0);
            return Some(store);
        }
        // The removed store's bytes disappear, except where younger stores to the line wrote them.
        pending.block = Block::EMPTY;
        let others = self.stores.iter().filter(|other| other.line == store.line).take(pending.count);
        others.for_each(|other| pending.block.write(&other.data));
        Some(store)
    }
}
