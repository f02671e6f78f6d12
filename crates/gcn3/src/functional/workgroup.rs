//! A workgroup on its way: wavefronts that take turns between barriers.

use super::immediate::Immediate;
use crate::{
    code::Code,
    dispatch::WaveInit,
    error::Fault,
    exec::{Group, Step},
    wave::Wavefront,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier,
    Ended,
}

/// A workgroup: its wavefronts, the local data share, and where each wavefront stands.
#[derive(Debug, Default)]
pub struct Workgroup {
    waves: Vec<Wavefront>,
    states: Vec<State>,
    shared: Group,
}

/// What a wavefront ran into, and where.
#[derive(Debug)]
pub struct Stopped {
    pub wavefront: u32,
    pub pc: u64,
    pub fault: Fault,
}

/// What a run of a workgroup may use.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub code: &'a Code,
    /// The most instructions that a wavefront may execute.
    pub limit: u64,
}

impl Workgroup {
    /// Starts over as a new workgroup with `waves` wavefronts, each using `vgprs` vector registers.
    pub fn start(&mut self, waves: usize, vgprs: usize, lds: u32) {
        self.waves.truncate(waves);
        self.waves.iter_mut().for_each(|wave| wave.reset(vgprs));
        self.waves.resize_with(waves, Wavefront::new);
        self.states.clear();
        self.states.resize(waves, State::Ready);
        self.shared.lds.reset(lds);
    }

    /// Fills in the registers with which wavefront `n` starts.
    pub fn init_wave(&mut self, n: usize, init: &WaveInit) {
        self.waves[n].begin(n as u32, init);
    }

    /// Wavefront instructions executed by all wavefronts since they started.
    pub fn executed(&self) -> u64 {
        self.waves.iter().map(|wave| wave.executed).sum()
    }

    /// Runs until all wavefronts have ended (true) or each has executed `slice` instructions more (false).
    pub fn run(&mut self, around: Surroundings<'_>, memory: &mut impl Immediate, slice: u64) -> Result<bool, Stopped> {
        let mut left = vec![slice; self.waves.len()];
        loop {
            for (n, wave) in self.waves.iter_mut().enumerate() {
                if self.states[n] == State::Ready && left[n] > 0 {
                    let before = wave.executed;
                    let budget = left[n].min(around.limit.saturating_sub(before));
                    self.states[n] = run_wave(wave, &mut self.shared, around, memory, budget)
                        .map_err(|(pc, fault)| Stopped { wavefront: n as u32, pc, fault })?;
                    left[n] -= wave.executed - before;
                    if self.states[n] == State::Ready && wave.executed >= around.limit {
                        let fault = Fault::Limit(around.limit);
                        return Err(Stopped { wavefront: n as u32, pc: wave.pc, fault });
                    }
                }
            }
            if self.states.iter().all(|state| *state == State::Ended) {
                return Ok(true);
            }
            if !self.states.contains(&State::Ready) {
                // Wavefronts that have ended do not count: all others have come to the barrier.
                for state in self.states.iter_mut().filter(|state| **state == State::AtBarrier) {
                    *state = State::Ready;
                }
            }
            if !self.states.iter().zip(&left).any(|(state, left)| *state == State::Ready && *left > 0) {
                return Ok(false);
            }
        }
    }
}

/// Runs one wavefront to a barrier, its end, or the end of its budget.
fn run_wave(
    wave: &mut Wavefront,
    shared: &mut Group,
    around: Surroundings<'_>,
    memory: &mut impl Immediate,
    budget: u64,
) -> Result<State, (u64, Fault)> {
    for _ in 0..budget {
        let pc = wave.pc;
        match wave.step(around.code, shared).map_err(|fault| (pc, fault))? {
            Step::Done | Step::Lds => {}
            Step::Mem(mut op) => {
                memory.perform(&mut op).map_err(|fault| (pc, fault))?;
                wave.complete(&op).map_err(|fault| (pc, fault))?;
                shared.recycle(op);
            }
            Step::Scalar(mut op) => {
                memory.perform_scalar(&mut op).map_err(|fault| (pc, fault))?;
                wave.complete_scalar(&op);
            }
            Step::Barrier => return Ok(State::AtBarrier),
            Step::End => return Ok(State::Ended),
        }
    }
    Ok(State::Ready)
}
