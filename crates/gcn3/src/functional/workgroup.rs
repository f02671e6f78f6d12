//! A workgroup in flight: its wavefronts take turns between barriers.

use super::{
    immediate::Immediate,
    races::{Instruction, LocalWords, Races},
};
use crate::{
    code::Code,
    dispatch::WaveInit,
    error::Fault,
    exec::{Group, Step},
    memop::{MemOp, ScalarOp},
    wave::Wavefront,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier,
    /// It waits for a page.
    Away,
    Ended,
}

/// An access that must be repeated.
#[derive(Debug)]
enum Held {
    Vector(Box<MemOp>),
    Scalar(Box<ScalarOp>),
}

/// A workgroup: its wavefronts with their states, and its local data share.
#[derive(Debug, Default)]
pub struct Workgroup {
    waves: Vec<Wavefront>,
    states: Vec<State>,
    /// The accesses of wavefronts that are [`State::Away`].
    held: Vec<Option<Held>>,
    shared: Group,
    /// The number of barriers passed.
    epoch: u32,
    /// The recorded accesses to its local data share, if races are detected.
    local: LocalWords,
}

/// The fault of a wavefront, and its location.
#[derive(Debug)]
pub struct Stopped {
    pub wavefront: u32,
    pub pc: u64,
    pub fault: Fault,
}

/// The inputs to a run of a workgroup.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub code: &'a Code,
    /// The maximum number of instructions per wavefront.
    pub limit: u64,
    /// The number of the workgroup.
    pub group: u64,
}

impl Workgroup {
    /// Restarts as a new workgroup with `waves` wavefronts, each using `vgprs` vector registers. `races`: whether data
    /// races are detected.
    pub fn start(&mut self, waves: usize, vgprs: usize, lds: u32, races: bool) {
        self.waves.truncate(waves);
        self.waves.iter_mut().for_each(|wave| wave.reset(vgprs));
        self.waves.resize_with(waves, || Wavefront::with_vgprs(vgprs));
        self.states.clear();
        self.states.resize(waves, State::Ready);
        self.held.clear();
        self.held.resize_with(waves, || None);
        self.shared.lds.reset(lds);
        self.epoch = 0;
        if races {
            (self.shared.lds.watched, self.shared.lds.recorded) = (true, true);
            self.local.reset(lds);
        }
    }

    /// Sets the initial registers of wavefront `n`.
    pub fn init_wave(&mut self, n: usize, init: &WaveInit) {
        self.waves[n].begin(n as u32, init);
    }

    /// Wavefront instructions executed by all wavefronts since they started.
    pub fn executed(&self) -> u64 {
        self.waves.iter().map(|wave| wave.executed).sum()
    }

    /// Runs until all wavefronts have ended (true) or each has executed `slice` instructions more (false).
    pub fn run(
        &mut self,
        around: Surroundings<'_>,
        memory: &mut impl Immediate,
        mut races: Option<&mut Races>,
        slice: u64,
    ) -> Result<bool, Stopped> {
        let mut left = vec![slice; self.waves.len()];
        for n in 0..self.waves.len() {
            if let Some(held) = self.held[n].take() {
                let pc = self.waves[n].pc;
                self.held[n] = finish(&mut self.waves[n], &mut self.shared, memory, held).map_err(|fault| Stopped {
                    wavefront: n as u32,
                    pc,
                    fault,
                })?;
                if self.held[n].is_none() {
                    self.states[n] = State::Ready;
                }
            }
        }
        loop {
            for (n, wave) in self.waves.iter_mut().enumerate() {
                if self.states[n] == State::Ready && left[n] > 0 {
                    let before = wave.executed;
                    let budget = left[n].min(around.limit.saturating_sub(before));
                    let ran = match races.as_deref_mut() {
                        None => run_wave(wave, &mut self.shared, around, memory, budget, &mut self.held[n]),
                        Some(races) => {
                            let watched = Watched { races, local: &mut self.local, epoch: self.epoch };
                            run_watched(wave, &mut self.shared, around, memory, watched, budget, &mut self.held[n])
                        }
                    };
                    self.states[n] = ran.map_err(|(pc, fault)| Stopped { wavefront: n as u32, pc, fault })?;
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
            if !self.states.iter().any(|state| matches!(state, State::Ready | State::Away)) {
                // Ended wavefronts do not count: all others have reached the barrier.
                self.epoch += 1;
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

/// Performs an access of a wavefront; returns it if it must wait for a page.
fn finish(
    wave: &mut Wavefront,
    shared: &mut Group,
    memory: &mut impl Immediate,
    held: Held,
) -> Result<Option<Held>, Fault> {
    match held {
        Held::Vector(mut op) => match memory.perform(&mut op) {
            Err(Fault::Away) => return Ok(Some(Held::Vector(op))),
            done => {
                done?;
                wave.complete(&op)?;
                shared.recycle(op);
            }
        },
        Held::Scalar(mut op) => match memory.perform_scalar(&mut op) {
            Err(Fault::Away) => return Ok(Some(Held::Scalar(op))),
            done => {
                done?;
                wave.complete_scalar(&op);
            }
        },
    }
    Ok(None)
}

/// Runs one wavefront to a barrier, its end, or the end of its budget.
fn run_wave(
    wave: &mut Wavefront,
    shared: &mut Group,
    around: Surroundings<'_>,
    memory: &mut impl Immediate,
    budget: u64,
    held: &mut Option<Held>,
) -> Result<State, (u64, Fault)> {
    for _ in 0..budget {
        let pc = wave.pc;
        let access = match wave.step(around.code, shared).map_err(|fault| (pc, fault))? {
            Step::Done | Step::Lds => continue,
            Step::Mem(op) => Held::Vector(op),
            Step::Scalar(op) => Held::Scalar(op),
            Step::Barrier => return Ok(State::AtBarrier),
            Step::End => return Ok(State::Ended),
        };
        *held = finish(wave, shared, memory, access).map_err(|fault| (pc, fault))?;
        if held.is_some() {
            return Ok(State::Away);
        }
    }
    Ok(State::Ready)
}

/// The data-race detector, with what it needs to know of a wavefront's accesses.
struct Watched<'a> {
    races: &'a mut Races,
    local: &'a mut LocalWords,
    epoch: u32,
}

/// Variant of `run_wave` that reports every access to the data-race detector.
fn run_watched(
    wave: &mut Wavefront,
    shared: &mut Group,
    around: Surroundings<'_>,
    memory: &mut impl Immediate,
    Watched { races, local, epoch }: Watched<'_>,
    budget: u64,
    held: &mut Option<Held>,
) -> Result<State, (u64, Fault)> {
    for _ in 0..budget {
        let pc = wave.pc;
        let by = Instruction { group: around.group, wave: wave.id, epoch, pc };
        shared.lds.last.mask = 0;
        let step = wave.step(around.code, shared).map_err(|fault| (pc, fault))?;
        if shared.lds.last.mask != 0 {
            races.local(by, local, &shared.lds, around.code);
        }
        let access = match step {
            Step::Done | Step::Lds => continue,
            Step::Mem(op) => {
                races.global(by, &op, memory, around.code);
                Held::Vector(op)
            }
            Step::Scalar(op) => {
                races.scalar(by, &op, around.code);
                Held::Scalar(op)
            }
            Step::Barrier => return Ok(State::AtBarrier),
            Step::End => return Ok(State::Ended),
        };
        *held = finish(wave, shared, memory, access).map_err(|fault| (pc, fault))?;
        if held.is_some() {
            return Ok(State::Away);
        }
    }
    Ok(State::Ready)
}
