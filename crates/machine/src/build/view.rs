//! The cores' view of memory.
//!
//! Cores run ahead: a load takes its value at fetch, from an image of memory that all cores share. The image holds what
//! the cores' caches hold, and memory's contents for other lines. A store changes it when a first-level cache performs
//! the store. A line that the GPU may write is *away*: a load from it waits until the line has returned, and takes the
//! returned bytes. If the GPU writes to memory past the CPU's caches, such a write changes the image only of lines that
//! these caches do not hold, so a missing flush has a visible effect. If memories of GPUs are levels above the host's, a
//! line is away from the time at which its block was given to a GPU until the last-level cache, which gave it up for
//! that, is given the line again.

use crate::{
    plan::{self, GpusWrite},
    program::Software,
};
use cache::{LineWatcher, Watcher};
use dram::BlockWatcher;
use mem::{LINE, LineAddr};
use os::memory::{Look, Sight};
use protocol::{Controller, Kind, Line, Msg, Node, Place, Roster, Sharers, mesi::directory};
use rustc_hash::FxHashSet;
use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

pub struct CoresView {
    /// Lines that the GPU may write, or whose bytes are in flight from it. Never iterated.
    away: Rc<RefCell<FxHashSet<LineAddr>>>,
    /// The process, once there is one.
    software: OnceCell<Software>,
    /// Lines held at or above the last-level cache, if the GPU writes to memory past it. Never iterated.
    held: Option<RefCell<FxHashSet<LineAddr>>>,
    /// Whether memories of GPUs are levels above the host's.
    levels: bool,
    /// The directory's place, and the GPU's caches among its sharers.
    me: Node,
    below: Node,
    above: Roster,
    gpus: Sharers,
}

impl CoresView {
    pub fn new(plan: plan::CoresView) -> Rc<Self> {
        let plan::CoresView { me, below, above, gpus, gpus_write } = plan;
        let held = (gpus_write == GpusWrite::Past).then(RefCell::default);
        let levels = gpus_write == GpusWrite::Levels;
        Rc::new(Self { away: Rc::default(), software: OnceCell::new(), held, levels, me, below, above, gpus })
    }

    /// Connects the view to the process.
    pub fn open(&self, software: Software) {
        assert!(self.software.set(software).is_ok(), "a machine has one process");
    }

    /// Tells the process where the newest bytes of a line are.
    pub fn look(&self) -> Look {
        let away = Rc::clone(&self.away);
        Box::new(move |line| if away.borrow().contains(&line) { Sight::Away } else { Sight::Own })
    }

    /// Observer of a core's data cache, for the stores that it performs.
    pub fn of_stores(self: &Rc<Self>, core: usize) -> Watcher {
        let view = Rc::clone(self);
        Rc::new(move |id, line, data| {
            if let Some(software) = view.software.get() {
                software.perform(core, cpu::thread_of(id), line, data);
            }
        })
    }

    /// Observer of a DMA engine's first cache, for stores that belong to no core.
    pub fn of_transfers(self: &Rc<Self>) -> Watcher {
        let view = Rc::clone(self);
        Rc::new(move |_, line, data| {
            if let Some(software) = view.software.get() {
                software.arrived(line, data);
            }
        })
    }

    /// Observer of a slice of the last-level cache, for the caches that may write a line.
    pub fn of_directory(self: &Rc<Self>) -> LineWatcher {
        let view = Rc::clone(self);
        Rc::new(move |msg, line, at_rest| {
            if let Some(held) = &view.held {
                view.holds(held, msg, line);
                return;
            }
            if view.levels {
                if msg.kind == Kind::PutX {
                    view.came(msg.line, line);
                }
                return;
            }
            let place = Place { me: view.me, below: view.below, above: &view.above };
            let granted = Controller::<LINE>::granted(&directory::L3, place, line);
            let writers = granted.map_or(Sharers::NONE, |granted| granted.writers);
            if writers.meets(view.gpus) {
                view.away.borrow_mut().insert(msg.line);
            } else if at_rest && writers.is_empty() && line.data.is_full() {
                view.came(msg.line, line);
            }
        })
    }

    /// Observer of a directory of the host's memory, for the blocks that memories of GPUs hold: `gpus` among its sharers.
    pub fn of_host_directory(self: &Rc<Self>, gpus: Sharers, block: u64) -> BlockWatcher {
        let (view, theirs) = (Rc::clone(self), RefCell::new(FxHashSet::default()));
        Rc::new(move |first, record| {
            let mut theirs = theirs.borrow_mut();
            if !record.sharers.meets(gpus) {
                theirs.remove(&first);
            } else if theirs.insert(first) {
                let lines = (first.0..first.0 + block).step_by(LINE).map(LineAddr);
                view.away.borrow_mut().extend(lines);
            }
        })
    }

    /// Observer of a core's second-level cache, for lines that come directly from the GPU.
    pub fn of_core_l2(self: &Rc<Self>) -> LineWatcher {
        let view = Rc::clone(self);
        Rc::new(move |msg, line, _| {
            let arrives = matches!(msg.kind, Kind::PutS | Kind::PutClnX | Kind::PutX) && line.data.is_full();
            if arrives && !view.levels {
                view.came(msg.line, line);
            }
        })
    }

    /// Tracks whether the last-level cache holds a line, if the GPU writes past it.
    fn holds(&self, held: &RefCell<FxHashSet<LineAddr>>, msg: &Msg<LINE>, line: &Line<LINE>) {
        if line.state == Controller::<LINE>::table(&directory::L3).initial() {
            held.borrow_mut().remove(&msg.line);
        } else {
            held.borrow_mut().insert(msg.line);
        }
        if msg.kind == Kind::Data
            && let Some(software) = self.software.get()
        {
            software.arrived(msg.line, &msg.data);
        }
    }

    /// Observer of memory, for the GPU's writes past the last-level cache.
    pub fn of_memory(self: &Rc<Self>) -> dram::Watcher {
        let view = Rc::clone(self);
        Rc::new(move |line, data| {
            if let (Some(held), Some(software)) = (&view.held, view.software.get())
                && !held.borrow().contains(&line)
            {
                software.arrived(line, data);
            }
        })
    }

    /// A line that was *away* has returned.
    fn came(&self, address: LineAddr, line: &Line<LINE>) {
        if self.away.borrow_mut().remove(&address)
            && let Some(software) = self.software.get()
        {
            software.arrived(address, &line.data);
        }
    }
}
