//! Functional GPUs: kernels execute without a timing model, in slices, on the memory of the process.
//!
//! Host and kernels can wait for each other here, as on hardware with shared memory. If the GPUs have memory of their
//! own, each has a page table, accesses to other pages wait for the driver, and transfers complete at once.

use engine::Time;
use gcn3::{
    dispatch::Dispatch,
    functional::{Execution, Options, Plan, Progress},
};
use mem::{Bytes, PhysAddr, VirtAddr};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

use super::{
    Settings,
    device_memory::{Region, pages_of},
    gpu::{Broken, DeviceFault, DeviceMemory, Done, Ended, Gpus, Memories, Page, Piece, Ready, Transfer},
    process_memory::{ProcessMemory, Reach},
};
use crate::guest::GuestMemory;

/// The default memory size of a GPU.
const GPU_MEMORY: Bytes = Bytes(16 << 30);

/// A running kernel.
#[derive(Debug)]
struct Running {
    launch: u64,
    start: Time,
    execution: Execution,
    /// The GPU that runs it, if it runs on a single one.
    gpu: Option<usize>,
    /// The number of GPUs that run it.
    gpus: usize,
}

/// The pages that one GPU can reach. Never iterated.
pub type Table = FxHashMap<u64, Page>;

/// All GPUs; functionally, one executor does the work of all.
#[derive(Debug)]
pub struct Functional {
    running: Vec<Running>,
    /// The maximum number of instructions per wavefront.
    limit: Option<u64>,
    /// Whether data races are detected.
    races: bool,
    memories: Memories,
    tables: Vec<Table>,
    /// Faults reported to the driver and not yet answered, and pages that the driver has denied.
    told: BTreeSet<(usize, u64)>,
    denied: BTreeSet<(usize, u64)>,
    /// Completed transfers and shootdowns that have not been reported to the driver.
    over: Vec<(u64, Time)>,
    /// Whether a fault has been answered since kernels last ran.
    answered: bool,
}

/// The duration of a transfer: programs may query it, so it must not be zero.
const MOMENT: Time = Time::nanos(1);

impl Functional {
    pub fn with_memories(limit: Option<u64>, races: bool, memories: Memories) -> Self {
        Self {
            running: Vec::new(),
            limit,
            races,
            memories,
            tables: Vec::new(),
            told: BTreeSet::new(),
            denied: BTreeSet::new(),
            over: Vec::new(),
            answered: false,
        }
    }

    /// Functional GPUs for a driver's settings.
    pub fn for_settings(settings: &Settings) -> Self {
        let own = settings.policy.needs_device_memory() || settings.gpu_memory.is_some() || settings.spread.is_some();
        let memories = match own {
            true => Memories {
                device: DeviceMemory::Each { size: settings.gpu_memory.unwrap_or(GPU_MEMORY) },
                reach_host: true,
                reach_peers: true,
                faults: true,
                copies: None,
            },
            false => Memories::ONE,
        };
        Self::with_memories(settings.kernel_limit, settings.races, memories)
    }

    fn is_split(&self) -> bool {
        self.memories.device != DeviceMemory::Host
    }
}

impl Gpus for Functional {
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        Plan::new(dispatch, Options { threads: 1, limit: self.limit })
    }

    fn memories(&self) -> Memories {
        self.memories
    }

    fn start(&mut self, launch: u64, kernel: Ready, _: &mut dyn GuestMemory, now: Time) -> Result<(), Broken> {
        let gpus = kernel.gpu.map_or(0..kernel.gpus, |gpu| gpu..gpu + 1);
        self.tables.resize_with(self.tables.len().max(gpus.end), Table::default);
        for (gpu, pages) in gpus.zip(&kernel.pages) {
            self.tables[gpu] = pages.iter().map(|page| (page.at.0, *page)).collect();
        }
        self.denied.clear();
        let mut execution = Execution::new(kernel.program, kernel.dispatch, kernel.plan, kernel.places);
        if self.races {
            execution.look_for_races();
        }
        self.running.push(Running { launch, start: now, execution, gpu: kernel.gpu, gpus: kernel.gpus });
        Ok(())
    }

    fn needs_pages(&self) -> bool {
        self.is_split()
    }

    fn is_fine_grained(&self) -> bool {
        true
    }

    fn transfers(&self) -> bool {
        self.is_split()
    }

    fn transfer(
        &mut self,
        number: u64,
        transfer: Transfer,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> Result<(), Broken> {
        let frames = guest.frames().ok_or_else(|| Broken("the memory of the process can't be reached".into()))?;
        for Piece { to, from, bytes } in transfer.pieces {
            let mut moved = vec![0; bytes as usize];
            match &transfer.pattern {
                Some(pattern) => {
                    let repeated = pattern.iter().copied().cycle().skip(from.0 as usize % pattern.len().max(1));
                    moved.iter_mut().zip(repeated).for_each(|(byte, value)| *byte = value);
                }
                None => frames.read(from, &mut moved),
            }
            frames.write(to, &moved);
        }
        self.over.push((number, now));
        Ok(())
    }

    fn resolve(&mut self, gpu: usize, page: VirtAddr, answer: Result<Page, String>) {
        self.told.remove(&(gpu, page.0));
        self.answered = true;
        match answer {
            Ok(page) => _ = self.tables[gpu].insert(page.at.0, page),
            Err(_) => _ = self.denied.insert((gpu, page.0)),
        }
    }

    fn shoot(&mut self, number: u64, gpus: &[usize], ranges: &[Region]) {
        for &gpu in gpus {
            for page in ranges.iter().copied().flat_map(pages_of) {
                self.tables.get_mut(gpu).map(|table| table.remove(&page));
            }
        }
        self.over.push((number, Time::ZERO));
    }

    fn take_back(&mut self, number: u64, _: &[PhysAddr]) {
        self.over.push((number, Time::ZERO));
    }

    /// Transfers complete as soon as they are requested, and a kernel whose fault was answered continues at once.
    fn next_end(&self) -> Time {
        match self.over.first() {
            // A fault has been answered: kernels can continue now.
            _ if self.answered => Time::ZERO,
            Some((_, start)) => *start + MOMENT,
            None => Time::NEVER,
        }
    }

    /// Gives each running kernel an equal share of the budget.
    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> Done {
        let share = budget / self.running.len().max(1) as u64;
        let mut done = Done::default();
        self.answered = false;
        let over = std::mem::take(&mut self.over).into_iter();
        done.ended.extend(over.map(|(launch, start)| {
            let end = now.max(start + MOMENT);
            Ended { launch, start, end, error: None }
        }));
        for mut running in std::mem::take(&mut self.running) {
            let before = running.execution.instructions();
            let reach = Reach { tables: &self.tables, denied: &self.denied, gpu: running.gpu, gpus: running.gpus };
            let mut memory = ProcessMemory::new(guest, self.is_split().then_some(reach));
            let progress = running.execution.advance(&mut memory, share.max(1));
            for (gpu, page, write) in memory.into_missing() {
                if self.told.insert((gpu, page)) {
                    done.faults.push(DeviceFault { gpu, page: VirtAddr(page), write });
                }
            }
            done.instructions += running.execution.instructions() - before;
            let error = match progress {
                Ok(Progress::UnderWay) => {
                    self.running.push(running);
                    continue;
                }
                Ok(Progress::Ended(_)) => None,
                Err(error) => Some(error.to_string()),
            };
            done.races.add(running.execution.races());
            done.ended.push(Ended { launch: running.launch, start: running.start, end: now, error });
        }
        done
    }
}
