//! The state of a process that is at rest, for checkpoints.
//!
//! A process is at rest when its driver holds back further calls and nothing is in flight for it
//! ([`Trap::is_drained`]). Its state is what a program can observe, and what decides how it continues: memory and page
//! tables, threads and what they wait for, signals, timers, clocks, descriptors, and the driver's objects. Decoded code
//! and the software TLB are rebuilt. What is outside the simulator can't be saved: open files of the host, pipes,
//! mapped files.
//!
//! State is loaded into a process that was started from the same program with the same options.

use super::{Process, Thread};
use crate::{
    signal::ORDER,
    state::{Read, Reader, State},
};
use mem::Frames;
use x86::Cpu;

impl Process {
    /// Has the driver hold back calls from the one on that enqueues this kernel, counted from 1.
    pub fn drain_before(&mut self, kernel: u64) {
        self.driver.drain_before(kernel);
    }

    /// Whether the driver holds calls back and nothing is in flight.
    pub fn is_drained(&self) -> bool {
        self.end.is_none() && self.driver.is_drained()
    }

    /// Begins the measurement: nothing before counts.
    pub fn measure(&mut self) {
        self.clock.measure();
        self.region.measure(self.clock.time_stamp());
    }

    /// The state of the process, without the contents of its memory. Fails if a part of it is outside the simulator.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        if let Some(path) = self.space.areas().file() {
            return Err(format!("the program has mapped the file '{path}' (link it with -static)"));
        }
        let mut saved = Vec::new();
        let to = &mut saved;
        self.space.save_state(to);
        self.threads.save(to);
        ((self.next_tid, self.turn), (self.next_futex_turn, self.yielded)).save(to);
        self.clock.save(to);
        self.files.save(to)?;
        self.actions.save(to);
        self.pending.save(to);
        self.heap.save(to);
        self.random.save(to);
        (self.cpus, self.has_bound).save(to);
        self.alarm.save(to);
        self.region.save(to);
        self.named.save(to);
        self.refused.save(to);
        self.calls.save(to);
        self.driver.save(to)?;
        Ok(saved)
    }

    /// Takes over a saved state and the contents of memory.
    pub fn load(&mut self, saved: &[u8], frames: Frames) -> Read<()> {
        let mut reader = Reader::new(saved);
        let from = &mut reader;
        self.space.load_state(from, frames)?;
        self.threads = State::load(from)?;
        ((self.next_tid, self.turn), (self.next_futex_turn, self.yielded)) = State::load(from)?;
        self.clock = State::load(from)?;
        self.files.load(from)?;
        self.actions = State::load(from)?;
        self.pending = State::load(from)?;
        self.heap = State::load(from)?;
        self.random = State::load(from)?;
        (self.cpus, self.has_bound) = State::load(from)?;
        self.alarm = State::load(from)?;
        self.region = State::load(from)?;
        self.named = State::load(from)?;
        self.refused = State::load(from)?;
        self.calls = State::load(from)?;
        self.driver.see(self.files.view());
        self.driver.load(from)?;
        self.retry_driver();
        self.told = self.clock.instructions();
        reader.finish()
    }
}

impl State for Thread {
    fn save(&self, to: &mut Vec<u8>) {
        let Self { tid, cpu, state, call, blocked, mask_after, pending, alt_stack, trap, .. } = self;
        let Self { clear_at_exit, robust_list, name, cpus, locked, exception, .. } = self;
        debug_assert!(!locked && exception.is_none(), "a core has nothing of it");
        tid.save(to);
        cpu.save(to);
        state.save(to);
        call.save(to);
        (*blocked, *mask_after).save(to);
        pending.save(to);
        (*alt_stack, *trap).save(to);
        (*clear_at_exit, *robust_list).save(to);
        name.save(to);
        cpus.save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let mut thread = Self::new(State::load(from)?, State::load(from)?);
        thread.state = State::load(from)?;
        thread.call = State::load(from)?;
        (thread.blocked, thread.mask_after) = State::load(from)?;
        thread.pending = State::load(from)?;
        (thread.alt_stack, thread.trap) = State::load(from)?;
        (thread.clear_at_exit, thread.robust_list) = State::load(from)?;
        thread.name = State::load(from)?;
        thread.cpus = State::load(from)?;
        Ok(thread)
    }
}

impl State for Cpu {
    fn save(&self, to: &mut Vec<u8>) {
        ORDER.map(|register| self.gpr[register]).save(to);
        (self.rip, self.flags.get()).save(to);
        to.extend(self.fxsave());
        (self.fs_base, self.gs_base).save(to);
        self.features.sse4.save(to);
        (self.instructions, self.tsc_offset).save(to);
        self.processor.save(to);
        self.marks.save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let mut cpu = Self::new();
        for (register, value) in ORDER.into_iter().zip(<[u64; 16]>::load(from)?) {
            cpu.gpr[register] = value;
        }
        let (rip, flags) = State::load(from)?;
        cpu.rip = rip;
        cpu.flags.set(flags);
        cpu.fxrstor(from.take(512)?.try_into().expect("as many bytes as were taken"));
        (cpu.fs_base, cpu.gs_base) = State::load(from)?;
        cpu.features.sse4 = State::load(from)?;
        (cpu.instructions, cpu.tsc_offset) = State::load(from)?;
        cpu.processor = State::load(from)?;
        cpu.marks = State::load(from)?;
        Ok(cpu)
    }
}
