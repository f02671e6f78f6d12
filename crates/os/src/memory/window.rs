//! What cores see of memory while their stores are on their way.
//!
//! On a machine in time a core executes an instruction when it fetches it, long before its stores may be seen by others.
//! The image of memory (the frames) holds what has been performed. An executed store waits in the queue of its agent, a
//! hardware thread of a core, until its first-level cache performs it ([`AddressSpace::perform`](super::AddressSpace)); loads
//! take each byte from the agent's own youngest store to it, else from the image. That is total store order. The queues go
//! by physical address, so aliases need no care.
//!
//! The kernel works on behalf of an agent, through the same window: whatever a system call, a page fault or a signal writes,
//! page tables included, becomes stores of that agent, in order. So no other core can find a new page in the tables before
//! the page's bytes are there.
//!
//! A window also notes what was touched, cut at the borders of lines, for whoever gives these accesses time. Of pages that
//! devices may write, the image can be out of date: there somebody who knows is asked first ([`Sight`]).

use super::PAGE;
use mem::{Block, FrameId, Frames, LINE, LineAddr, Mask, PhysAddr, VirtAddr};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{VecDeque, hash_map::Entry};
use x86::Access;

/// Where the kernel sees all physical memory, as under Linux: the virtual addresses of its stores to page tables and fresh
/// pages. Programs can't go there.
pub const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

/// An access within one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    pub store: bool,
    /// The line, by both its names.
    pub virt: VirtAddr,
    pub phys: PhysAddr,
    /// A store's bytes; of a load the mask counts.
    pub data: Block<LINE>,
}

/// Where the newest bytes of a line are that devices may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The image has them.
    Own,
    /// They have to come to the core first.
    Away,
}

/// Who knows where the newest bytes of a line are.
pub type Look = Box<dyn Fn(LineAddr) -> Sight>;

/// A line that a load found away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub virt: VirtAddr,
    pub phys: PhysAddr,
}

/// Where a virtual page is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    page: u64,
    /// The physical address of the page, and its place on the host.
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

/// Who does the accesses that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The program: pages must be there.
    Program,
    /// The program, which is to be stopped at its first access: where that goes is all that is asked.
    Peek,
    /// The kernel for the program: pages are brought in.
    Kernel,
}

/// Translations, direct-mapped.
const SPOTS: usize = 1024;
const NO_PAGE: u64 = u64::MAX;

pub struct Window {
    queues: Vec<StoreQueue>,
    current: usize,
    mode: Mode,
    touches: Vec<Touch>,
    spots: Vec<Spot>,
    /// Physical pages that devices may write. Looked up, never walked.
    shared: FxHashSet<u64>,
    /// Physical pages that devices work on, and how many do. Looked up, never walked.
    pinned: FxHashMap<u64, u32>,
    look: Option<Look>,
    missing: Option<Line>,
    peeked: Option<(Line, bool)>,
    /// Ranges whose translation the kernel has changed since it was entered.
    changed: Vec<(u64, u64)>,
}

impl Window {
    /// A window for so many agents; `nowhere` is any frame that exists.
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

    /// Whom to ask about pages that devices may write.
    pub fn set_look(&mut self, look: Look) {
        self.look = Some(look);
    }

    /// Devices may write this page from now on.
    pub fn share(&mut self, page: PhysAddr) {
        self.shared.insert(page.0 / PAGE);
    }

    /// A device works on this page: whatever the program does with it, nobody else gets it before that is over.
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

    /// Devices may no longer write pages that have been given back: before they are used again they are cleared.
    pub(super) fn unshare(&mut self, start: PhysAddr, size: u64) {
        if !self.shared.is_empty() {
            (start.0 / PAGE..(start.0 + size) / PAGE).for_each(|page| _ = self.shared.remove(&page));
        }
    }

    /// An agent's next instruction is to be executed.
    pub fn execute(&mut self, agent: usize) {
        self.turn_to(agent, Mode::Program);
    }

    /// An agent's next instruction is to be stopped at its first access.
    pub fn peek(&mut self, agent: usize) {
        self.turn_to(agent, Mode::Peek);
    }

    /// The kernel works for an agent from now on.
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

    /// What the kernel has written has been performed: what agents have remembered of the tables meanwhile may be out of date.
    pub(super) fn leave_kernel(&mut self) -> Vec<(u64, u64)> {
        let changed = std::mem::take(&mut self.changed);
        for (start, end) in &changed {
            self.forget(*start, *end);
        }
        changed
    }

    /// What has been touched since the agent's turn began, in order.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// The line that stopped a load.
    pub fn missing(&self) -> Option<Line> {
        self.missing
    }

    /// Where the first access goes that was stopped by [`Window::peek`], and whether it crosses the border of a line.
    pub fn peeked(&self) -> Option<(Line, bool)> {
        self.peeked
    }

    /// Whether a device works on a page, or a store to it waits that is not the current agent's.
    pub(super) fn is_awaited(&self, page: PhysAddr) -> bool {
        if self.pinned.contains_key(&(page.0 / PAGE)) {
            return true;
        }
        let others = self.queues.iter().enumerate().filter(|(agent, _)| *agent != self.current);
        let mut busy = others.filter(|(_, queue)| !queue.lines.is_empty());
        busy.any(|(_, queue)| (page.0..page.0 + PAGE).step_by(LINE).any(|line| queue.lines.contains_key(&line)))
    }

    /// How many stores of an agent wait.
    pub fn pending(&self, agent: usize) -> usize {
        self.queues[agent].stores.len()
    }

    /// What a load asks of its page: one that is only looked at, because its line shall be locked, will be followed by a store.
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

    /// Remembers a translation. Those that the kernel finds may rest on stores that only its caller sees as yet.
    pub(super) fn remember(&mut self, spot: Spot) {
        if self.mode != Mode::Kernel {
            self.spots[spot.page as usize % SPOTS] = spot;
        }
    }

    /// Forgets the pages that touch a range of addresses.
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

    /// The kernel has changed the translation of a range.
    pub(super) fn note_change(&mut self, start: u64, end: u64) {
        self.forget(start, end);
        self.changed.push((start, end));
    }

    /// Whether an access is to be stopped because only its place is asked for.
    pub(super) fn stops_at(&mut self, spot: Spot, address: u64, bytes: usize) -> bool {
        if self.mode == Mode::Peek {
            let crosses = address % LINE as u64 + bytes as u64 > LINE as u64;
            self.peeked = Some((line(spot, address), crosses));
        }
        self.mode == Mode::Peek
    }

    /// Loads bytes of one page; false if a line is away.
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

    /// Puts a store to one page into the queue. `code`: instructions have been fetched from there.
    pub(super) fn store(&mut self, spot: Spot, address: u64, bytes: &[u8], code: bool) {
        self.push(VirtAddr(address), spot.place(address), bytes, code);
    }

    /// A store of the kernel's, by physical address.
    pub(super) fn store_physical(&mut self, at: PhysAddr, bytes: &[u8]) {
        self.push(VirtAddr(DIRECT_MAP + at.0), at, bytes, false);
    }

    /// Puts the bytes of the agent's own stores over what the image has at a physical address.
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

    /// Takes an agent's oldest store out, which has been performed; says whether it was one to code. Stores to one line that
    /// follow each other may have been performed as one.
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

/// Of so many bytes at an address: the place in its line, and how many of them lie in that.
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

/// The stores of an agent, the oldest first, and what they put over memory.
#[derive(Default)]
struct StoreQueue {
    stores: VecDeque<Store>,
    /// By address. Looked up, never walked.
    lines: FxHashMap<u64, Pending>,
}

/// What stores put over a line, and how many they are.
struct Pending {
    block: Block<LINE>,
    count: usize,
}

impl Pending {
    /// Puts the bytes over some that begin `inside` the line.
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
        // Its bytes may show no longer, unless a younger store to the line has them too.
        pending.block = Block::EMPTY;
        let others = self.stores.iter().filter(|other| other.line == store.line).take(pending.count);
        others.for_each(|other| pending.block.write(&other.data));
        Some(store)
    }
}
