//! What cores see of memory.
//!
//! Cores run ahead: a load takes its value when it is fetched, from the image of memory that all cores share. That image is what
//! the caches of cores hold, and what memory holds of other lines; stores change it when a first-level cache performs them. A line that
//! the GPU may write is away: who loads from it waits until it has come back, and brings the bytes of then. Where the GPU writes to
//! memory past the CPU's caches, the image of a line changes with memory only if these do not hold it: a flush that was forgotten shows.

use crate::{plan, program::Software};
use cache::{LineWatcher, Watcher};
use mem::{LINE, LineAddr};
use os::memory::{Look, Sight};
use protocol::{Controller, Kind, Line, Msg, Node, Place, Roster, Sharers, mesi::directory};
use rustc_hash::FxHashSet;
use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

pub struct CoresView {
    /// Lines that the GPU may write, or whose bytes are on their way from it. Looked up, never walked.
    away: Rc<RefCell<FxHashSet<LineAddr>>>,
    /// The process, once there is one.
    software: OnceCell<Software>,
    /// Lines that the last-level cache knows of, where the GPU writes to memory past it.
    held: Option<RefCell<FxHashSet<LineAddr>>>,
    /// Where a directory stands, and the GPU's caches among those it knows.
    me: Node,
    below: Node,
    above: Roster,
    gpus: Sharers,
}

impl CoresView {
    pub fn new(plan: plan::CoresView) -> Rc<Self> {
        let plan::CoresView { me, below, above, gpus, past } = plan;
        let held = past.then(RefCell::default);
        Rc::new(Self { away: Rc::default(), software: OnceCell::new(), held, me, below, above, gpus })
    }

    /// From now on there is somebody to see.
    pub fn open(&self, software: Software) {
        assert!(self.software.set(software).is_ok(), "a machine has one process");
    }

    /// For the process: where the newest bytes of a line are.
    pub fn look(&self) -> Look {
        let away = Rc::clone(&self.away);
        Box::new(move |line| if away.borrow().contains(&line) { Sight::Away } else { Sight::Own })
    }

    /// For a core's data cache: stores that it performs.
    pub fn of_stores(self: &Rc<Self>, core: usize) -> Watcher {
        let view = Rc::clone(self);
        Rc::new(move |id, line, data| {
            if let Some(software) = view.software.get() {
                software.perform(core, cpu::thread_of(id), line, data);
            }
        })
    }

    /// For the first cache of a DMA engine, whose stores are nobody's on a core.
    pub fn of_transfers(self: &Rc<Self>) -> Watcher {
        let view = Rc::clone(self);
        Rc::new(move |_, line, data| {
            if let Some(software) = view.software.get() {
                software.arrived(line, data);
            }
        })
    }

    /// For a slice of the last-level cache: who may write a line now.
    pub fn of_directory(self: &Rc<Self>) -> LineWatcher {
        let view = Rc::clone(self);
        Rc::new(move |msg, line, at_rest| {
            if let Some(held) = &view.held {
                view.holds(held, msg, line);
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

    /// For a core's second-level cache: lines that come straight from the GPU.
    pub fn of_core_l2(self: &Rc<Self>) -> LineWatcher {
        let view = Rc::clone(self);
        Rc::new(move |msg, line, _| {
            if matches!(msg.kind, Kind::PutS | Kind::PutClnX | Kind::PutX) && line.data.is_full() {
                view.came(msg.line, line);
            }
        })
    }

    /// What the last-level cache knows of a line, where the GPU writes past it.
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

    /// For memory: what the GPU writes past the last-level cache.
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

    /// A line that was away has come.
    fn came(&self, address: LineAddr, line: &Line<LINE>) {
        if self.away.borrow_mut().remove(&address)
            && let Some(software) = self.software.get()
        {
            software.arrived(address, &line.data);
        }
    }
}
