//! Page tables of GPUs whose host is outside the machine, in the host's memory.
//!
//! The driver enters the pages of a kernel before it starts. The tables are those of a processor: four levels, a tree
//! for each address space. Walkers read them over a wire that has the latency of the host's memory, which the machine
//! does not model otherwise.

use crate::{
    Roots,
    entry::{Entry, TOP_LEVEL, entry_at},
};
use engine::{Cycles, Lane, PortSpec, Scope};
use interconnect::{HEADER, Wire};
use mem::{Asid, Block, Frames, LINE, PAGE, PhysAddr, Reply, Request, VirtAddr};
use std::{cell::RefCell, rc::Rc};

/// Maximum reads on the wire at a time: more than there are walkers.
const READS: usize = 1024;

/// The tables. Clones share them.
#[derive(Clone)]
pub struct PageTables(Rc<Inner>);

struct Inner {
    bytes: RefCell<Bytes>,
    roots: Roots,
}

/// The memory of the tables.
#[derive(Default)]
struct Bytes {
    frames: Frames,
    /// How many of its pages are tables.
    used: u64,
}

impl PageTables {
    /// Tables without entries. Their roots are set in `roots` when they get some.
    pub fn new(roots: &Roots) -> Self {
        Self(Rc::new(Inner { bytes: RefCell::default(), roots: roots.clone() }))
    }

    /// Enters a page of 4 KiB. A right that a page has is not taken away: that would need a shootdown.
    pub fn enter(&self, asid: Asid, page: VirtAddr, frame: PhysAddr, writable: bool) {
        let bytes = &mut *self.0.bytes.borrow_mut();
        let mut table = self.0.roots.root(asid).unwrap_or_else(|| {
            let root = bytes.table();
            self.0.roots.set(asid, root);
            root
        });
        for level in (1..=TOP_LEVEL).rev() {
            let at = entry_at(table, page, level);
            let mut entry = bytes.entry(at);
            if !entry.is_present() {
                entry = Entry::to(bytes.table(), true);
                bytes.put(at, entry);
            }
            table = entry.address();
        }
        let at = entry_at(table, page, 0);
        let old = bytes.entry(at);
        let may = old.is_present() && old.address() == frame && old.rights().write;
        bytes.put(at, Entry::to(frame, writable || may));
    }

    /// A wire on which walkers read the tables; `latency` is that of a read.
    pub fn memory(&self, latency: Cycles, scope: &Scope) -> Wire<Reply, Request> {
        let way = |latency| PortSpec { capacity: READS, latency, bytes_per_cycle: None };
        let (to, asked) = scope.port::<Request>("read", way(latency), scope);
        let (answer, from) = scope.port::<Reply>("read_answers", way(Cycles(0)), scope);
        let own = self.clone();
        scope.serve("host_memory", |_| async move {
            loop {
                let request = asked.recv(Lane::Request).await;
                let mut line = [0; LINE];
                own.0.bytes.borrow().frames.read(PhysAddr(request.line().0), &mut line);
                let data = Block::of(line, request.data.mask());
                let size = HEADER + data.mask().len() as u64;
                answer.send(Lane::Reply, Reply { id: request.id, data, stamp: 0 }, size).await;
            }
        });
        Wire { from, to }
    }
}

impl Bytes {
    /// A new table without entries.
    fn table(&mut self) -> PhysAddr {
        self.used += 1;
        PhysAddr(self.used * PAGE)
    }

    fn entry(&self, at: PhysAddr) -> Entry {
        let mut bytes = [0; 8];
        self.frames.read(at, &mut bytes);
        Entry(u64::from_le_bytes(bytes))
    }

    fn put(&mut self, at: PhysAddr, entry: Entry) {
        self.frames.write(at, &entry.0.to_le_bytes());
    }
}
