//! Runs many sequences, and shortens those that differ.

use crate::compare::{differences, st, xmm};
use crate::emulator::{Emulator, Way};
use crate::generate::{Catalogue, Step, encode};
use crate::host::Host;
use crate::instructions::Family;
use crate::random::Random;
use crate::state::{End, SCRATCH, State};
use iced_x86::{Formatter, Instruction, IntelFormatter, OpKind, Register};
use std::fmt;

/// What to run.
pub struct Plan {
    pub families: Vec<Family>,
    pub sequences: u64,
    pub seed: u64,
    /// The number of differing sequences to keep, each for a different instruction; the run ends then.
    pub keep: usize,
}

/// The results of a run.
pub struct Outcome {
    pub codes: usize,
    pub sequences: u64,
    pub instructions: u64,
    /// The number of sequences that ended without a fault.
    pub finished: u64,
    /// A description of each sequence that differs.
    pub differences: Vec<String>,
}

pub fn run(plan: &Plan) -> Outcome {
    let catalogue = Catalogue::new(&plan.families);
    let mut both = Both { host: Host::new(), emulator: Emulator::new(), way: Way::Blocks };
    let mut outcome =
        Outcome { codes: catalogue.size(), sequences: 0, instructions: 0, finished: 0, differences: Vec::new() };
    let mut told = Vec::new();
    for number in 0..plan.sequences {
        let mut random = Random::new(plan.seed, number);
        let steps = catalogue.sequence(&mut random);
        let start = State::random(&mut random);
        both.way = if number % 2 == 0 { Way::Blocks } else { Way::Steps };
        let Some((lines, finished)) = both.compare(&steps, &start) else { continue };
        outcome.sequences += 1;
        outcome.instructions += steps.len() as u64;
        outcome.finished += u64::from(finished);
        if !lines.is_empty() {
            let shortest = both.shrink(steps, &start);
            let culprits: Vec<_> = shortest.iter().map(|step| step.instruction.mnemonic()).collect();
            if !told.contains(&culprits) {
                outcome.differences.push(both.tell(number, &shortest, &start));
                told.push(culprits);
            }
            if outcome.differences.len() == plan.keep {
                break;
            }
        }
    }
    outcome
}

struct Both {
    host: Host,
    emulator: Emulator,
    way: Way,
}

impl Both {
    /// The differences, and whether the host finished without a fault. None if the sequence can't be encoded.
    fn compare(&mut self, steps: &[Step], start: &State) -> Option<(Vec<String>, bool)> {
        let code = encode(steps)?;
        let host = self.host.run(&code, start);
        let emulator = self.emulator.run(&code, start, self.way);
        let finished = host.1 == End::Finished;
        Some((differences(steps, &host, &emulator), finished))
    }

    /// Removes steps while a difference remains.
    fn shrink(&mut self, mut steps: Vec<Step>, start: &State) -> Vec<Step> {
        loop {
            let shorter = (0..steps.len())
                .map(|at| without(&steps, at))
                .find(|steps| self.compare(steps, start).is_some_and(|(lines, _)| !lines.is_empty()));
            match shorter {
                Some(shorter) => steps = shorter,
                None => return steps,
            }
        }
    }

    fn tell(&mut self, number: u64, steps: &[Step], start: &State) -> String {
        let (lines, _) = self.compare(steps, start).expect("it was encoded before");
        let mut formatter = IntelFormatter::new();
        let mut text = format!("sequence {number} ({:?}):\n", self.way);
        for step in steps {
            for instruction in &step.setup {
                let mut line = String::new();
                formatter.format(instruction, &mut line);
                text += &format!("      {line}\n");
            }
            let mut line = String::new();
            formatter.format(&step.instruction, &mut line);
            let target = step.target.map_or(String::new(), |target| format!(" (to step {target})"));
            text += &format!("    {line}{target}\n");
        }
        text += &from(steps, start);
        lines.iter().take(12).fold(text, |text, line| text + line + "\n")
    }
}

fn without(steps: &[Step], at: usize) -> Vec<Step> {
    let mut steps = steps.to_vec();
    steps.remove(at);
    for step in &mut steps {
        step.target = step.target.map(|target| if target > at { target - 1 } else { target });
    }
    steps
}

/// The initial state of a short sequence, as far as the sequence uses it.
fn from(steps: &[Step], start: &State) -> String {
    let mut named: Vec<String> = vec![format!(
        "flags={:03x} mxcsr={:02x}{:02x} control={:02x}{:02x} status={:02x}{:02x} tags={:08b}",
        start.flags, start.fx[25], start.fx[24], start.fx[1], start.fx[0], start.fx[3], start.fx[2], start.fx[4]
    )];
    for step in steps {
        let instruction = &step.instruction;
        for operand in 0..instruction.op_count() {
            named.extend(match instruction.op_kind(operand) {
                OpKind::Register => register(instruction.op_register(operand), start),
                OpKind::Memory => memory(instruction, operand, start),
                _ => None,
            });
        }
        if Family::X87.has(instruction.code()) {
            named.extend((0..3).map(|i| format!("st({i})={}", st(start, i))));
        }
    }
    let mut seen = Vec::new();
    named.retain(|text| {
        let new = !seen.contains(text);
        seen.push(text.clone());
        new
    });
    format!("  from {}\n", named.join(" "))
}

fn register(register: Register, start: &State) -> Option<String> {
    let full = register.full_register();
    if full.is_gpr() {
        Some(format!("{full:?}={:#x}", start.gprs[full.number()]))
    } else {
        register.is_xmm().then(|| format!("{register:?}={:032x}", xmm(start, register.number())))
    }
}

fn memory(instruction: &Instruction, operand: u32, start: &State) -> Option<String> {
    let address = instruction.virtual_address(operand, 0, |register, _, _| {
        let full = register.full_register();
        Some(if full.is_gpr() { start.gprs[full.number()] } else { 0 })
    });
    let at = address?.wrapping_sub(SCRATCH) as usize;
    let bytes = start.scratch.get(at..at.checked_add(16)?)?.try_into().expect("sixteen bytes");
    Some(format!("[scratch + {at:#x}]={:032x}", u128::from_le_bytes(bytes)))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} sequences ({} instructions of {} kinds; {} without a fault), {} differ",
            self.sequences,
            self.instructions,
            self.codes,
            self.finished,
            self.differences.len()
        )?;
        self.differences.iter().try_for_each(|text| writeln!(f, "{text}"))
    }
}
