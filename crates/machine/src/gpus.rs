//! A machine's GPUs, as the OpenCL driver of a process sees them.
//!
//! A kernel is simulated to its end when it is started, on what memory holds then; the program hears of its end, and sees
//! what it wrote, when its own time has come there. The host goes on meanwhile, and its kernels follow each other as their
//! queues say. Host and kernel that talk to each other while the kernel runs can't do so here: memory is kept in step at the
//! borders of kernels only, as on a GPU with memory of its own.

use crate::{
    memory_sync::{self, Changes},
    session::{self, Launch, Options, Session},
    spec::Machine,
};
use engine::{Outcome, Run, Time};
use gcn3::{dispatch::Dispatch, functional::Plan};
use gpu::{AddressMap, Kernel};
use mem::Bytes;
use os::{
    forward::Forward,
    guest::GuestMemory,
    opencl::{
        Forwarding,
        gpu::{Broken, Done, Ended, Ready},
    },
};
use std::{cell::RefCell, collections::VecDeque, rc::Rc, sync::Arc};

/// A kernel that has been simulated, and whose end has not come yet for the program.
struct Running {
    ended: Ended,
    changes: Changes,
}

struct State {
    session: Session,
    /// Wavefronts that can be under way at a time.
    wavefronts: u64,
    /// When the run ends at the latest.
    until: Time,
    running: VecDeque<Running>,
}

/// The GPUs. Clones are the same GPUs: the driver has one, whoever wants the statistics in the end another.
#[derive(Clone)]
pub struct Gpus(Rc<RefCell<Option<State>>>);

impl Gpus {
    /// Builds the machine.
    pub fn new(machine: &Machine, options: &Options) -> Self {
        let session = Session::start(machine, options);
        let until = options.until.unwrap_or(Time::NEVER);
        let state = State { session, wavefronts: machine.wavefronts(), until, running: VecDeque::new() };
        Self(Rc::new(RefCell::new(Some(state))))
    }

    /// What a driver is given; of a run that is fast-forwarded, kernels run without time at first.
    pub fn for_driver(&self, forward: Option<&Forward>) -> Box<dyn os::opencl::gpu::Gpus> {
        let timed = Box::new(self.clone());
        match forward {
            Some(forward) => Box::new(Forwarding::new(forward.clone(), timed)),
            None => timed,
        }
    }

    /// Ends the run; none if that has been asked for before.
    pub fn finish(&self) -> Option<Run> {
        Some(self.0.borrow_mut().take()?.session.finish())
    }
}

impl State {
    /// Gives the program what kernels changed that have ended by `now`; those that end at one time in their order.
    fn end(&mut self, guest: &mut dyn GuestMemory, now: Time) -> Vec<Ended> {
        let mut ended = Vec::new();
        while self.running.front().is_some_and(|running| running.ended.end <= now) {
            let Some(running) = self.running.pop_front() else { break };
            for (address, bytes) in running.changes {
                // Memory that is gone by now needs no bytes.
                _ = guest.write(address, &bytes);
            }
            ended.push(running.ended);
        }
        ended
    }

    fn start(&mut self, launch: u64, ready: Ready, guest: &mut dyn GuestMemory, now: Time) -> Result<(), String> {
        // Kernels of other queues may still run as the program sees it; what they wrote must not be undone.
        for running in &mut self.running {
            for (address, bytes) in std::mem::take(&mut running.changes) {
                _ = guest.write(address, &bytes);
            }
        }
        let code = ready.program.code_of(ready.dispatch.kernel()).map_err(|error| error.to_string())?;
        let kernel = Kernel { dispatch: ready.dispatch, places: ready.places, code: Arc::clone(code) };
        let name = kernel.name().to_owned();
        let scratch = (ready.places.scratch, Bytes(ready.places.scratch_size));
        let map = AddressMap::new(ready.reach.iter().copied().chain([scratch]).map(|(base, size)| (base, size, true)));
        // What scratch memory holds is nobody's business before and after.
        let mut read = |address, bytes: &mut [u8]| guest.read(address, bytes).is_ok();
        memory_sync::push(&mut self.session, &ready.reach, &mut read);
        let (map, gpu, warm_up) = (Arc::new(map), ready.gpu, ready.warm_up);
        let launched = self.session.launch(Launch { kernel, map, gpu, at: now, warm_up });
        let (session::Ended { start, end }, changes) = match launched {
            Ok(ended) => (ended, memory_sync::pull(&self.session, &ready.reach, &mut read)),
            // The program may go on until then, and ends there too.
            Err(session::Broken(outcome)) if *outcome == Outcome::TimeLimit => {
                (session::Ended { start: now, end: self.until }, Changes::new())
            }
            Err(session::Broken(outcome)) => return Err(told(&name, &outcome)),
        };
        self.running.push_back(Running { ended: Ended { launch, start, end, error: None }, changes });
        Ok(())
    }
}

/// Why the run ended in the middle of a kernel.
fn told(kernel: &str, outcome: &Outcome) -> String {
    format!("kernel '{kernel}' did not come to its end: {outcome}")
}

impl os::opencl::gpu::Gpus for Gpus {
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        let wavefronts = self.0.borrow().as_ref().map_or(0, |state| state.wavefronts);
        Plan::for_waves(dispatch, wavefronts)
    }

    fn start(&mut self, launch: u64, kernel: Ready, guest: &mut dyn GuestMemory, now: Time) -> Result<(), Broken> {
        match &mut *self.0.borrow_mut() {
            Some(state) => state.start(launch, kernel, guest, now).map_err(Broken),
            None => Err(Broken("the run is over".to_owned())),
        }
    }

    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, _: u64) -> Done {
        let ended = self.0.borrow_mut().as_mut().map(|state| state.end(guest, now)).unwrap_or_default();
        Done { ended, ..Done::default() }
    }

    /// The GPUs have memory of their own, which is kept in step with the process's by its addresses.
    fn needs_pages(&self) -> bool {
        false
    }

    fn is_fine_grained(&self) -> bool {
        false
    }

    fn next_end(&self) -> Time {
        let state = self.0.borrow();
        let first = state.as_ref().and_then(|state| state.running.front());
        first.map_or(Time::NEVER, |running| running.ended.end)
    }
}
