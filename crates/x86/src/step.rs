//! Executes one instruction at a time.

use crate::decode::{Code, decode};
use crate::insn::{Flow, Halted, Insn};
use crate::trace::{Outline, outline};
use crate::{Blocks, Cpu, Exit, Memory, Stop};
use iced_x86::Instruction;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The number of bytes that a repeated string instruction processes in one step.
const STRING_BYTES: u64 = 64;

/// The result of a single step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// Whether it jumped.
    pub jumped: bool,
    /// Whether the instruction is complete; a step does a part of a repeated string instruction.
    pub whole: bool,
}

/// The number of recently executed instructions that are found without the map.
const RECENT: usize = 4096;

/// The maximum number of cached instructions, so that a program that fills its memory with code does not exhaust the
/// host's.
const MOST_STEPS: usize = 1 << 20;

/// The ID of an unknown instruction.
const UNKNOWN: u32 = u32::MAX;

/// The cache of single-stepped instructions.
pub(crate) struct Steps<M> {
    /// By address. Never iterated.
    index: FxHashMap<u64, u32>,
    /// By the low bits of their addresses; allocated at the first step.
    recent: Vec<(u64, u32)>,
    steps: Vec<Step<M>>,
}

impl<M> Default for Steps<M> {
    fn default() -> Self {
        Steps { index: FxHashMap::default(), recent: Vec::new(), steps: Vec::new() }
    }
}

struct Step<M> {
    instruction: Instruction,
    /// Created at first use.
    outline: Option<Rc<Outline>>,
    insn: Insn<M>,
    /// The addresses of the next instruction and of the jump target.
    next: [u64; 2],
}

impl<M: Memory> Steps<M> {
    pub fn clear(&mut self) {
        self.index.clear();
        self.recent.clear();
        self.steps.clear();
    }

    /// The instruction at an address.
    fn find(&mut self, memory: &mut M, address: u64) -> Result<&mut Step<M>, Stop> {
        let recent = address as usize % RECENT;
        let id = match self.recent.get(recent) {
            Some((known, id)) if *known == address && *id != UNKNOWN => *id,
            _ => self.find_or_add(memory, address)?,
        };
        Ok(&mut self.steps[id as usize])
    }

    #[cold]
    fn find_or_add(&mut self, memory: &mut M, address: u64) -> Result<u32, Stop> {
        let id = match self.index.get(&address) {
            Some(id) => *id,
            None => self.add(memory, address)?,
        };
        if self.recent.is_empty() {
            self.recent = vec![(0, UNKNOWN); RECENT];
        }
        self.recent[address as usize % RECENT] = (address, id);
        Ok(id)
    }

    fn add(&mut self, memory: &mut M, address: u64) -> Result<u32, Stop> {
        let (instruction, bytes) = Code::new(address).next(memory)?;
        let (mut insn, _) = decode::<M>(&instruction, &bytes);
        if self.steps.len() >= MOST_STEPS {
            self.clear();
        }
        if instruction.is_string_instruction() {
            insn.immediate = STRING_BYTES / (instruction.memory_size().size() as u64).max(1);
        }
        let next = [instruction.next_ip(), instruction.near_branch_target()];
        let id = self.steps.len() as u32;
        self.steps.push(Step { instruction, outline: None, insn, next });
        self.index.insert(address, id);
        Ok(id)
    }

    pub fn outline(&mut self, memory: &mut M, address: u64) -> Result<&Rc<Outline>, Stop> {
        let Step { instruction, outline: made, .. } = self.find(memory, address)?;
        Ok(made.get_or_insert_with(|| Rc::new(outline(instruction))))
    }
}

impl Cpu {
    /// Executes one instruction, or a part of a repeated string instruction.
    pub fn step<M: Memory>(&mut self, memory: &mut M, blocks: &mut Blocks<M>) -> Result<Stepped, Exit> {
        blocks.refresh(memory);
        let step = blocks.steps.find(memory, self.rip).map_err(|stop| self.exit_by(stop.into()))?;
        let flow = match self.execute(memory, &step.insn) {
            Ok(flow) => flow,
            Err(Halted) => return Err(self.leave(self.rip, &step.insn)),
        };
        match flow {
            Flow::Next => self.rip = step.next[0],
            Flow::Taken => self.rip = step.next[1],
            Flow::Jump => {}
            Flow::Again => return Ok(Stepped { jumped: false, whole: false }),
        }
        self.instructions += 1;
        Ok(Stepped { jumped: flow != Flow::Next, whole: true })
    }
}
