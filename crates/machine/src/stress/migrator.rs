//! The driver of testers whose pages are moved: it recalls pages from GPUs, moves them to another memory and maps them
//! again, at random and to serve faults.
//!
//! It uses the mechanisms of a program's driver: page tables, shootdowns of TLBs, recalls of caches
//! ([`TlbRecall`](crate::program::TlbRecall), [`CacheRecall`](crate::program::CacheRecall)) and a DMA engine. Only the
//! GPUs' command processors are replaced ([`Recalls`]).

use super::{Book, Command, Forgotten, Read};
use crate::program::ModelGpus;
use engine::{Context, Counter, EventCount, Inlet, Lane, Outlet, Scope};
use gpu::{CommandProcessor, Recalled};
use interconnect::HEADER;
use mem::{Access, Bytes, PAGE, PhysAddr, VirtAddr, ZONE};
use os::opencl::gpu::{Cause, DeviceFault, Done, Gpus, Page, Piece, Transfer};
use rand_pcg::{
    Pcg64Mcg,
    rand_core::{RngCore, SeedableRng},
};
use std::{cell::Cell, collections::BTreeMap, rc::Rc, sync::Arc};

/// First frame in each memory: behind the lines of testers that replace DMA engines.
pub(super) const FRAMES: u64 = 64 << 20;

/// Maximum jobs in flight, maximum pages of a usual job, and the longest pause between jobs in cycles.
const JOBS: usize = 3;
const PAGES: u64 = 3;
const PAUSE: u64 = 6000;

/// Maximum cycles that the driver takes to serve a fault.
const SOFTWARE: u64 = 200;

/// The conductor's view of the testers' driver.
pub(crate) struct Pages {
    pub control: Rc<Control>,
    pub book: Arc<Book>,
}

impl Pages {
    /// Starts moving pages: a round begins.
    pub fn begin(&self) {
        self.control.playing.set(true);
        self.control.bell.advance();
    }

    /// Stops moving pages and waits until none is in flight: a round is over. Writes are synchronised before the next
    /// round.
    pub async fn end(&self) {
        let seen = self.control.at_rest.count();
        self.control.playing.set(false);
        self.control.bell.advance();
        self.control.at_rest.wait(seen + 1).await;
        self.book.settle();
    }
}

pub(crate) struct Control {
    playing: Cell<bool>,
    bell: EventCount,
    at_rest: EventCount,
}

/// The driver's state of a page.
struct Known {
    frame: PhysAddr,
    /// Per GPU: `None` if its table lacks the page, otherwise whether the page is writable.
    mapped: Vec<Option<bool>>,
    /// Whether a job moves the page; `faults`: the faults that wait for that job.
    busy: bool,
    faults: Vec<DeviceFault>,
}

/// Pages to recall, and possibly to move.
struct Job {
    pages: Vec<usize>,
    /// The target frame of each page; empty: they stay.
    to: Vec<PhysAddr>,
}

pub(crate) struct Migrator {
    gpus: ModelGpus,
    book: Arc<Book>,
    random: Pcg64Mcg,
    control: Rc<Control>,
    pages: Vec<Known>,
    free: Vec<PhysAddr>,
    /// Jobs in progress, by the number of the recall or transfer that each waits for.
    jobs: BTreeMap<u64, (Job, Step)>,
    next: u64,
    migrations: Counter,
    recalls: Counter,
    faults: Counter,
}

/// What a job waits for.
#[derive(Clone, Copy)]
enum Step {
    Recall,
    Transfer,
}

impl Migrator {
    /// The driver of these GPUs. `zones`: the first addresses of the memories, and whether GPUs cannot access the
    /// host's memory.
    pub fn new(
        gpus: &ModelGpus,
        book: &Arc<Book>,
        seed: u64,
        (zones, apart): (Vec<u64>, bool),
        scope: &Scope,
    ) -> (Self, Rc<Control>) {
        let scope = scope.scope("driver");
        let (bell, at_rest) = (scope.eventcount("work"), scope.eventcount("at_rest"));
        gpus.ring(vec![bell.clone()]);
        let control = Rc::new(Control { playing: Cell::new(false), bell, at_rest });
        // If GPUs cannot access the host's memory, drivers number the first device memory from `ZONE` on.
        let begins = if apart { ZONE } else { 0 };
        let pages = book.pages() as u64;
        // Each memory has one free frame.
        let in_zone = pages.div_ceil(zones.len() as u64) + 1;
        let frame = |number: u64| zones[(number % zones.len() as u64) as usize] + number / zones.len() as u64 * PAGE;
        let mut frames: Vec<PhysAddr> =
            (0..in_zone * zones.len() as u64).map(|number| PhysAddr(begins + FRAMES + frame(number))).collect();
        let free = frames.split_off(pages as usize);
        let known = |frame| Known { frame, mapped: vec![None; book.gpus()], busy: false, faults: Vec::new() };
        let own = Self {
            gpus: gpus.clone(),
            book: Arc::clone(book),
            random: Pcg64Mcg::seed_from_u64(seed),
            control: Rc::clone(&control),
            pages: frames.into_iter().map(known).collect(),
            free,
            jobs: BTreeMap::new(),
            next: 0,
            migrations: scope.counter("migrations"),
            recalls: scope.counter("recalls"),
            faults: scope.counter("faults"),
        };
        (own, control)
    }

    pub async fn run(mut self, cx: Context) {
        let bell = self.control.bell.clone();
        let mut due = 0;
        loop {
            let seen = bell.count();
            let Done { ended, faults, .. } = self.gpus.news();
            for ended in ended {
                self.go_on(ended.launch);
            }
            if !faults.is_empty() {
                let cycles = 1 + self.below(SOFTWARE);
                cx.pause(cycles).await;
            }
            faults.into_iter().for_each(|fault| self.fault(fault));
            if !self.control.playing.get() {
                if self.jobs.is_empty() {
                    self.control.at_rest.advance();
                }
                bell.wait(seen + 1).await;
                continue;
            }
            let now = cx.now().0;
            if due <= now {
                self.begin_any();
                due = now + 1 + self.below(PAUSE);
            }
            _ = bell.wait_for(seen + 1, due - now).await;
        }
    }

    /// Recalls random pages, some to move them and some without moving them.
    fn begin_any(&mut self) {
        if self.jobs.len() >= JOBS {
            return;
        }
        let all = self.pages.len() as u64;
        // Sometimes all pages, so that TLBs drop the whole address space.
        let wanted = if self.one_in(64) { all } else { 1 + self.below(PAGES) };
        let first = self.below(all);
        let pages: Vec<usize> =
            (first..first + wanted).map(|page| (page % all) as usize).filter(|page| !self.pages[*page].busy).collect();
        let stay = self.one_in(4);
        let moved: Vec<usize> = pages.into_iter().take(if stay { usize::MAX } else { self.free.len() }).collect();
        let to: Vec<PhysAddr> = match stay {
            true => Vec::new(),
            false => moved.iter().map(|_| self.any_frame()).collect(),
        };
        if !moved.is_empty() {
            self.begin(Job { pages: moved, to });
        }
    }

    fn any_frame(&mut self) -> PhysAddr {
        let at = self.below(self.free.len() as u64);
        self.free.swap_remove(at as usize)
    }

    fn begin(&mut self, job: Job) {
        job.pages.iter().for_each(|page| self.pages[*page].busy = true);
        let gpus: Vec<usize> = (0..self.book.gpus()).collect();
        let names = |page: &usize| std::iter::once(self.book.page(*page)).chain(self.book.alias_of_page(*page));
        let ranges: Vec<(VirtAddr, Bytes)> = job.pages.iter().flat_map(names).map(|name| (name, Bytes(PAGE))).collect();
        let number = self.next_number();
        self.gpus.shoot(number, &gpus, &ranges);
        self.recalls.add(job.pages.len() as u64);
        self.jobs.insert(number, (job, Step::Recall));
    }

    /// Continues a job whose recall or transfer has completed.
    fn go_on(&mut self, number: u64) {
        let (job, step) = self.jobs.remove(&number).expect("what ends was begun");
        match step {
            Step::Recall => {
                job.pages.iter().for_each(|page| self.pages[*page].mapped.fill(None));
                if job.to.is_empty() {
                    return self.end(&job);
                }
                let piece =
                    |(page, to): (&usize, &PhysAddr)| Piece { to: *to, from: self.pages[*page].frame, bytes: PAGE };
                let pieces = job.pages.iter().zip(&job.to).map(piece).collect();
                let number = self.next_number();
                let transfer = Transfer { pieces, pattern: None, descriptor: None, cause: Cause::Fault };
                self.gpus.hold_transfer(number, transfer);
                self.gpus.release_all();
                self.jobs.insert(number, (job, Step::Transfer));
            }
            Step::Transfer => {
                for (page, to) in job.pages.iter().zip(&job.to) {
                    let from = std::mem::replace(&mut self.pages[*page].frame, *to);
                    self.free.push(from);
                }
                self.migrations.add(job.pages.len() as u64);
                self.end(&job);
            }
        }
    }

    /// The pages of a job have arrived: maps them for some GPUs, and for those that faulted.
    fn end(&mut self, job: &Job) {
        for &page in &job.pages {
            self.pages[page].busy = false;
            for gpu in 0..self.book.gpus() {
                if self.one_in(3) {
                    let writable = !self.one_in(3);
                    let page_now = self.page(page, writable);
                    self.gpus.enter(gpu, &page_now);
                    self.pages[page].mapped[gpu] = Some(writable);
                }
            }
            let faults = std::mem::take(&mut self.pages[page].faults);
            faults.into_iter().for_each(|fault| match fault.page == self.book.page(page) {
                true => self.resolve(page, &fault),
                false => self.fault(fault),
            });
        }
    }

    fn page(&self, page: usize, writable: bool) -> Page {
        Page { at: self.book.page(page), place: self.pages[page].frame, writable }
    }

    /// Serves a fault: a GPU accesses a page that its table lacks, or writes one that is read-only.
    fn fault(&mut self, fault: DeviceFault) {
        self.faults.increment();
        let page = self.book.page_at(fault.page);
        if self.pages[page].busy {
            return self.pages[page].faults.push(fault);
        }
        if fault.page != self.book.page(page) {
            // The other name of the page is mapped when it is used.
            let at = Page { at: fault.page, ..self.page(page, false) };
            return self.gpus.resolve(fault.gpu, fault.page, Ok(at));
        }
        let absent = self.pages[page].mapped[fault.gpu].is_none();
        if absent && self.jobs.len() < JOBS && !self.free.is_empty() && self.one_in(2) {
            self.pages[page].faults.push(fault);
            let to = vec![self.any_frame()];
            return self.begin(Job { pages: vec![page], to });
        }
        self.resolve(page, &fault);
    }

    /// Serves a fault with the page at its current place.
    fn resolve(&mut self, page: usize, fault: &DeviceFault) {
        let could_write = self.pages[page].mapped[fault.gpu] == Some(true);
        let writable = fault.write || could_write || self.one_in(2);
        self.pages[page].mapped[fault.gpu] = Some(writable);
        let answer = self.page(page, writable);
        self.gpus.resolve(fault.gpu, fault.page, Ok(answer));
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// Recalls pages from a GPU's caches, as its dispatcher would, through the testers that replace its compute units.
pub(crate) struct Recalls {
    processor: CommandProcessor,
    testers: Vec<(Outlet<Command>, Inlet<Read>)>,
    forgets: Option<Forgotten>,
}

impl Recalls {
    pub fn new(
        processor: CommandProcessor,
        testers: Vec<(Outlet<Command>, Inlet<Read>)>,
        forgets: Option<Forgotten>,
    ) -> Self {
        Self { processor, testers, forgets }
    }

    pub async fn run(self, _: Context) {
        loop {
            let (caches, pages) = self.processor.next_recall().await;
            let (scope, testers) = match caches {
                Recalled::FirstLevel => (mem::Scope::Device, self.testers.len()),
                Recalled::Written | Recalled::Shared | Recalled::Stale => (mem::Scope::System, 1),
            };
            for page in pages {
                self.order(Access::Flush, scope, page, testers).await;
                if caches != Recalled::Written {
                    self.order(Access::Invalidate, scope, page, testers).await;
                }
            }
            self.processor.end_recall();
        }
    }

    async fn order(&self, access: Access, scope: mem::Scope, page: PhysAddr, testers: usize) {
        let forgotten = if access == Access::Flush { Forgotten::Flush } else { Forgotten::Invalidation };
        if self.forgets == Some(forgotten) {
            return;
        }
        for (commands, _) in &self.testers[..testers] {
            commands.send(Lane::Coherence, Command::Page(access, scope, page), HEADER).await;
        }
        for (_, reports) in &self.testers[..testers] {
            reports.recv(Lane::Coherence).await;
        }
    }
}
