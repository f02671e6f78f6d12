//! The GPUs without time: kernels run a while at a time, on the memory of the process.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use engine::Time;
use gcn3::{
    dispatch::Dispatch,
    functional::{Execution, Options, Plan, Program, Progress},
};
use mem::{Bytes, VirtAddr};

use super::{
    Usage, abi::Action, command::Step, device::PRINTF_BYTES, driver::Driver, printf, process_memory::ProcessMemory,
};
use crate::guest::GuestMemory;

/// A kernel that is to run.
#[derive(Debug)]
pub struct Launch {
    pub program: Arc<Program>,
    /// What its `printf`s print; empty if it has none.
    pub formats: Arc<Vec<String>>,
    pub dispatch: Dispatch,
    /// The GPU that runs it, if it is one alone.
    pub gpu: Option<usize>,
}

/// A kernel that runs.
#[derive(Debug)]
struct Running {
    event: u64,
    execution: Execution,
    formats: Arc<Vec<String>>,
    printf: VirtAddr,
    parts: Parts,
}

/// Memory that a kernel needs while it runs.
#[derive(Debug, Default)]
struct Parts(Vec<(VirtAddr, Bytes)>);

impl Parts {
    fn map(&mut self, guest: &mut dyn GuestMemory, size: Bytes) -> Result<VirtAddr, String> {
        let size = Bytes(size.0.max(64));
        let address = guest.map_anonymous(size).map_err(|error| error.to_string())?;
        self.0.push((address, size));
        Ok(address)
    }

    fn unmap(self, guest: &mut dyn GuestMemory) {
        for (address, size) in self.0 {
            guest.unmap(address, size);
        }
    }
}

/// All GPUs: in this mode their work is done by one.
#[derive(Debug)]
pub struct Gpu {
    running: Vec<Running>,
    limit: Option<u64>,
    pub usage: Rc<RefCell<Usage>>,
}

impl Gpu {
    pub fn new(gpus: u32, limit: Option<u64>) -> Self {
        let usage = Usage { groups: vec![0; gpus as usize], ..Usage::default() };
        Self { running: Vec::new(), limit, usage: Rc::new(RefCell::new(usage)) }
    }

    /// Puts what a kernel needs into memory, and lets it run from now on.
    pub fn start(&mut self, event: u64, launch: Launch, guest: &mut dyn GuestMemory) -> Result<(), String> {
        let groups = launch.dispatch.groups().iter().map(|count| u64::from(*count)).product::<u64>();
        let (one, mut parts) = (launch.gpu, Parts::default());
        match place(launch, self.limit, guest, &mut parts) {
            Ok((execution, formats, printf)) => {
                self.running.push(Running { event, execution, formats, printf, parts });
            }
            Err(text) => {
                parts.unmap(guest);
                return Err(text);
            }
        }
        let mut usage = self.usage.borrow_mut();
        usage.kernels += 1;
        if let Some(gpu) = one {
            usage.groups[gpu] += groups;
            return Ok(());
        }
        // Workgroup n goes to GPU n modulo their number.
        let gpus = usage.groups.len() as u64;
        for (n, dealt) in usage.groups.iter_mut().enumerate() {
            *dealt += (groups + gpus - 1 - n as u64) / gpus;
        }
        Ok(())
    }
}

type Placed = (Execution, Arc<Vec<String>>, VirtAddr);

fn place(launch: Launch, limit: Option<u64>, guest: &mut dyn GuestMemory, parts: &mut Parts) -> Result<Placed, String> {
    let Launch { program, formats, mut dispatch, .. } = launch;
    let mut printf = VirtAddr(0);
    if !formats.is_empty() {
        printf = parts.map(guest, Bytes(PRINTF_BYTES))?;
        let head = [0, PRINTF_BYTES as u32 - printf::HEAD as u32];
        let bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        guest.write(printf, &bytes).map_err(|fault| fault.to_string())?;
        dispatch = dispatch.with_printf_buffer(printf);
    }
    let plan = Plan::new(&dispatch, Options { threads: 1, limit });
    let mut places = [VirtAddr(0); 4];
    for (place, size) in places.iter_mut().zip(plan.part_sizes(&dispatch)) {
        *place = parts.map(guest, size)?;
    }
    let places = plan.places(program.image.base, places);
    let contents = [
        (places.kernarg, dispatch.kernarg(&places)),
        (places.packet, dispatch.packet(&places).to_vec()),
        (places.queue, dispatch.queue(&places).to_vec()),
    ];
    for (address, bytes) in contents {
        guest.write(address, &bytes).map_err(|fault| fault.to_string())?;
    }
    Ok((Execution::new(program, dispatch, plan, places), formats, printf))
}

impl Driver {
    /// Lets every kernel under way run for its share of `budget` instructions; gives the instructions executed.
    pub(super) fn run_kernels(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> u64 {
        let share = budget / self.gpu.running.len().max(1) as u64;
        let mut executed = 0;
        let mut ended = Vec::new();
        for running in std::mem::take(&mut self.gpu.running) {
            let mut running = running;
            let before = running.execution.instructions();
            let progress = running.execution.advance(&mut ProcessMemory::new(guest), share.max(1));
            let after = running.execution.instructions();
            executed += (after - before).max(1);
            self.gpu.usage.borrow_mut().instructions += after - before;
            match progress {
                Ok(Progress::UnderWay) => self.gpu.running.push(running),
                Ok(Progress::Ended(_)) => ended.push((running, None)),
                Err(error) => ended.push((running, Some(error.to_string()))),
            }
        }
        for (running, error) in ended {
            self.end_kernel(running, error, guest, now);
        }
        executed
    }

    fn end_kernel(&mut self, running: Running, error: Option<String>, guest: &mut dyn GuestMemory, now: Time) {
        let text =
            if running.printf.0 == 0 { Vec::new() } else { printf::output(guest, running.printf, &running.formats) };
        running.parts.unmap(guest);
        if let Some(error) = error {
            return self.fail(running.event, &error, now);
        }
        if !text.is_empty() {
            self.print(running.event, &text, guest);
        }
        self.ready.push_back(running.event);
    }

    /// Lets the program print what its kernel printed.
    fn print(&mut self, event: u64, text: &[u8], guest: &mut dyn GuestMemory) {
        let size = Bytes(text.len() as u64);
        let Ok(address) = guest.map_anonymous(size) else {
            return self.say("there is no room left in the program's memory for what a kernel prints");
        };
        if guest.write(address, text).is_ok()
            && let Ok(event) = self.events.held_mut(event)
        {
            event.steps.push_front(Step::Unmap(address, size));
            event.steps.push_front(Step::Guest(Action::Print { address, size }));
        }
    }
}
