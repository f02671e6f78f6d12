//! Real x86 programs over a flat memory, on one hardware thread or several.

use crate::store_queue::StoreQueue;
use cpu::{Executed, Fetch, Program, Touch};
use engine::Time;
use mem::{Block, LINE, Mask, PhysAddr, VirtAddr};
use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    sync::{Arc, Mutex},
};
use x86::{
    Blocks, Cpu, Exit, Flat, Memory, Reg, Size, Stop,
    trace::{MemOpKind, Order, Recorder},
};

/// A memory shared by several threads.
#[derive(Clone)]
pub struct Shared(Rc<RefCell<Flat>>);

impl Memory for Shared {
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop> {
        self.0.borrow_mut().load(address, size)
    }
    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop> {
        self.0.borrow_mut().store(address, size, value)
    }
    fn load128(&mut self, address: u64) -> Result<u128, Stop> {
        self.0.borrow_mut().load128(address)
    }
    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop> {
        self.0.borrow_mut().store128(address, value)
    }
    fn probe_write(&mut self, address: u64, bytes: u64) -> Result<(), Stop> {
        self.0.borrow_mut().probe_write(address, bytes)
    }
    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop> {
        self.0.borrow_mut().fetch(address, bytes)
    }
    fn code_version(&self) -> u64 {
        self.0.borrow().code_version()
    }
}

type Queue = Recorder<StoreQueue<Shared>>;

struct Running {
    cpu: Cpu,
    memory: Queue,
    blocks: Blocks<Queue>,
    /// For each pending store, into how many lines it was split.
    splits: VecDeque<u8>,
    /// The next instruction is an atomic access whose line is locked.
    locked: bool,
    ended: bool,
}

/// The registers of threads that have ended.
pub type Ended = Arc<Mutex<Vec<Cpu>>>;

/// The threads of a program. A thread ends at a system call, a fault or the instruction limit.
pub struct FlatProgram {
    threads: Vec<Running>,
    limit: u64,
    ended: Ended,
}

pub const BASE: u64 = 0x40_0000;
pub const STACK: u64 = BASE + BYTES as u64 - 4096;
const BYTES: usize = 16 << 20;

/// Code at the start of memory, and the initial registers.
pub fn code(bytes: &[u8]) -> (Cpu, Flat) {
    let mut memory = Flat::new(BASE, BYTES);
    memory.bytes()[..bytes.len()].copy_from_slice(bytes);
    let mut cpu = Cpu::new();
    cpu.rip = BASE;
    cpu.gpr[Reg::Rsp] = STACK;
    (cpu, memory)
}

/// A static program.
pub fn elf(elf: &[u8]) -> (Cpu, Flat) {
    let word = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().expect("eight bytes"));
    let (mut cpu, mut memory) = code(&[]);
    let headers = usize::from(elf[56]);
    for header in (0..headers).map(|i| word(32) as usize + 56 * i).filter(|at| word(*at) as u32 == 1) {
        let (offset, size) = (word(header + 8) as usize, word(header + 32) as usize);
        let place = (word(header + 16) - BASE) as usize;
        memory.bytes()[place..place + size].copy_from_slice(&elf[offset..offset + size]);
    }
    cpu.rip = word(24);
    (cpu, memory)
}

impl FlatProgram {
    pub fn new(cpus: Vec<Cpu>, memory: Flat, limit: u64, ended: Ended) -> Self {
        let memory = Shared(Rc::new(RefCell::new(memory)));
        let start = |cpu| Running {
            cpu,
            memory: Recorder::new(StoreQueue::new(memory.clone())),
            blocks: Blocks::new(),
            splits: VecDeque::new(),
            locked: false,
            ended: false,
        };
        Self { threads: cpus.into_iter().map(start).collect(), limit, ended }
    }
}

impl Program for FlatProgram {
    fn next(&mut self, thread: usize, quiet: bool, executed: &mut Executed, _: Time) -> Fetch {
        let Running { cpu, memory, blocks, splits, locked, ended } = &mut self.threads[thread];
        if *ended {
            return Fetch::Idle;
        }
        let order = blocks.outline(memory, cpu.rip).map_or(Order::Any, |outline| outline.order);
        if !quiet && (order != Order::Any || cpu.instructions >= self.limit) {
            return Fetch::Drain;
        }
        if order == Order::Atomic && !std::mem::replace(locked, true) {
            // A trial execution finds the line that it will access.
            let mut trial = Recorder::new(StoreQueue::new(memory.memory().memory().clone()));
            cpu.clone().step(&mut trial, blocks).expect("nothing faults");
            let line = trial.accesses()[0].address / LINE as u64 * LINE as u64;
            return Fetch::Lock { virt: VirtAddr(line), phys: PhysAddr(line) };
        }
        *locked = false;
        let before = memory.memory().pending().len();
        let outcome = if cpu.instructions < self.limit {
            cpu.step_traced(memory, blocks).map(|retired| {
                (executed.rip, executed.code) = (retired.rip, PhysAddr(retired.rip));
                (executed.next, executed.taken) = (retired.next, retired.taken);
                executed.outline.clone_from(retired.outline);
            })
        } else {
            Err(Exit::Limit)
        };
        if let Err(exit) = outcome {
            assert!(matches!(exit, Exit::Limit | Exit::Syscall), "{exit:?}");
            if !quiet {
                return Fetch::Drain;
            }
            *ended = true;
            self.ended.lock().expect("no thread panicked").push(cpu.clone());
            return Fetch::Idle;
        }
        executed.accesses.clear();
        let count = memory.accesses().len();
        let mut stored = before;
        for i in 0..count {
            let access = memory.accesses()[i];
            let store = access.kind == MemOpKind::Store;
            let value = if store {
                stored += 1;
                memory.memory().pending().nth(stored - 1).expect("it waits").value
            } else {
                0
            };
            let parts = split(store, access.address, access.bytes.into(), value, &mut executed.accesses);
            if store {
                splits.push_back(parts);
            }
        }
        Fetch::Executed
    }

    fn performed(&mut self, thread: usize) {
        let Running { memory, splits, .. } = &mut self.threads[thread];
        let left = splits.front_mut().expect("a store waits");
        *left -= 1;
        if *left == 0 {
            splits.pop_front();
            memory.memory().commit();
        }
    }
}

/// Adds the parts of an access that lie in different lines.
fn split(store: bool, address: u64, bytes: u64, value: u128, touches: &mut smallvec::SmallVec<[Touch; 2]>) -> u8 {
    let line = LINE as u64;
    let mut parts = 0;
    let mut place = 0;
    while place < bytes {
        let from = address + place;
        let count = (bytes - place).min(line - from % line);
        let mut block = [0; LINE];
        let start = (from % line) as usize;
        let end = start + count as usize;
        block[start..end].copy_from_slice(&value.to_le_bytes()[place as usize..(place + count) as usize]);
        let data = Block::of(block, Mask::range(start, count as usize));
        touches.push(Touch { store, virt: VirtAddr(from), phys: PhysAddr(from), data });
        place += count;
        parts += 1;
    }
    parts
}
