//! One instruction at a time.

use crate::decode::{Code, decode};
use crate::insn::{Flow, Halted, Insn};
use crate::{Blocks, Cpu, Exit, Memory, Stop};
use rustc_hash::FxHashMap;

/// Instructions that run alone.
pub(crate) struct Steps<M> {
    /// By address. Looked up, never walked.
    index: FxHashMap<u64, u32>,
    steps: Vec<Step<M>>,
}

impl<M> Default for Steps<M> {
    fn default() -> Self {
        Steps { index: FxHashMap::default(), steps: Vec::new() }
    }
}

struct Step<M> {
    insn: Insn<M>,
    /// The addresses of the next instruction and of the jump's target.
    next: [u64; 2],
}

impl<M: Memory> Steps<M> {
    pub fn clear(&mut self) {
        self.index.clear();
        self.steps.clear();
    }

    /// The instruction at an address.
    fn find(&mut self, memory: &mut M, address: u64) -> Result<&Step<M>, Stop> {
        let id = match self.index.get(&address) {
            Some(id) => *id,
            None => {
                let (instruction, bytes) = Code::new(address).next(memory)?;
                let (insn, _) = decode::<M>(&instruction, &bytes);
                let id = self.steps.len() as u32;
                self.steps.push(Step { insn, next: [instruction.next_ip(), instruction.near_branch_target()] });
                self.index.insert(address, id);
                id
            }
        };
        Ok(&self.steps[id as usize])
    }
}

impl Cpu {
    /// Executes one instruction (of a repeated string instruction, a part).
    pub fn step<M: Memory>(&mut self, memory: &mut M, blocks: &mut Blocks<M>) -> Result<(), Exit> {
        blocks.refresh(memory);
        let step = blocks.steps.find(memory, self.rip).map_err(|stop| self.exit_by(stop.into()))?;
        match (step.insn.handler)(self, memory, &step.insn) {
            Ok(Flow::Next) => self.rip = step.next[0],
            Ok(Flow::Taken) => self.rip = step.next[1],
            Ok(Flow::Jump) => {}
            Ok(Flow::Again) => return Ok(()),
            Err(Halted) => return Err(self.leave(self.rip, &step.insn)),
        }
        self.instructions += 1;
        Ok(())
    }
}
