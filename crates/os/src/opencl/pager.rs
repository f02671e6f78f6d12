//! The pager: moves pages on demand. The driver executes what a [policy](super::policy::Paging) decides, one job after
//! another.
//!
//! A job begins when no other is in progress, so the policy sees no page in flight. A host fault may have to wait for
//! the kernels that use the page, and later jobs wait behind it. Running kernels don't wait for jobs, except when they
//! fault, which happens only under a policy that never makes the host wait for kernels.

use super::{
    command::Step,
    device_memory::{Region, page_of, pages_of},
    driver::Driver,
    gpu::{Cause, DeviceFault, Ended, Page},
    launch::Launch,
    numbered::After,
    policy::{Act, ForHost, Moved, Paging, Spot, World},
};
use crate::{
    guest::{GuestMemory, HostFault},
    state::{Read, Reader, State},
};
use engine::Time;
use mem::{Bytes, PAGE, PhysAddr, VirtAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A reason to move pages.
#[derive(Debug)]
pub enum Job {
    /// A kernel is about to start.
    Call {
        event: u64,
        launch: Box<Launch>,
    },
    /// A kernel has ended; its command continues after the job.
    Return {
        event: u64,
        bound: Vec<Region>,
        end: Time,
    },
    Host {
        page: u64,
        write: bool,
    },
    Device(DeviceFault),
    /// Memory is to be freed of which memories of GPUs may hold copies.
    Free(Region),
    Migrate {
        event: u64,
        regions: Vec<Region>,
        gpu: Option<usize>,
        undefined: bool,
    },
}

/// The job in progress: its remaining actions, and what continues after it.
#[derive(Debug, Default)]
struct Current {
    acts: VecDeque<Act>,
    then: Option<Then>,
}

#[derive(Debug)]
enum Then {
    Start {
        event: u64,
        launch: Box<Launch>,
    },
    Ready {
        event: u64,
        end: Option<Time>,
    },
    /// The host repeats its access to this page.
    Host {
        page: u64,
        write: bool,
    },
    Free(Region),
}

pub struct Pager {
    pub policy: Box<dyn Paging>,
    jobs: VecDeque<Job>,
    current: Option<Current>,
    /// The number of the current job's transfer or shootdown in flight.
    awaited: Option<u64>,
    /// Faults of the host that are queued as jobs or being served.
    faults: BTreeSet<(u64, bool)>,
    /// Faults of the host in flight to the driver, with their arrival times.
    entering: BTreeMap<(u64, bool), Time>,
    /// Memory that the program freed while a job was in progress.
    limbo: Vec<Region>,
    /// Whether GPUs must run before the next fault is served, so that a page is not taken away before its fault has
    /// been of use.
    yields: bool,
    /// Until then no fault of a GPU is served, so that the host can use the page it got.
    host_until: Time,
}

/// How long the host may use a page before a GPU can take it away again.
const HOST_TURN: Time = Time::micros(1);

impl Pager {
    pub fn new(policy: Box<dyn Paging>) -> Self {
        Self {
            policy,
            jobs: VecDeque::new(),
            current: None,
            awaited: None,
            faults: BTreeSet::new(),
            entering: BTreeMap::new(),
            limbo: Vec::new(),
            yields: false,
            host_until: Time::ZERO,
        }
    }

    /// When the next job can start, if it is only delayed.
    pub fn next_event(&self) -> Time {
        match self.jobs.front() {
            Some(Job::Device(_)) if self.current.is_none() => self.host_until,
            _ => Time::NEVER,
        }
    }

    /// Whether no job and no fault of the host is in flight.
    pub fn is_at_rest(&self) -> bool {
        self.is_idle() && self.awaited.is_none() && self.faults.is_empty() && self.entering.is_empty()
    }

    pub fn save(&self, to: &mut Vec<u8>) -> Result<(), String> {
        (self.yields, self.host_until).save(to);
        self.policy.save(to)
    }

    pub fn load(&mut self, from: &mut Reader) -> Read<()> {
        (self.yields, self.host_until) = State::load(from)?;
        self.policy.load(from)
    }

    /// Whether there is no job.
    pub fn is_idle(&self) -> bool {
        self.current.is_none() && self.jobs.is_empty()
    }

    /// Called when GPUs have run.
    pub fn gpus_ran(&mut self) {
        self.yields = false;
    }
}

impl Driver {
    /// Whether the policy moves pages on demand.
    pub(super) fn is_paged(&self) -> bool {
        self.pager.is_some()
    }

    /// Whether memories of GPUs hold copies of host memory.
    pub(super) fn takes_back(&self) -> bool {
        self.pager.as_ref().is_some_and(|pager| pager.policy.takes_back())
    }

    pub(super) fn queue_job(&mut self, job: Job) {
        if let Some(pager) = &mut self.pager {
            pager.jobs.push_back(job);
        }
    }

    /// Adds memory that host and devices will use.
    pub(super) fn page_region(&mut self, region: Region, guest: &mut dyn GuestMemory) -> super::error::Cl<()> {
        let Some(mut pager) = self.pager.take() else { return Ok(()) };
        let added = self.ask(|world| pager.policy.add(region, world));
        self.pager = Some(pager);
        for act in added? {
            self.act_at_once(act, guest);
        }
        Ok(())
    }

    /// Frees memory of buffers, now or after the current job.
    pub(super) fn free_region(&mut self, region: Region, guest: &mut dyn GuestMemory) {
        if let Some(pager) = &mut self.pager {
            if pager.current.is_some() {
                pager.limbo.push(region);
                return;
            }
            pager.policy.remove(region);
        }
        self.free_now(region, guest);
    }

    /// Frees memory that no job refers to. If memories of GPUs may hold copies, they drop these first.
    pub(super) fn free_now(&mut self, region: Region, guest: &mut dyn GuestMemory) {
        if self.settings.flushes_buffers {
            // Devices may hold lines of its frames, so these are not used again.
            return;
        }
        if self.takes_back() {
            return self.queue_job(Job::Free(region));
        }
        self.give_up(region, guest);
    }

    fn give_up(&mut self, region: Region, guest: &mut dyn GuestMemory) {
        guest.unmap(region.0, region.1);
        for frame in self.tables.release(region) {
            self.spoil(frame, guest);
        }
    }

    fn ask<T>(&mut self, question: impl FnOnce(&mut World<'_>) -> T) -> T {
        let mut usage = self.usage.borrow_mut();
        question(&mut World { tables: &mut self.tables, running: self.running.len(), counts: &mut usage.paged })
    }

    /// The regions that a kernel may use: its arguments, and shared virtual memory that the host has not mapped for
    /// writing.
    pub(super) fn bound_regions(&self, memories: &[u64]) -> Vec<Region> {
        let buffers = memories.iter().filter_map(|memory| self.memories.held(*memory).ok());
        let buffers = buffers.map(|memory| (memory.placement.device, memory.placement.size));
        let free = |region: &Region| !self.svm_written.contains_key(&region.0.0);
        buffers.chain(self.svm.all().filter(free)).collect()
    }

    /// Handles an access of a thread to a page that the policy guards.
    pub(super) fn serve_host(
        &mut self,
        address: VirtAddr,
        write: bool,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> HostFault {
        let page = page_of(address);
        if let Some(until) = self.enter_fault(page, write, now) {
            return HostFault::Wait { until };
        }
        let Some(mut pager) = self.pager.take() else { return HostFault::NotMine };
        if !pager.is_idle() || pager.yields {
            if pager.faults.insert((page, write)) {
                pager.jobs.push_back(Job::Host { page, write });
            }
            self.pager = Some(pager);
            return HostFault::Wait { until: Time::NEVER };
        }
        let answer = self.ask(|world| pager.policy.host(page, write, world));
        self.pager = Some(pager);
        let ForHost::Do(acts) = answer else {
            if matches!(answer, ForHost::NotMine) {
                return HostFault::NotMine;
            }
            if let Some(pager) = &mut self.pager {
                pager.faults.insert((page, write));
                pager.jobs.push_back(Job::Host { page, write });
            }
            return HostFault::Wait { until: Time::NEVER };
        };
        self.usage.borrow_mut().paged.host_faults += 1;
        if let Some(pager) = &mut self.pager {
            pager.faults.insert((page, write));
        }
        self.begin_job(acts, Some(Then::Host { page, write }));
        self.pump_jobs(guest, now);
        // The thread waits only for its own page, not for other work such as writing a block back.
        match self.pager.as_ref().is_some_and(|pager| pager.faults.contains(&(page, write))) {
            true => HostFault::Wait { until: Time::NEVER },
            false => HostFault::Repaired,
        }
    }

    /// When a fault of the host arrives in the driver; none if it has arrived.
    fn enter_fault(&mut self, page: u64, write: bool, now: Time) -> Option<Time> {
        let pager = self.pager.as_mut()?;
        // A queued fault has already arrived.
        if pager.faults.contains(&(page, write)) {
            return None;
        }
        let length = self.settings.costs.fault(pager.policy.pieces(page)?);
        let until = *pager.entering.entry((page, write)).or_insert(now + length);
        if now < until {
            return Some(until);
        }
        pager.entering.remove(&(page, write));
        let mut usage = self.usage.borrow_mut();
        usage.paged.fault_time = usage.paged.fault_time + length;
        None
    }

    fn begin_job(&mut self, acts: Vec<Act>, then: Option<Then>) {
        if let Some(pager) = &mut self.pager {
            pager.current = Some(Current { acts: acts.into(), then });
        }
    }

    /// Advances jobs as far as possible now; returns whether anything was done.
    pub(super) fn pump_jobs(&mut self, guest: &mut dyn GuestMemory, now: Time) -> bool {
        let mut moved = false;
        loop {
            let Some(pager) = &mut self.pager else { return moved };
            if pager.awaited.is_some() {
                return moved;
            }
            let Some(current) = &mut pager.current else {
                if !self.next_job(now) {
                    return moved;
                }
                moved = true;
                continue;
            };
            moved = true;
            match current.acts.pop_front() {
                Some(act) => self.act(act, guest, now),
                None => {
                    let then = current.then.take();
                    pager.current = None;
                    for region in std::mem::take(&mut pager.limbo) {
                        self.free_region(region, guest);
                    }
                    self.finish_job(then, guest, now);
                }
            }
        }
    }

    /// Starts the next job, if one can start.
    fn next_job(&mut self, now: Time) -> bool {
        let Some(mut pager) = self.pager.take() else { return false };
        let begun = self.choose_job(&mut pager, now);
        self.pager = Some(pager);
        match begun {
            Some((acts, then)) => self.begin_job(acts, then),
            None => return false,
        }
        true
    }

    fn choose_job(&mut self, pager: &mut Pager, now: Time) -> Option<(Vec<Act>, Option<Then>)> {
        let leisure = self.ask(|world| pager.policy.leisure(world));
        if !leisure.is_empty() {
            return Some((leisure, None));
        }
        let policy = &mut pager.policy;
        match pager.jobs.front()? {
            Job::Host { .. } | Job::Device(_) if pager.yields => return None,
            Job::Host { page, write } => {
                let (page, write) = (*page, *write);
                let acts = match self.ask(|world| policy.host(page, write, world)) {
                    ForHost::Later => return None,
                    // The repeated access will get this answer itself.
                    ForHost::NotMine => Vec::new(),
                    ForHost::Do(acts) => acts,
                };
                self.usage.borrow_mut().paged.host_faults += 1;
                pager.jobs.pop_front();
                return Some((acts, Some(Then::Host { page, write })));
            }
            Job::Device(_) if now < pager.host_until => return None,
            _ => {}
        }
        match pager.jobs.pop_front()? {
            Job::Call { event, launch } => {
                let gpus = self.gpus_of(launch.gpu);
                let acts = self.ask(|world| policy.call(&launch.bound, &gpus, world));
                Some((acts, Some(Then::Start { event, launch })))
            }
            Job::Return { event, bound, end } => {
                Some((policy.give_back(&bound), Some(Then::Ready { event, end: Some(end) })))
            }
            Job::Device(fault) => {
                self.usage.borrow_mut().paged.device_faults += 1;
                let acts = self.ask(|world| policy.device(fault, world));
                Some((acts.unwrap_or_else(|| vec![Act::Answer(fault)]), None))
            }
            Job::Migrate { event, regions, gpu, undefined } => {
                let one = |region| self.ask(|world| policy.migrate(region, gpu, undefined, world));
                let acts = regions.into_iter().flat_map(one).collect();
                Some((join(acts), Some(Then::Ready { event, end: None })))
            }
            Job::Free(region) => Some((vec![Act::TakeBack(pages_of(region).collect())], Some(Then::Free(region)))),
            Job::Host { .. } => None,
        }
    }

    fn finish_job(&mut self, then: Option<Then>, guest: &mut dyn GuestMemory, now: Time) {
        match then {
            None => {}
            Some(Then::Free(region)) => self.give_up(region, guest),
            Some(Then::Host { page, write }) => {
                if let Some(pager) = &mut self.pager {
                    pager.faults.remove(&(page, write));
                    pager.host_until = now + HOST_TURN;
                }
            }
            Some(Then::Ready { event, end }) => self.ready.push_back((event, end.unwrap_or(now).max(now))),
            Some(Then::Start { event, launch }) => self.start_or_fail(event, *launch, guest, now),
        }
    }

    /// Executes one action, or starts it and waits for its end.
    fn act(&mut self, act: Act, guest: &mut dyn GuestMemory, now: Time) {
        match act {
            Act::Move(moves, cause) => self.move_pages(&moves, cause, guest, now),
            Act::Fetch(region, cause) => {
                let home = |page| Some(Spot::Device(self.tables.home(page)?));
                let moves = pages_of(region).filter_map(|page| Some(Moved { page, to: Spot::Host, from: home(page)? }));
                let moves: Vec<Moved> = moves.collect();
                self.move_pages(&moves, cause, guest, now);
            }
            Act::Unmap(gpus, pages) => {
                for page in &pages {
                    gpus.iter().for_each(|gpu| self.tables.unmap(*gpu, *page));
                }
                if gpus.is_empty() || !self.tables.memories.faults || self.forgets(Forgotten::Shootdown) {
                    return;
                }
                let ranges: Vec<Region> = pages.iter().map(|page| (VirtAddr(*page), Bytes(PAGE))).collect();
                let number = self.number(After::Job, Vec::new());
                self.gpus.shoot(number, &gpus, &ranges);
                self.await_number(number);
            }
            Act::TakeBack(pages) => self.take_back(&pages, After::Job, guest),
            other => self.act_at_once(other, guest),
        }
    }

    /// Makes memories of GPUs write back and drop their copies of some pages.
    pub(super) fn take_back(&mut self, pages: &[u64], after: After, guest: &mut dyn GuestMemory) {
        let frames = pages.iter().filter_map(|page| guest.beneath(VirtAddr(*page))?.ok());
        let frames: Vec<PhysAddr> = frames.collect();
        let waits = matches!(after, After::Job);
        let number = self.number(after, Vec::new());
        self.gpus.take_back(number, &frames);
        if waits {
            self.await_number(number);
        }
    }

    fn act_at_once(&mut self, act: Act, guest: &mut dyn GuestMemory) {
        match act {
            Act::Guard(region, guard) => {
                guest.guard(region.0, region.1, guard);
                // The rights have changed, so a fault in flight there is dropped: the access is repeated, and faults
                // again if necessary.
                if let Some(pager) = &mut self.pager {
                    let base = page_of(region.0);
                    pager.entering.retain(|(page, _), _| *page < base || region.0.0 + region.1.0 <= *page);
                }
            }
            Act::Map(gpu, page) => self.tables.map(gpu, page),
            Act::Home(page, frame) => self.tables.set_home(page, frame),
            Act::Free(frame) => self.tables.give_back(frame),
            Act::Answer(fault) => self.answer(fault),
            Act::Spoil(page, Spot::Host) if self.settings.poison => {
                if let Some(Ok(frame)) = guest.beneath(VirtAddr(page)) {
                    self.spoil(frame, guest);
                }
            }
            Act::Spoil(_, Spot::Device(frame)) => self.spoil(frame, guest),
            Act::Spoil(..) => {}
            Act::Move(..) | Act::Fetch(..) | Act::Unmap(..) | Act::TakeBack(_) => unreachable!("these take time"),
        }
    }

    fn answer(&mut self, fault: DeviceFault) {
        let page = self.tables.mapped(fault.gpu, fault.page.0).filter(|page| page.writable || !fault.write);
        let answer = page.ok_or_else(|| match self.knows(fault.page) {
            true => format!("page {} has no room in the memory of GPU {}", fault.page, fault.gpu),
            false => format!("nothing that kernels may use lies at {}", fault.page),
        });
        self.gpus.resolve(fault.gpu, fault.page, answer);
        if let Some(pager) = &mut self.pager {
            pager.yields = !self.gpus.keeps_answers();
        }
    }

    pub(super) fn knows(&self, page: VirtAddr) -> bool {
        let holds = |(base, size): Region| base.0 < page.0 + PAGE && page.0 < base.0 + size.0;
        self.memories.all().any(|memory| holds((memory.placement.device, memory.placement.size)))
            || self.svm.all().any(holds)
    }

    fn move_pages(&mut self, moves: &[Moved], cause: Cause, guest: &mut dyn GuestMemory, now: Time) {
        if moves.is_empty() || self.forgets(Forgotten::Transfer) {
            return;
        }
        let mut pairs = Vec::new();
        for moved in moves {
            let mut place = |spot| match spot {
                Spot::Device(frame) => Some(frame),
                // A page that the program itself has unmapped needs no transfer.
                Spot::Host => guest.beneath(VirtAddr(moved.page))?.ok(),
            };
            if let (Some(to), Some(from)) = (place(moved.to), place(moved.from)) {
                pairs.push((to, from));
            }
        }
        if let Some(number) = self.transfer_pages(&pairs, cause, After::Job, guest, now) {
            self.await_number(number);
        }
    }

    fn await_number(&mut self, number: u64) {
        if let Some(pager) = &mut self.pager {
            pager.awaited = Some(number);
        }
    }

    /// Called when the operation that the current job waits for has ended.
    pub(super) fn job_goes_on(&mut self, _: Ended) {
        if let Some(pager) = &mut self.pager {
            pager.awaited = None;
        }
    }

    /// Queues or handles page faults of GPUs.
    pub(super) fn take_faults(&mut self, faults: Vec<DeviceFault>, guest: &mut dyn GuestMemory) {
        for fault in faults {
            match self.is_paged() {
                true => self.queue_job(Job::Device(fault)),
                false => self.place_first_touch(fault, guest),
            }
        }
    }

    /// Places a page with the GPU that touches it first, under a policy that does not move pages.
    fn place_first_touch(&mut self, fault: DeviceFault, _: &mut dyn GuestMemory) {
        self.usage.borrow_mut().paged.device_faults += 1;
        if self.knows(fault.page)
            && self.tables.home(fault.page.0).is_none()
            && let Some(frame) = self.tables.take(fault.gpu, fault.page.0)
        {
            self.tables.set_home(fault.page.0, frame);
        }
        self.answer(fault);
    }

    /// Overwrites a frame with invalid contents, so that tests notice if it is still used.
    fn spoil(&mut self, frame: PhysAddr, guest: &mut dyn GuestMemory) {
        if self.settings.poison
            && let Some(frames) = guest.frames()
        {
            frames.write(frame, &[0xdb; PAGE as usize]);
        }
    }

    /// Whether this operation is to be omitted, once in a run, to test that the omission is detected.
    fn forgets(&mut self, what: Forgotten) -> bool {
        match &mut self.settings.forget {
            Some((forgotten, 0)) if *forgotten == what => {
                self.settings.forget = None;
                true
            }
            Some((forgotten, left)) if *forgotten == what => {
                *left -= 1;
                false
            }
            _ => false,
        }
    }
}

/// Operations that tests can omit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    Transfer,
    Shootdown,
}

/// Merges all moves into one, if only changes of tables lie between them.
fn join(acts: Vec<Act>) -> Vec<Act> {
    let (mut before, mut moves, mut after, mut cause) = (Vec::new(), Vec::new(), Vec::new(), Cause::Prefetch);
    let simple =
        |act: &Act| !matches!(act, Act::Unmap(..) | Act::TakeBack(_) | Act::Fetch(..) | Act::Move(_, Cause::Eviction));
    if !acts.iter().all(simple) {
        return acts;
    }
    for act in acts {
        match act {
            Act::Move(some, why) => {
                moves.extend(some);
                cause = why;
            }
            Act::Guard(_, crate::guest::Guard::All) => before.push(act),
            other => after.push(other),
        }
    }
    before.push(Act::Move(moves, cause));
    before.extend(after);
    before
}

impl Driver {
    /// The GPUs that run a launch.
    pub(super) fn gpus_of(&self, gpu: Option<usize>) -> Vec<usize> {
        gpu.map_or_else(|| (0..self.tables.gpus).collect(), |gpu| vec![gpu])
    }

    /// A step that migrates pages to the place that the program requests.
    pub(super) fn migrate_step(&self, regions: Vec<Region>, gpu: Option<usize>, undefined: bool) -> Vec<Step> {
        match self.is_paged() {
            true => vec![Step::Migrate { regions, gpu, undefined }],
            false => Vec::new(),
        }
    }

    /// The current tables of the GPUs that run a launch.
    pub(super) fn pages_for(&self, gpu: Option<usize>) -> Vec<std::sync::Arc<Vec<Page>>> {
        self.gpus_of(gpu).into_iter().map(|gpu| self.tables.all(gpu)).collect()
    }
}
