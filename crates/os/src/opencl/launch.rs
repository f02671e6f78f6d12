//! Kernel launches: the driver writes what a kernel needs to memory, the GPUs run it, and the driver frees that memory.

use crate::state::state;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use engine::{Headway, Time};
use gcn3::{dispatch::Dispatch, functional::Program};
use mem::{Bytes, LINE, PAGE, VirtAddr};

use super::{
    abi::Action,
    command::Step,
    device::PRINTF_BYTES,
    device_memory::{Region, Spread, pages_of},
    driver::Driver,
    gpu::{Broken, Cause, Ended, Gpus, Page, Ready},
    numbered::{self, After},
    pager::Job,
    policy::PolicyKind,
    printf,
};
use crate::guest::GuestMemory;

/// A kernel launch.
#[derive(Debug)]
pub struct Launch {
    pub program: Arc<Program>,
    /// The format strings of its `printf` calls; empty if it has none.
    pub formats: Arc<Vec<String>>,
    pub dispatch: Dispatch,
    /// The GPU that runs it, if it runs on a single one.
    pub gpu: Option<usize>,
    /// Memory that it may use, for policies that move memory before kernels.
    pub bound: Vec<Region>,
}

/// A running kernel: what to inspect and to free when it has ended.
#[derive(Debug, Default)]
pub struct Running {
    formats: Arc<Vec<String>>,
    printf: VirtAddr,
    parts: Parts,
    scratch: Option<Scratch>,
    gpu: Option<usize>,
    bound: Vec<Region>,
    /// Whether its printed text has been transferred to the host.
    pub pulled: bool,
}

/// Scratch memory of a running kernel.
#[derive(Clone, Copy, Debug)]
struct Scratch {
    region: Region,
    /// Whether it was mapped for this launch, so that the CPU's caches may hold zeros of it.
    is_new: bool,
}

/// Memory for launches.
///
/// Arguments and the like are placed on pages that no launch has used before, so that no GPU cache holds stale
/// contents. Scratch memory is reused by later launches, as real drivers do. It has a share for each wavefront that the
/// GPUs can hold, and newly mapped scratch memory must be cleared. Its contents at the start of a kernel are undefined.
#[derive(Debug, Default)]
pub struct Arena {
    next: u64,
    end: u64,
    /// Scratch memory that no kernel is using.
    scratch: Vec<Region>,
    /// Scratch memory that was too small, to be freed.
    dropped: Vec<Region>,
}

state!(struct Arena { next, end, scratch, dropped });

/// The size of each mapping. Only touched pages take up memory.
const ARENA: u64 = 64 << 20;

impl Arena {
    fn take(&mut self, guest: &mut dyn GuestMemory, size: u64) -> Result<VirtAddr, String> {
        if self.end - self.next < size {
            let all = size.max(ARENA);
            self.next = guest.map_anonymous(Bytes(all)).map_err(|error| error.to_string())?.0;
            self.end = self.next + all;
        }
        let taken = VirtAddr(self.next);
        self.next += size;
        Ok(taken)
    }

    /// Takes the smallest scratch memory that is large enough. If there is none, discards all free ones and maps a new
    /// one.
    fn take_scratch(&mut self, guest: &mut dyn GuestMemory, size: Bytes) -> Result<Scratch, String> {
        let large_enough = self.scratch.iter().enumerate().filter(|(_, (_, held))| *held >= size);
        if let Some((at, _)) = large_enough.min_by_key(|(_, (_, held))| *held) {
            return Ok(Scratch { region: self.scratch.remove(at), is_new: false });
        }
        self.dropped.append(&mut self.scratch);
        let address = guest.map_anonymous(size).map_err(|error| error.to_string())?;
        Ok(Scratch { region: (address, size), is_new: true })
    }
}

/// Memory that a kernel needs while it runs.
#[derive(Debug, Default)]
struct Parts(Vec<Region>);

impl Parts {
    fn map(&mut self, guest: &mut dyn GuestMemory, size: Bytes) -> Result<VirtAddr, String> {
        let address = guest.map_anonymous(size).map_err(|error| error.to_string())?;
        self.0.push((address, size));
        Ok(address)
    }

    /// Allocates arguments, packet and queue together in the arena.
    fn place(
        &mut self,
        guest: &mut dyn GuestMemory,
        arena: &mut Arena,
        sizes: [Bytes; 3],
    ) -> Result<[VirtAddr; 3], String> {
        let [kernarg, packet, queue] = sizes.map(|size| size.0.next_multiple_of(LINE as u64));
        let size = (kernarg + packet + queue).next_multiple_of(PAGE);
        let base = arena.take(guest, size)?;
        self.0.push((base, Bytes(size)));
        Ok([base, base + Bytes(kernarg), base + Bytes(kernarg + packet)])
    }
}

/// Why a kernel was not started.
pub enum NotStarted {
    /// There is not enough memory for the launch.
    Refused(String),
    Broken(Broken),
}

/// Writes what a kernel needs to memory. `gpus`: the GPUs, and how many of them run it.
fn place(
    launch: Launch,
    gpus: (&dyn Gpus, usize),
    arena: &mut Arena,
    guest: &mut dyn GuestMemory,
    running: &mut Running,
) -> Result<Ready, String> {
    let Launch { program, formats, mut dispatch, gpu, bound } = launch;
    (running.gpu, running.bound) = (gpu, bound);
    if !formats.is_empty() {
        let printf = running.parts.map(guest, Bytes(PRINTF_BYTES))?;
        let head = [0, PRINTF_BYTES as u32 - printf::HEAD as u32];
        let bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        guest.write(printf, &bytes).map_err(|fault| fault.to_string())?;
        dispatch = dispatch.with_printf_buffer(printf);
        running.printf = printf;
    }
    running.formats = formats;
    let plan = gpus.0.plan(&dispatch);
    let [kernarg, packet, queue, scratch] = plan.part_sizes(&dispatch);
    let [kernarg, packet, queue] = running.parts.place(guest, arena, [kernarg, packet, queue])?;
    let scratch = match Bytes(scratch.0.next_multiple_of(PAGE)) {
        // A kernel without scratch memory still gets a valid address for it.
        Bytes(0) => running.parts.map(guest, Bytes(PAGE))?,
        size => running.scratch.insert(arena.take_scratch(guest, size)?).region.0,
    };
    let places = plan.places(program.image.base, [kernarg, packet, queue, scratch]);
    let contents = [
        (places.kernarg, dispatch.kernarg(&places)),
        (places.packet, dispatch.packet(&places).to_vec()),
        (places.queue, dispatch.queue(&places).to_vec()),
    ];
    for (address, bytes) in contents {
        guest.write(address, &bytes).map_err(|fault| fault.to_string())?;
    }
    Ok(Ready {
        program,
        dispatch,
        plan,
        places,
        gpu,
        gpus: gpus.1,
        pages: Vec::new(),
        reach: Vec::new(),
        touched: Vec::new(),
        guarded: Vec::new(),
        prints: running.printf.0 != 0,
        warm_up: false,
    })
}

impl Driver {
    /// Starts a kernel, or fails its command.
    pub(super) fn start_or_fail(&mut self, event: u64, launch: Launch, guest: &mut dyn GuestMemory, now: Time) {
        match self.start_kernel(event, launch, guest, now) {
            Ok(()) => {}
            Err(NotStarted::Refused(text)) => self.fail(event, &text, now),
            Err(NotStarted::Broken(broken)) => _ = self.broken.get_or_insert(broken),
        }
    }

    /// Frees what a kernel needed; scratch memory is kept for later launches.
    fn release(&mut self, running: Running, guest: &mut dyn GuestMemory) {
        for region in running.parts.0 {
            self.free_now(region, guest);
        }
        self.arena.scratch.extend(running.scratch.map(|scratch| scratch.region));
        if let Some(pager) = &mut self.pager {
            pager.policy.ended(&running.bound);
        }
    }

    /// Transfers the pages of a launch to the memory of the GPUs that run it, and starts the kernel afterwards.
    fn push(
        &mut self,
        event: u64,
        ready: Ready,
        running: Running,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> Result<(), NotStarted> {
        let gpus = self.gpus_of(ready.gpu);
        let Some(pages) = self.place_launch(&ready, &running, &gpus, guest) else {
            self.release(running, guest);
            let text = "the memory of the GPUs is too full for code, arguments and scratch memory of the kernel";
            return Err(NotStarted::Refused(text.to_owned()));
        };
        let mut pairs = Vec::new();
        for page in pages {
            let Some(Ok(from)) = guest.beneath(VirtAddr(page)) else { continue };
            pairs.extend(self.tables.places(page, &gpus).into_iter().map(|to| (to, from)));
        }
        self.running.insert(event, running);
        let after = After::Start { event, ready: Box::new(ready) };
        self.transfer_pages(&pairs, Cause::Launch, after, guest, now);
        Ok(())
    }

    /// Allocates device frames for the pages of a launch; returns the pages to transfer.
    fn place_launch(
        &mut self,
        ready: &Ready,
        running: &Running,
        gpus: &[usize],
        guest: &mut dyn GuestMemory,
    ) -> Option<Vec<u64>> {
        let mut pushed = Vec::new();
        for &region in &running.parts.0 {
            if region.0 == running.printf && running.printf.0 != 0 {
                // All GPUs print to one buffer, whose header the host writes.
                self.tables.settle(region, Spread::Device(gpus[0])).then_some(())?;
                pushed.push(region.0.0);
            } else if region.0 != ready.places.scratch {
                self.tables.settle_apart(region, gpus)?;
                pushed.extend(pages_of(region));
            }
        }
        if let Some(scratch) = running.scratch {
            self.tables.settle_apart(scratch.region, gpus)?;
        }
        for segment in &ready.program.image.segments {
            let region = (segment.address, Bytes(segment.bytes.len() as u64));
            // Global variables of a program have one copy for all GPUs.
            if segment.writable {
                pushed.extend(pages_of(region).filter(|page| self.tables.home(*page).is_none()));
                self.tables.settle(region, Spread::Device(gpus[0])).then_some(())?;
            }
        }
        for segment in ready.program.image.segments.iter().filter(|segment| !segment.writable) {
            let fresh = self.tables.settle_apart((segment.address, Bytes(segment.bytes.len() as u64)), gpus)?;
            pushed.extend(fresh.iter().map(|fresh| fresh.page));
        }
        for region in self.slots.all().collect::<Vec<Region>>() {
            self.tables.settle_apart(region, gpus)?;
            pushed.extend(pages_of(region));
        }
        pushed.sort_unstable();
        pushed.dedup();
        if self.settings.policy == PolicyKind::ZeroCopy {
            self.map_host_memory(gpus, guest);
        }
        Some(pushed)
    }

    /// Maps the host's frames of all buffers into the tables of GPUs.
    fn map_host_memory(&mut self, gpus: &[usize], guest: &mut dyn GuestMemory) {
        let buffers = self.memories.all().map(|memory| (memory.placement.device, memory.placement.size));
        for page in buffers.chain(self.svm.all()).flat_map(pages_of).collect::<Vec<u64>>() {
            let missing: Vec<usize> =
                gpus.iter().copied().filter(|gpu| self.tables.mapped(*gpu, page).is_none()).collect();
            if missing.is_empty() {
                continue;
            }
            let at = VirtAddr(page);
            if let Some(Ok(place)) = guest.beneath(at) {
                guest.share(place);
                missing.into_iter().for_each(|gpu| self.tables.map(gpu, Page { at, place, writable: true }));
            }
        }
    }

    /// Starts a kernel after its pages have been transferred.
    pub(super) fn start_pushed(&mut self, event: u64, mut ready: Ready, guest: &mut dyn GuestMemory, now: Time) {
        ready.pages = self.pages_for(ready.gpu);
        if let Err(broken) = self.gpus.start(event, ready, guest, now) {
            self.broken.get_or_insert(broken);
        }
    }

    /// Writes what a kernel needs to memory, and starts it or the transfers that must precede it.
    pub(super) fn start_kernel(
        &mut self,
        event: u64,
        launch: Launch,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> Result<(), NotStarted> {
        self.note_launch(&launch);
        let mut running = Running::default();
        let count = launch.gpu.map_or(self.settings.gpus.max(1) as usize, |_| 1);
        let mut ready = match place(launch, (&*self.gpus, count), &mut self.arena, guest, &mut running) {
            Ok(ready) => ready,
            Err(text) => {
                self.release(running, guest);
                return Err(NotStarted::Refused(text));
            }
        };
        for region in std::mem::take(&mut self.arena.dropped) {
            self.free_now(region, guest);
        }
        ready.reach = self.reach(&running.parts, ready.places.scratch);
        let touched = std::mem::take(&mut self.touched).into_iter();
        let cleared = running.scratch.filter(|scratch| scratch.is_new).map(|scratch| scratch.region);
        let parts = running.parts.0.iter().copied().chain(cleared);
        // The pager tracks the host's accesses to buffers, so those are left out.
        let copies = self.takes_back();
        let touched = touched.filter(|(base, _)| !(copies && self.knows(VirtAddr(base.0 / PAGE * PAGE))));
        ready.touched = whole_pages(touched.chain(self.slots.all()).chain(parts));
        if copies {
            let buffers = self.memories.all().map(|memory| (memory.placement.device, memory.placement.size));
            ready.guarded = buffers.chain(self.svm.all()).collect();
        }
        if self.tables.is_split() {
            return self.push(event, ready, running, guest, now);
        }
        self.running.insert(event, running);
        if self.gpus.needs_pages() {
            ready.use_host_pages(guest);
        }
        self.gpus.start(event, ready, guest, now).map_err(NotStarted::Broken)
    }

    fn note_launch(&mut self, launch: &Launch) {
        self.settings.monitor.add(Headway { kernels: 1, ..Headway::default() });
        let groups = launch.dispatch.groups().iter().map(|count| u64::from(*count)).product::<u64>();
        let mut usage = self.usage.borrow_mut();
        usage.kernels += 1;
        if let Some(gpu) = launch.gpu {
            usage.groups[gpu] += groups;
            return;
        }
        // Work-group n goes to GPU n modulo the number of GPUs.
        let gpus = usage.groups.len() as u64;
        for (n, dealt) in usage.groups.iter_mut().enumerate() {
            *dealt += (groups + gpus - 1 - n as u64) / gpus;
        }
    }

    /// The memory that a kernel can reach: buffers, shared virtual memory, code, and the launch's own memory except
    /// scratch.
    fn reach(&self, parts: &Parts, scratch: VirtAddr) -> Vec<(VirtAddr, Bytes)> {
        let parts = parts.0.iter().copied().filter(|(base, _)| *base != scratch);
        let buffers = self.memories.all().map(|memory| (memory.placement.device, memory.placement.size));
        let code = self.programs.all().flat_map(|program| program.loaded.iter().flatten().map(|loaded| loaded.memory));
        let all = buffers.chain(self.svm.all()).chain(code).chain(self.slots.all()).chain(parts);
        whole_pages(all)
    }

    /// Lets the GPUs execute about `budget` instructions; returns the instructions executed, and whether anything has
    /// ended or waits for the driver.
    pub(super) fn run_kernels(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> (u64, bool) {
        let done = self.gpus.work(guest, now, budget);
        let mut usage = self.usage.borrow_mut();
        usage.instructions += done.instructions;
        usage.races.add((&done.races.first, done.races.count));
        drop(usage);
        self.settings.monitor.add(Headway { wave_instructions: done.instructions, ..Headway::default() });
        if self.broken.is_none() {
            self.broken = done.broken;
        }
        let answers = !done.ended.is_empty() || !done.faults.is_empty();
        if let Some(pager) = &mut self.pager {
            pager.gpus_ran();
        }
        self.take_faults(done.faults, guest);
        let mut ended = std::mem::take(&mut self.postponed);
        ended.extend(done.ended);
        for ended in ended {
            match self.transfers.remove(&ended.launch) {
                Some(transfer) => self.end_transfer(ended, transfer, guest),
                None if numbered::is_own(ended.launch) => self.end_numbered(ended, guest, now),
                None => self.end_kernel(ended, guest, now),
            }
        }
        (done.instructions, answers)
    }

    /// Transfers a kernel's printed text from its GPUs to the host.
    fn pull(&mut self, ended: Ended, guest: &mut dyn GuestMemory, now: Time) {
        let Some(running) = self.running.get(&ended.launch) else { return };
        let mut pairs = Vec::new();
        for page in pages_of((running.printf, Bytes(PRINTF_BYTES))) {
            if let (Some(from), Some(Ok(to))) = (self.tables.home(page), guest.beneath(VirtAddr(page))) {
                pairs.push((to, from));
            }
        }
        self.transfer_pages(&pairs, Cause::Launch, After::Pulled(ended), guest, now);
    }

    pub(super) fn end_kernel(&mut self, ended: Ended, guest: &mut dyn GuestMemory, now: Time) {
        let Some(running) = self.running.get(&ended.launch) else { return };
        if self.tables.is_split() && running.printf.0 != 0 && !running.pulled {
            return self.pull(ended, guest, now);
        }
        if self.takes_back() && running.printf.0 != 0 && !running.pulled {
            let pages: Vec<u64> = pages_of((running.printf, Bytes(PRINTF_BYTES))).collect();
            return self.take_back(&pages, After::Pulled(ended), guest);
        }
        let text = match running.printf.0 {
            0 => Ok(Vec::new()),
            _ => printf::output(guest, running.printf, &running.formats),
        };
        if text.is_err() && guest.is_waiting() {
            return self.postponed.push(ended);
        }
        // If the program has unmapped the buffer, there is no text.
        let text = text.unwrap_or_default();
        let Ended { launch: event, start, end, error } = ended;
        let mut bound = Vec::new();
        if let Some(running) = self.running.remove(&event) {
            bound.clone_from(&running.bound);
            self.release(running, guest);
        }
        if let Some(error) = error {
            return self.fail(event, &error, end);
        }
        if let Ok(event) = self.events.held_mut(event) {
            event.started(start);
        }
        if !text.is_empty() {
            self.print(event, &text, guest);
        }
        match self.is_paged() {
            true => self.queue_job(Job::Return { event, bound, end }),
            false => self.ready.push_back((event, end)),
        }
    }

    /// Makes the program print what its kernel printed.
    fn print(&mut self, event: u64, text: &[u8], guest: &mut dyn GuestMemory) {
        let size = Bytes(text.len() as u64);
        let Ok(address) = guest.map_anonymous(size) else {
            return self.say("the program's memory is too full for the output of a kernel");
        };
        if guest.write(address, text).is_ok()
            && let Ok(event) = self.events.held_mut(event)
        {
            event.steps.push_front(Step::Unmap(address, size));
            event.steps.push_front(Step::Guest(Action::Print { address, size }));
        }
    }
}

/// The pages of all regions, with adjacent and overlapping ranges merged.
fn whole_pages(regions: impl Iterator<Item = (VirtAddr, Bytes)>) -> Vec<(VirtAddr, Bytes)> {
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for (address, size) in regions.filter(|(_, size)| size.0 > 0) {
        let start = address.0 / PAGE * PAGE;
        let last = address.0.saturating_add(size.0 - 1).min(u64::MAX - PAGE);
        let end = (last / PAGE + 1) * PAGE;
        match ends.entry(start) {
            Entry::Vacant(entry) => _ = entry.insert(end),
            Entry::Occupied(mut entry) => *entry.get_mut() = end.max(*entry.get()),
        }
    }
    let mut joined: Vec<(VirtAddr, Bytes)> = Vec::new();
    for (start, end) in ends {
        match joined.last_mut() {
            Some((base, size)) if start <= base.0 + size.0 => size.0 = size.0.max(end - base.0),
            _ => joined.push((VirtAddr(start), Bytes(end - start))),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_become_whole_pages_and_those_that_touch_become_one() {
        let regions = [(0x5010, 0x10), (0x1ff0, 0x20), (0x3000, 1), (0x5000, 0x800), (0x8000, 0)];
        let pages = whole_pages(regions.map(|(address, size)| (VirtAddr(address), Bytes(size))).into_iter());
        assert_eq!(pages, [(VirtAddr(0x1000), Bytes(0x3000)), (VirtAddr(0x5000), Bytes(0x1000))]);
    }
}
