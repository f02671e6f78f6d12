//! The main loop, which executes block after block.

use crate::blocks::Block;
use crate::exit::Trouble;
use crate::insn::{Flow, Halted, Insn, Outcome};
use crate::{Blocks, Cpu, Exception, Exit, Fault, Memory};

impl Cpu {
    /// Executes up to `budget` instructions, or until an event that the caller must handle. A repeated string
    /// instruction counts once, when it is complete, but each of its parts is deducted from the budget.
    pub fn run<M: Memory>(&mut self, memory: &mut M, blocks: &mut Blocks<M>, budget: u64) -> Exit {
        let mut left = budget;
        blocks.refresh(memory);
        let mut id = match blocks.find(memory, self.rip) {
            Ok(id) => id,
            Err(stop) => return self.exit_by(stop.into()),
        };
        loop {
            let block = blocks.block(id);
            if block.count > left {
                return self.run_singly(memory, blocks, left);
            }
            left -= block.count;
            let insns = blocks.insns(block);
            let mut rest = insns.iter();
            let outcome = loop {
                let Some(insn) = rest.next() else { break Ok(Flow::Next) };
                match (insn.handler)(self, memory, insn) {
                    Ok(Flow::Next) => {}
                    other => break other,
                }
            };
            let (count, next) = (block.count, block.next);
            let followed = match outcome {
                Ok(flow @ (Flow::Next | Flow::Taken)) => {
                    let way = (flow == Flow::Taken) as usize;
                    self.instructions += count;
                    self.rip = next[way].address;
                    Some((id, way))
                }
                Ok(Flow::Jump) => {
                    self.instructions += count;
                    None
                }
                Ok(Flow::Again) => {
                    let last = insns.last().map_or(0, |insn| insn.length as u64);
                    self.instructions += count - 1;
                    self.rip = next[0].address.wrapping_sub(last);
                    None
                }
                Err(Halted) => {
                    let done = &insns[..insns.len() - rest.len()];
                    if self.trouble != Trouble::CodeWrite {
                        return self.leave_block(block.start, done);
                    }
                    left += count - instructions_of(done);
                    if let Err(exit) = self.write_code(memory, block, done) {
                        return exit;
                    }
                    None
                }
            };
            let changed = blocks.refresh(memory);
            let found = match followed {
                Some((id, way)) if !changed => blocks.follow(memory, id, way),
                _ => blocks.find(memory, self.rip),
            };
            id = match found {
                Ok(id) => id,
                Err(stop) => return self.exit_by(stop.into()),
            };
        }
    }

    /// Executes single instructions, when the budget is smaller than the next block.
    #[cold]
    fn run_singly<M: Memory>(&mut self, memory: &mut M, blocks: &mut Blocks<M>, left: u64) -> Exit {
        for _ in 0..left {
            if let Err(exit) = self.step(memory, blocks) {
                return exit;
            }
        }
        Exit::Limit
    }

    /// Leaves the block that begins at `start` at the last of `insns`, which did not complete.
    #[cold]
    fn leave_block<M: Memory>(&mut self, start: u64, insns: &[Insn<M>]) -> Exit {
        let (last, before) = insns.split_last().expect("one did not finish");
        self.instructions += instructions_of(before);
        let rip = start.wrapping_add(before.iter().map(|insn| insn.length as u64).sum());
        self.leave(rip, last)
    }

    /// Executes the last of `insns`, which writes code, and leaves their block after it, since the code that follows
    /// may have changed.
    #[cold]
    fn write_code<M: Memory>(&mut self, memory: &mut M, block: &Block, insns: &[Insn<M>]) -> Result<(), Exit> {
        let (last, before) = insns.split_last().expect("one did not finish");
        let rip = block.start.wrapping_add(before.iter().map(|insn| insn.length as u64).sum());
        let flow = match self.execute(memory, last) {
            Ok(flow) => flow,
            Err(Halted) => return Err(self.leave_block(block.start, insns)),
        };
        self.instructions += instructions_of(if flow == Flow::Again { before } else { insns });
        match flow {
            Flow::Next => self.rip = rip.wrapping_add(last.length as u64),
            Flow::Taken => self.rip = block.next[1].address,
            Flow::Jump => {}
            Flow::Again => self.rip = rip,
        }
        Ok(())
    }

    /// Executes one instruction, even if it writes code.
    #[inline(always)]
    pub(crate) fn execute<M: Memory>(&mut self, memory: &mut M, insn: &Insn<M>) -> Outcome {
        loop {
            match (insn.handler)(self, memory, insn) {
                Err(Halted) if self.trouble == Trouble::CodeWrite => {}
                outcome => return outcome,
            }
        }
    }

    /// Returns why the instruction at `rip` did not complete.
    pub(crate) fn leave<M: Memory>(&mut self, rip: u64, insn: &Insn<M>) -> Exit {
        let trouble = self.trouble;
        match trouble {
            Trouble::Syscall => {
                self.instructions += 1;
                return Exit::Syscall;
            }
            Trouble::NotCanonical => {
                self.rip = rip;
                let fault = if insn.uses_stack_segment() { Fault::Stack } else { Fault::GeneralProtection };
                return self.exit_by(Trouble::Fault(fault));
            }
            // A trap: the instruction is complete.
            Trouble::Fault(Fault::Breakpoint) => {
                self.instructions += 1;
                self.rip = rip.wrapping_add(insn.length as u64);
            }
            _ => self.rip = rip,
        }
        self.exit_by(trouble)
    }

    pub(crate) fn exit_by(&self, trouble: Trouble) -> Exit {
        match trouble {
            Trouble::Fault(fault) => Exit::Fault(Exception { rip: self.rip, fault }),
            Trouble::NotCanonical => Exit::Fault(Exception { rip: self.rip, fault: Fault::GeneralProtection }),
            Trouble::Wait => Exit::Wait,
            Trouble::CodeWrite => unreachable!("an instruction that writes code is executed again at once"),
            Trouble::Syscall => Exit::Syscall,
            Trouble::Mark => Exit::Mark,
        }
    }
}

/// The number of program instructions.
fn instructions_of<M>(insns: &[Insn<M>]) -> u64 {
    insns.iter().map(|insn| insn.count as u64).sum()
}
