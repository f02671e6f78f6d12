//! The GPUs of a [fast-forwarded](crate::forward) run: kernels run on functional GPUs until the run switches, and on
//! timed GPUs from then on.

use std::collections::BTreeSet;

use engine::Time;
use gcn3::{dispatch::Dispatch, functional::Plan};
use mem::{Bytes, PhysAddr, VirtAddr};

use super::{
    functional::Functional,
    gpu::{Broken, Done, Gpus, Memories, Page, Ready, Transfer},
};
use crate::{
    forward::{Forward, Stage},
    guest::GuestMemory,
};

/// A kernel that waits for the switch.
struct Held {
    number: u64,
    launch: u64,
    kernel: Ready,
}

pub struct Forwarding {
    forward: Forward,
    functional: Functional,
    timed: Box<dyn Gpus>,
    held: Vec<Held>,
    /// Kernels in flight on the functional GPUs.
    in_flight: BTreeSet<u64>,
}

impl Forwarding {
    pub fn new(forward: Forward, timed: Box<dyn Gpus>) -> Self {
        let functional = Functional::with_memories(None, false, timed.memories());
        Self { forward, functional, timed, held: Vec::new(), in_flight: BTreeSet::new() }
    }

    fn start_in_time(&mut self, held: Held, guest: &mut dyn GuestMemory, now: Time) -> Result<(), Broken> {
        let Held { number, launch, mut kernel } = held;
        self.forward.launch_in_time(number);
        if kernel.pages.is_empty() && self.timed.needs_pages() {
            kernel.use_host_pages(guest);
        }
        kernel.warm_up = self.forward.stage() == Stage::WarmUp;
        self.timed.start(launch, kernel, guest, now)
    }
}

impl Gpus for Forwarding {
    /// Plans as for the timed GPUs in either stage, so that the memory layout is that of a run without fast-forwarding.
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        self.timed.plan(dispatch)
    }

    fn start(&mut self, launch: u64, kernel: Ready, guest: &mut dyn GuestMemory, now: Time) -> Result<(), Broken> {
        let held = Held { number: self.forward.launch(), launch, kernel };
        match self.forward.stage() {
            Stage::Skipping => {
                self.in_flight.insert(launch);
                self.functional.start(launch, held.kernel, guest, now)
            }
            Stage::Stopping => {
                self.held.push(held);
                Ok(())
            }
            Stage::WarmUp | Stage::Measured => self.start_in_time(held, guest, now),
        }
    }

    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> Done {
        if !self.forward.is_in_time() {
            let done = self.functional.work(guest, now, budget);
            self.forward.ended(done.ended.iter().filter(|ended| self.in_flight.remove(&ended.launch)).count());
            return done;
        }
        for held in std::mem::take(&mut self.held) {
            if let Err(broken) = self.start_in_time(held, guest, now) {
                return Done { broken: Some(broken), ..Done::default() };
            }
        }
        self.timed.work(guest, now, budget)
    }

    fn transfers(&self) -> bool {
        match self.forward.is_in_time() {
            true => self.timed.transfers(),
            false => self.functional.transfers(),
        }
    }

    fn transfer(
        &mut self,
        number: u64,
        transfer: Transfer,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> Result<(), Broken> {
        match self.forward.is_in_time() {
            true => self.timed.transfer(number, transfer, guest, now),
            false => self.functional.transfer(number, transfer, guest, now),
        }
    }

    fn memories(&self) -> Memories {
        self.timed.memories()
    }

    /// Functional kernels on the process's own memory need no page lists, so pages that they don't touch stay
    /// untouched.
    fn needs_pages(&self) -> bool {
        match self.forward.is_in_time() {
            true => self.timed.needs_pages(),
            false => self.functional.needs_pages(),
        }
    }

    fn resolve(&mut self, gpu: usize, page: VirtAddr, answer: Result<Page, String>) {
        match self.forward.is_in_time() {
            true => self.timed.resolve(gpu, page, answer),
            false => self.functional.resolve(gpu, page, answer),
        }
    }

    fn shoot(&mut self, number: u64, gpus: &[usize], ranges: &[(VirtAddr, Bytes)]) {
        match self.forward.is_in_time() {
            true => self.timed.shoot(number, gpus, ranges),
            false => self.functional.shoot(number, gpus, ranges),
        }
    }

    fn take_back(&mut self, number: u64, frames: &[PhysAddr]) {
        match self.forward.is_in_time() {
            true => self.timed.take_back(number, frames),
            false => self.functional.take_back(number, frames),
        }
    }

    fn keeps_answers(&self) -> bool {
        self.forward.is_in_time() && self.timed.keeps_answers()
    }

    fn is_fine_grained(&self) -> bool {
        self.timed.is_fine_grained()
    }

    fn is_busy(&self) -> bool {
        !self.held.is_empty() || self.timed.is_busy()
    }

    fn next_end(&self) -> Time {
        match self.forward.is_in_time() {
            true => self.timed.next_end(),
            false => self.functional.next_end(),
        }
    }
}
