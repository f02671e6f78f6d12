//! The front end: hands kernels to the command processors of GPUs, and flushes and invalidates caches before and after
//! kernels if the machine needs it.
//!
//! A kernel runs on one GPU, or on all of them as a *gang*: its workgroups are distributed over the GPUs in turn.
//! Kernels of different GPUs run concurrently, and so do as many kernels of one GPU as it has slots. Kernels for one
//! GPU start in the order of submission. A kernel before which the shared caches of its GPU must be invalidated has
//! that GPU for itself.
//!
//! On a machine without coherence, the orders around a kernel are given here (`[giles 4.1, 4.2]`). Before a kernel the
//! caches of the CPU flush the pages that the host has handed over since the last one, as M2S-CGM does it buffer by
//! buffer. After a kernel they flush the pages that it could reach, if its stores go to the CPU's last-level cache.

use super::gpu_time::GpuTime;
use crate::{plan::Boundary, session::WARM_UP};
use engine::{Context, EventCount, Histogram, Scope, Time};
use gpu::{AddressMap, CommandProcessor, Forget, Kernel, Recalled, Ticket, WriteBack};
use interconnect::Reporter;
use mem::{LineAddr, PhysAddr, Seen};
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
};
use vm::PageTables;

/// The actions around kernels.
#[derive(Clone, Copy, Debug)]
pub struct FrontEndSpec {
    /// Actions that GPUs need because of each other.
    pub boundary: Boundary,
    /// Whether GPUs flush before the next kernel, rather than after each: then the host takes back the blocks it needs.
    pub flush_late: bool,
    /// Whether the time of a kernel ends before its GPUs flush.
    pub write_back: WriteBack,
    /// Whether the caches of the CPU write back and invalidate the pages that were handed over before a kernel starts.
    pub flush_before: bool,
    /// Whether these caches flush all pages that a kernel could reach after its end.
    pub flush_after: bool,
    /// Whether each kernel is a region of the statistics, rather than an entry in a histogram.
    pub regions: bool,
    /// Whether the host sees all that a kernel has written when the kernel has ended, wherever it is.
    pub read_at_once: bool,
    /// Whether the time of each GPU is attributed to causes.
    pub accounts: bool,
}

/// The caches of the CPU, as the front end sees them.
pub trait Caches {
    /// Makes the caches write back and invalidate their lines of these pages; completes when that is done.
    fn flush(&self, pages: &[PhysAddr]) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// Caches that need no flush.
pub struct Coherent;

impl Caches for Coherent {
    fn flush(&self, _: &[PhysAddr]) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// A kernel to be run.
pub struct Job {
    pub kernel: Kernel,
    /// The memory that it may access, on each GPU that runs it.
    pub maps: Vec<Arc<AddressMap>>,
    /// The GPU that runs it; `None`: all GPUs, as a gang.
    pub gpu: Option<usize>,
    /// Whether, since the last job, memory has been written by others than GPUs, so that caches of GPUs may be stale.
    pub others_wrote: bool,
    /// Pages of which the CPU's caches may hold dirty lines that the kernel reads.
    pub touched: Vec<PhysAddr>,
    /// All pages that the kernel can reach.
    pub reached: Vec<PhysAddr>,
    /// Whether GPUs flush after this kernel, although they need not after every kernel.
    pub flushes: bool,
    /// Whether it only warms the caches up and is not measured.
    pub warm_up: bool,
    /// Called with the time at which the job was taken up and the time at which the host could see everything it wrote.
    pub over: Box<dyn FnOnce(Time, Time)>,
}

impl Job {
    fn map(&self, number: usize) -> Arc<AddressMap> {
        Arc::clone(&self.maps[number % self.maps.len()])
    }
}

/// The slots of a GPU that a job occupies.
struct Slots {
    gpu: usize,
    slots: Vec<usize>,
}

impl Slots {
    fn take(&self, busy: &mut [Vec<bool>], taken: bool) {
        self.slots.iter().for_each(|slot| busy[self.gpu][*slot] = taken);
    }
}

/// The time during which at least one kernel was executed.
#[derive(Default)]
struct BusyTime {
    executing: usize,
    /// When the current busy period began.
    since: Time,
    /// The total of all completed busy periods.
    total: Time,
}

impl BusyTime {
    fn begin(&mut self, now: Time) {
        if self.executing == 0 {
            self.since = now;
        }
        self.executing += 1;
    }

    fn end(&mut self, now: Time) {
        self.executing -= 1;
        if self.executing == 0 {
            self.total = self.total + Time(now.0 - self.since.0);
        }
    }
}

#[derive(Default)]
struct Books {
    waiting: VecDeque<Job>,
    /// Which slots of each GPU are in use.
    busy: Vec<Vec<bool>>,
    /// GPUs that may hold stale lines, because memory was written since they last invalidated them.
    behind: Vec<bool>,
    /// The names of the running kernels, in the order in which they began.
    running: Vec<(u64, String)>,
    begun: u64,
    /// Whether GPUs hold dirty lines; `unwritten`: even where they flush for each other.
    unflushed: bool,
    unwritten: bool,
    times: BTreeMap<String, Histogram>,
    execution: BusyTime,
}

/// The front end. Clones are handles to the same one.
#[derive(Clone)]
pub struct FrontEnd(Rc<Inner>);

struct Inner {
    spec: FrontEndSpec,
    gpus: Vec<CommandProcessor>,
    caches: Rc<dyn Caches>,
    observer: Option<Reporter>,
    /// The tables in which the pages of kernels are entered, if walkers read those of a host outside.
    tables: Option<PageTables>,
    work: EventCount,
    kernels: Scope,
    /// Cycles taken by flushes of all GPUs after a kernel, if there are such flushes.
    flush: Option<Histogram>,
    books: RefCell<Books>,
    time: Rc<GpuTime>,
}

impl FrontEnd {
    /// Builds the front end at `scope`, which belongs to the clock domain of the command processors.
    pub fn build(
        spec: FrontEndSpec,
        gpus: Vec<CommandProcessor>,
        caches: Rc<dyn Caches>,
        observer: Option<Reporter>,
        tables: Option<PageTables>,
        scope: &Scope,
    ) -> Self {
        let busy: Vec<Vec<bool>> = gpus.iter().map(|gpu| vec![false; gpu.slots()]).collect();
        let workers: usize = busy.iter().map(Vec::len).sum();
        let books = RefCell::new(Books { behind: vec![false; gpus.len()], busy, ..Books::default() });
        let (work, kernels) = (scope.eventcount("work"), scope.scope("kernels"));
        let flush = (spec.boundary.flushes > 0).then(|| scope.histogram("flush"));
        let time = Rc::new(GpuTime::new(if spec.accounts { gpus.len() } else { 0 }, scope));
        for (number, gpu) in gpus.iter().enumerate() {
            let time = Rc::clone(&time);
            gpu.listen(move || time.share_over(number));
        }
        let own = Self(Rc::new(Inner { flush, spec, gpus, caches, observer, tables, work, kernels, books, time }));
        for worker in 0..workers {
            let own = own.clone();
            let run = |cx| async move { own.0.run(cx).await };
            match worker {
                0 => scope.serve("control", run),
                _ => scope.serve(("control", worker), run),
            }
        }
        own
    }

    /// Makes the caches of all GPUs write back and invalidate these pages of memory: caches of all GPUs that reach a
    /// page may hold its lines, and stores to it may be in flight between GPUs.
    pub async fn recall(&self, pages: &[PhysAddr]) {
        // Shared caches that need a second flush after a kernel pass writes on to those of other GPUs.
        let written = (self.0.spec.boundary.flushes > 1).then_some(Recalled::Written);
        for caches in [Some(Recalled::FirstLevel), written, Some(Recalled::Shared)].into_iter().flatten() {
            let recalls: Vec<Ticket> = self.0.gpus.iter().map(|gpu| gpu.recall(caches, pages.to_vec())).collect();
            for recall in recalls {
                recall.wait().await;
            }
        }
    }

    /// The time account of each GPU.
    pub(super) fn time(&self) -> &GpuTime {
        &self.0.time
    }

    /// Number of GPUs.
    pub(super) fn gpus(&self) -> usize {
        self.0.gpus.len()
    }

    /// Whether no kernel runs.
    pub fn is_idle(&self) -> bool {
        self.0.books.borrow().running.is_empty()
    }

    /// The time during which GPUs have executed kernels, one or several at once, without launches by the host, copies,
    /// and flushes for the host. Warm-ups do not count.
    pub fn kernel_time(&self) -> Time {
        self.0.books.borrow().execution.total
    }

    /// Queues a kernel to run as soon as its GPU is free.
    pub fn submit(&self, job: Job) {
        for (map, tables) in job.maps.iter().flat_map(|map| self.0.tables.iter().map(move |tables| (map, tables))) {
            map.pages().for_each(|(page, frame, writable)| tables.enter(map.space(), page, frame, writable));
        }
        let mut books = self.0.books.borrow_mut();
        books.behind.iter_mut().for_each(|behind| *behind |= job.others_wrote);
        books.waiting.push_back(job);
        drop(books);
        self.0.work.advance();
    }
}

impl Books {
    /// The first job for which slots are free on each of its GPUs, with these slots; a job never overtakes an earlier
    /// one for the same GPU. `forgets`: shared caches are invalidated before every kernel. `homes`: shared caches hold
    /// lines that kernels on other GPUs write, so no kernel may run while one of them is invalidated.
    fn next(&mut self, forgets: bool, homes: bool) -> Option<(Job, Vec<Slots>)> {
        if homes && self.behind.contains(&true) && self.busy.iter().flatten().any(|busy| *busy) {
            return None;
        }
        let mut wanted = vec![false; self.busy.len()];
        for at in 0..self.waiting.len() {
            let gpus = self.waiting[at].gpu.map_or(0..self.busy.len(), |gpu| gpu..gpu + 1);
            let free = |gpu: usize| -> Option<Slots> {
                let all = 0..self.busy[gpu].len();
                let slots: Vec<usize> = match forgets || self.behind[gpu] {
                    true => all.clone().filter(|_| self.busy[gpu].iter().all(|busy| !busy)).collect(),
                    false => all.filter(|slot| !self.busy[gpu][*slot]).take(1).collect(),
                };
                (!wanted[gpu] && !slots.is_empty()).then_some(Slots { gpu, slots })
            };
            let slots: Option<Vec<Slots>> = gpus.clone().map(free).collect();
            if let Some(slots) = slots {
                slots.iter().for_each(|slots| slots.take(&mut self.busy, true));
                return Some((self.waiting.remove(at)?, slots));
            }
            gpus.for_each(|gpu| wanted[gpu] = true);
        }
        None
    }

    /// The names of all running kernels, joined to one.
    fn running(&self) -> String {
        let names: Vec<&str> = self.running.iter().map(|(_, name)| name.as_str()).collect();
        names.join(" + ")
    }
}

impl Inner {
    /// Runs jobs, one after another.
    async fn run(&self, cx: Context) {
        loop {
            let seen = self.work.count();
            let next = self.books.borrow_mut().next(self.spec.boundary.stale_copies, self.has_homes());
            let Some((job, slots)) = next else {
                self.work.wait(seen + 1).await;
                continue;
            };
            self.carry_out(job, &slots, &cx).await;
            let mut books = self.books.borrow_mut();
            slots.iter().for_each(|slots| slots.take(&mut books.busy, false));
            drop(books);
            // Other jobs may find free slots now.
            self.work.advance();
        }
    }

    async fn carry_out(&self, job: Job, slots: &[Slots], cx: &Context) {
        let start = cx.time();
        let unflushed = std::mem::take(&mut self.books.borrow_mut().unflushed);
        if unflushed {
            self.flush(cx).await;
        }
        if self.spec.flush_before {
            self.caches.flush(&job.touched).await;
        }
        if self.has_homes() {
            self.forget().await;
        }
        let number = self.begin(&job, cx);
        let given_at = cx.now();
        let counts = !job.warm_up;
        if counts {
            self.books.borrow_mut().execution.begin(cx.time());
        }
        let launches = slots.iter().enumerate().map(|(own, slot)| self.launch(&job, own, slots.len(), slot));
        let launches: Vec<Ticket> = launches.collect();
        for launch in launches {
            launch.wait().await;
        }
        slots.iter().for_each(|slots| self.time.kernel_over(slots.gpu));
        if counts {
            self.books.borrow_mut().execution.end(cx.time());
        }
        self.note_time(&job, cx.now().0 - given_at.0);
        let executed = cx.time();
        match self.spec.flush_late {
            true => {
                let mut books = self.books.borrow_mut();
                (books.unflushed, books.unwritten) = (true, self.spec.boundary.flushes == 0);
            }
            false => self.flush(cx).await,
        }
        if self.spec.flush_after {
            self.caches.flush(&job.reached).await;
        }
        self.end(number);
        let end = if self.spec.write_back == WriteBack::After { executed } else { cx.time() };
        (job.over)(start, end);
    }

    /// Makes GPUs flush the bytes that another may need.
    async fn flush(&self, cx: &Context) {
        let begun = cx.now();
        self.time.flush(true);
        for _ in 0..self.spec.boundary.flushes {
            let flushes: Vec<Ticket> = self.gpus.iter().map(CommandProcessor::flush).collect();
            for flush in flushes {
                flush.wait().await;
            }
        }
        self.time.flush(false);
        if let Some(flush) = &self.flush {
            flush.record(cx.now().0 - begun.0);
        }
    }

    /// Whether the shared cache of one GPU is the home of lines that others write.
    fn has_homes(&self) -> bool {
        self.spec.boundary.flushes > 1
    }

    /// Makes all GPUs invalidate what others than GPUs have written since, before a kernel begins on any of them. If
    /// each GPU did this when its own share begins, another GPU might already have written to it, or have read from it.
    async fn forget(&self) {
        let behind: Vec<usize> = {
            let books = self.books.borrow();
            (0..self.gpus.len()).filter(|gpu| books.behind[*gpu]).collect()
        };
        if behind.is_empty() {
            return;
        }
        let forgotten: Vec<Ticket> =
            behind.iter().map(|gpu| self.gpus[*gpu].recall(Recalled::Stale, Vec::new())).collect();
        for gpu in forgotten {
            gpu.wait().await;
        }
        let mut books = self.books.borrow_mut();
        behind.into_iter().for_each(|gpu| books.behind[gpu] = false);
        drop(books);
        // Other kernels may now run beside this one.
        self.work.advance();
    }

    /// Records the start of a kernel: everything that GPUs wrote is in memory, and their caches are invalidated.
    fn begin(&self, job: &Job, cx: &Context) -> u64 {
        let mut books = self.books.borrow_mut();
        let number = books.begun;
        books.begun += 1;
        if books.running.is_empty() && !books.unwritten {
            self.synchronised();
        }
        books.running.push((number, job.kernel.name().to_owned()));
        if self.spec.regions {
            let running = books.running();
            cx.region(if job.warm_up { WARM_UP } else { &running });
        }
        number
    }

    /// Records the end of a kernel: everything that it wrote is in memory.
    fn end(&self, number: u64) {
        let mut books = self.books.borrow_mut();
        books.running.retain(|(of, _)| *of != number);
        let seen = self.spec.regions && !self.spec.flush_late || self.spec.read_at_once;
        if books.running.is_empty() && seen {
            self.synchronised();
        }
    }

    /// Tells the golden image of a synchronisation. While kernels run concurrently, their GPUs may hold lines that
    /// others have made stale, and no value is guaranteed.
    fn synchronised(&self) {
        if let Some(observer) = &self.observer {
            let seen = if self.spec.boundary.keeps { Seen::Released } else { Seen::Synchronised };
            observer.tell(LineAddr(0), seen);
        }
    }

    fn launch(&self, job: &Job, own: usize, gpus: usize, Slots { gpu, slots }: &Slots) -> Ticket {
        let boundary = &self.spec.boundary;
        let behind = std::mem::take(&mut self.books.borrow_mut().behind[*gpu]);
        let flush = (!self.spec.flush_late || job.flushes) && self.spec.write_back == WriteBack::Within;
        let forget = if behind || boundary.stale_copies { boundary.others_wrote } else { Forget::Nothing };
        let launch = gpu::Launch {
            kernel: job.kernel.clone(),
            map: job.map(own),
            share: (own as u64, gpus as u64),
            forget,
            flush,
        };
        self.time.launch(*gpu);
        self.gpus[*gpu].launch(slots[0], launch)
    }

    /// If kernels are not regions, records the time of the kernel under its name.
    fn note_time(&self, job: &Job, cycles: u64) {
        if self.spec.regions {
            return;
        }
        let mut books = self.books.borrow_mut();
        let times = books.times.entry(job.kernel.name().to_owned());
        times.or_insert_with_key(|name| self.kernels.scope(name.as_str()).histogram("cycles")).record(cycles);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_concurrent_kernels_counts_once() {
        let mut execution = BusyTime::default();
        execution.begin(Time(10));
        execution.begin(Time(12));
        execution.end(Time(15));
        execution.end(Time(20));
        execution.begin(Time(100));
        execution.end(Time(101));
        assert_eq!(execution.total, Time(11));
    }
}
