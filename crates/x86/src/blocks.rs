//! The cache of decoded code.
//!
//! A block is a sequence of instructions of which only the last may jump. Blocks store links to their successors, so
//! that a loop runs without address lookups. When the code of the address space changes ([`Memory::code_version`]), all
//! blocks are dropped. A store that changes code ends its block ([`Stop::CodeWrite`]): the next instruction is decoded
//! again, as on processors.

use crate::decode::{Code, decode, fuse, is_mark};
use crate::insn::Insn;
use crate::step::Steps;
use crate::{Memory, Stop};
use iced_x86::{Instruction, Mnemonic};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The maximum number of instructions in a block.
const LONGEST: usize = 64;

/// The maximum number of cached instructions, so that a program that fills its memory with code does not exhaust the
/// host's.
const MOST_INSNS: usize = 1 << 21;

/// The number of recently entered blocks that are found without the map.
const RECENT: usize = 4096;

/// The ID of an unknown block.
const UNKNOWN: u32 = u32::MAX;

/// The decoded code of one address space. All threads of a process may share it.
pub struct Blocks<M> {
    version: u64,
    insns: Vec<Insn<M>>,
    blocks: Vec<Block>,
    /// By address. Never iterated.
    index: FxHashMap<u64, u32>,
    recent: Box<[(u64, u32); RECENT]>,
    /// The cache for single-stepped instructions.
    pub(crate) steps: Steps<M>,
}

/// A block.
#[derive(Clone)]
pub(crate) struct Block {
    pub range: Range<u32>,
    pub start: u64,
    /// The number of program instructions in it.
    pub count: u64,
    /// Its successors: the instruction after its last one, and the jump target of the last one.
    pub next: [Successor; 2],
}

#[derive(Clone, Copy)]
pub(crate) struct Successor {
    pub address: u64,
    pub block: u32,
}

impl<M: Memory> Blocks<M> {
    pub fn new() -> Self {
        let recent = vec![(0, UNKNOWN); RECENT].into_boxed_slice();
        Blocks {
            version: 0,
            insns: Vec::new(),
            blocks: Vec::new(),
            index: FxHashMap::default(),
            recent: recent.try_into().expect("as many as there are"),
            steps: Steps::default(),
        }
    }

    /// Drops everything if the code has changed; returns whether it has.
    #[inline(always)]
    pub(crate) fn refresh(&mut self, memory: &M) -> bool {
        let version = memory.code_version();
        let changed = version != self.version;
        if changed {
            self.forget(version);
        }
        changed
    }

    #[cold]
    #[inline(never)]
    fn forget(&mut self, version: u64) {
        self.version = version;
        self.insns.clear();
        self.blocks.clear();
        self.index.clear();
        self.recent.fill((0, UNKNOWN));
        self.steps.clear();
    }

    #[inline(always)]
    pub(crate) fn block(&self, id: u32) -> &Block {
        &self.blocks[id as usize]
    }

    #[inline(always)]
    pub(crate) fn insns(&self, block: &Block) -> &[Insn<M>] {
        &self.insns[block.range.start as usize..block.range.end as usize]
    }

    /// The block at an address.
    #[inline(always)]
    pub(crate) fn find(&mut self, memory: &mut M, address: u64) -> Result<u32, Stop> {
        let (known, id) = self.recent[slot(address)];
        if known == address && id != UNKNOWN { Ok(id) } else { self.find_slowly(memory, address) }
    }

    #[inline(never)]
    fn find_slowly(&mut self, memory: &mut M, address: u64) -> Result<u32, Stop> {
        let id = match self.index.get(&address) {
            Some(id) => *id,
            None => self.add(memory, address)?,
        };
        self.recent[slot(address)] = (address, id);
        Ok(id)
    }

    /// The successor of a block: `way` is 0 for the next instruction, 1 for the jump target.
    #[inline(always)]
    pub(crate) fn follow(&mut self, memory: &mut M, id: u32, way: usize) -> Result<u32, Stop> {
        let Successor { address, block } = self.blocks[id as usize].next[way & 1];
        if block != UNKNOWN { Ok(block) } else { self.link(memory, id, way, address) }
    }

    #[cold]
    #[inline(never)]
    fn link(&mut self, memory: &mut M, id: u32, way: usize, address: u64) -> Result<u32, Stop> {
        let found = self.find(memory, address)?;
        self.blocks[id as usize].next[way & 1].block = found;
        Ok(found)
    }

    fn add(&mut self, memory: &mut M, address: u64) -> Result<u32, Stop> {
        let first = self.insns.len();
        let mut code = Code::new(address);
        let mut count = 0;
        let mut target = address;
        let mut previous: Option<Instruction> = None;
        while count < LONGEST as u64 {
            let (instruction, bytes) = match code.next(memory) {
                Ok(found) => found,
                // The instructions decoded so far can execute; the fault is raised when its instruction is reached.
                Err(_) if count > 0 => break,
                Err(stop) => return Err(stop),
            };
            let (mut insn, ends) = decode::<M>(&instruction, &bytes);
            if matches!(instruction.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp) || is_mark(&instruction) {
                insn.immediate = count;
            }
            count += 1;
            match previous.and_then(|comparison| fuse::<M>(&comparison, &instruction)) {
                Some(handler) => {
                    let joined = self.insns.last_mut().expect("the comparison is there");
                    joined.handler = handler;
                    joined.length += insn.length;
                    joined.count = 2;
                }
                None => self.insns.push(insn),
            }
            if ends {
                target = instruction.near_branch_target();
                break;
            }
            previous = Some(instruction);
        }
        let end = code.address;
        let id = self.blocks.len() as u32;
        let successor = |address| Successor { address, block: UNKNOWN };
        self.blocks.push(Block {
            range: first as u32..self.insns.len() as u32,
            start: address,
            count,
            next: [successor(end), successor(target)],
        });
        self.index.insert(address, id);
        if self.insns.len() > MOST_INSNS {
            // The cache is full: a wrong version makes the next `refresh` drop everything, after this block has run.
            self.version = !memory.code_version();
        }
        Ok(id)
    }
}

impl<M: Memory> Default for Blocks<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// The slot of a block's address in the table of recent blocks.
#[inline(always)]
fn slot(address: u64) -> usize {
    (address ^ address >> 12) as usize % RECENT
}
