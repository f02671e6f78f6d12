//! The GPUs without time: kernels run a while at a time, on the memory of the process.
//!
//! Host and kernels can wait for each other here, as on hardware that shares its memory.

use engine::Time;
use gcn3::{
    dispatch::Dispatch,
    functional::{Execution, Options, Plan, Progress},
};

use super::{
    gpu::{Broken, Done, Ended, Gpus, Ready},
    process_memory::ProcessMemory,
};
use crate::guest::GuestMemory;

/// A kernel that runs.
#[derive(Debug)]
struct Running {
    launch: u64,
    start: Time,
    execution: Execution,
}

/// All GPUs: in this mode their work is done by one.
#[derive(Debug)]
pub struct Functional {
    running: Vec<Running>,
    /// The most instructions that one wavefront may execute.
    limit: Option<u64>,
    /// Whether data races are looked for.
    races: bool,
}

impl Functional {
    pub fn new(limit: Option<u64>, races: bool) -> Self {
        Self { running: Vec::new(), limit, races }
    }
}

impl Gpus for Functional {
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        Plan::new(dispatch, Options { threads: 1, limit: self.limit })
    }

    fn start(&mut self, launch: u64, kernel: Ready, _: &mut dyn GuestMemory, now: Time) -> Result<(), Broken> {
        let mut execution = Execution::new(kernel.program, kernel.dispatch, kernel.plan, kernel.places);
        if self.races {
            execution.look_for_races();
        }
        self.running.push(Running { launch, start: now, execution });
        Ok(())
    }

    fn needs_pages(&self) -> bool {
        false
    }

    fn is_fine_grained(&self) -> bool {
        true
    }

    /// Every kernel under way gets its share of the budget.
    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> Done {
        let share = budget / self.running.len().max(1) as u64;
        let mut done = Done::default();
        for mut running in std::mem::take(&mut self.running) {
            let before = running.execution.instructions();
            let progress = running.execution.advance(&mut ProcessMemory::new(guest), share.max(1));
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
