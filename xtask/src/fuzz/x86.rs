//! Generated instructions on a timed core: registers, flags, memory and faults must equal those of a functional run.
//!
//! A program runs some sequences one after another. Before each, it writes the sequence's code to one page, over that
//! of the last, and its scratch bytes. After each, it prints registers, flags, x87 and SSE state and scratch bytes.
//! After a fault, a signal handler does that.

use super::{
    case::{Case, Did, Target},
    elf::compare,
    guest::{self, Failed, Guest},
    image::{Code, RAX, RCX, RDI, RDX, RSP, Register, Segment, elf},
    random::Random,
    sequences::{
        generate::{Catalogue, Step, encode},
        instructions::Family,
        random::Random as Choices,
        state::{CODE, CODE_BYTES, EXIT_POINTER, SCRATCH, SCRATCH_BYTES, State},
    },
};
use iced_x86::{Mnemonic, OpKind, Register as IcedRegister};
use machine::Machine;
use os::End;
use std::sync::OnceLock;

pub const TARGET: Target = Target {
    name: "x86",
    about: "generated instructions on a timed core, compared with a functional run",
    share: 2,
    chunk: 50,
    quick: 250,
    run,
};

/// Addresses of the program's own code and data.
const STUBS: u64 = 0x40_0000;
const DATA: u64 = 0x2000_0000;
/// Addresses where a sequence's registers, and its x87 and SSE state, are saved.
const SAVED: u64 = 0x3000_0000;
const SAVED_FX: u64 = SAVED + 256;
const SAVED_BYTES: u64 = 256 + 512;
/// Address of the next part of the program.
const NEXT: u64 = SAVED + 0x800;
const STACK: u64 = SAVED + 0x8000;
const SIGNAL_STACK: u64 = SAVED + 0x8000;
const ACTION: u64 = SAVED + 0x900;

/// Signals caused by faults: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV.
const SIGNALS: [u64; 5] = [4, 5, 7, 8, 11];

struct Sequence {
    steps: Vec<Step>,
    code: Vec<u8>,
    start: State,
}

fn run(case: &mut Case) -> Result<Did, String> {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    let all = [Family::Integer, Family::Sse, Family::X87, Family::Mmx];
    let catalogue = CATALOGUE.get_or_init(|| Catalogue::new(&all));
    let count = 4 + case.random.below(16) as u64;
    let sequence = |number: u64| {
        let mut choices = Choices::new(case.seed, number);
        let steps = catalogue.sequence(&mut choices);
        let start = State::random(&mut choices);
        (!steps.iter().any(may_cross_lines)).then_some(Sequence { code: encode(&steps)?, steps, start })
    };
    let sequences = (0..count).filter_map(sequence).collect();
    let sequences: Vec<Sequence> = case.steps(sequences);
    if sequences.len() <= 3 {
        let lines = sequences.iter().flat_map(|sequence| &sequence.steps);
        let lines: Vec<String> =
            lines.map(|step| format!("{} (after {})", step.instruction, step.setup.len())).collect();
        case.note(&lines.join("\n"));
    }
    let sets = core(&mut case.random);
    case.note(&format!("apu-c-l3 with {}", sets.join(", ")));
    let (machine, _) = Machine::examine("apu-c-l3", &sets).map_err(|error| format!("the core is refused: {error}"))?;
    let mut guest = Guest::new(program(&sequences));
    guest.instructions = 10_000_000;
    guest.time = engine::Time::micros(50_000);
    let (first, _) = guest::functional(&guest).map_err(|error| format!("it is refused: {error}"))?;
    if first.end != (End::Exited { code: 0 }) {
        return Err(format!("functional run: {}", first.end));
    }
    match guest::on(&machine, &guest, 1) {
        Ok(second) if second.end == first.end => compare(&first, &second).map(|()| Did::Ran),
        Ok(second) => Err(format!("on the machine: {}", second.end)),
        Err(Failed::Wrong(error)) => Err(error),
        Err(Failed::Refused(error)) => Err(format!("it is refused: {error}")),
    }
}

/// Whether an instruction may lock bytes of two lines. Functional runs support that, cores do not.
fn may_cross_lines(step: &Step) -> bool {
    let instruction = &step.instruction;
    let in_memory = (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    if !in_memory || !instruction.has_lock_prefix() && instruction.mnemonic() != Mnemonic::Xchg {
        return false;
    }
    // A bit number in a register may address a byte far from the operand's address.
    let of_bits = matches!(instruction.mnemonic(), Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc);
    if of_bits && instruction.op_kind(1) == OpKind::Register {
        return true;
    }
    let base = match instruction.memory_base() {
        IcedRegister::None => 0,
        // The register that no instruction writes.
        IcedRegister::R15 | IcedRegister::R15D => SCRATCH + 0x400,
        _ => return true,
    };
    let address = base.wrapping_add(instruction.memory_displacement64());
    instruction.memory_index() != IcedRegister::None || address % 64 + instruction.memory_size().size() as u64 > 64
}

/// A core with random small resources and random delays of its accesses.
fn core(random: &mut Random) -> Vec<String> {
    let mut sets = vec!["cpu.cores=1".to_owned(), "gpu.arrays=1".to_owned(), "gpu.units_per_array=1".to_owned()];
    let keys: [(&str, &[&str]); 9] = [
        ("rob", &["16", "64"]),
        ("load_queue", &["4", "20"]),
        ("store_queue", &["4", "20"]),
        ("issue_queue", &["8", "40"]),
        ("wait_for_addresses", &["true", "false"]),
        ("store_prefetch", &["true", "false"]),
        ("predictor", &["never", "perfect", "bimodal", "two-level", "combined"]),
        ("jitter", &["0", "3", "20"]),
        ("prefetch", &["none", "next-line", "stride"]),
    ];
    for (key, values) in keys {
        if random.one_in(3) {
            sets.push(format!("cpu.core.{key}={}", random.pick(values)));
        }
    }
    // A perfect predictor never goes wrong.
    if sets.iter().any(|set| set.contains("predictor") && !set.ends_with("perfect")) {
        sets.push(format!("cpu.core.penalty={}", random.pick(&["0", "12"])));
        sets.push(format!("cpu.core.wrong_path={}", random.pick(&["true", "false"])));
    }
    sets
}

fn program(sequences: &[Sequence]) -> Vec<u8> {
    let (mut stubs, mut data) = (Code::default(), Vec::new());
    // The jump table: the sequence's address, at [EXIT_POINTER + 8].
    stubs.set(RAX, CODE).store(EXIT_POINTER + 8);
    stubs.call(131, &[ACTION + 64, 0]);
    for signal in SIGNALS {
        stubs.call(13, &[signal, ACTION, 0, 8]);
    }
    for sequence in sequences {
        enter(&mut stubs, &mut data, sequence);
    }
    stubs.exit();
    let handler = stubs.here(STUBS);
    handle(&mut stubs);
    let restorer = stubs.here(STUBS);
    stubs.set(RAX, 15).syscall();
    // SA_SIGINFO, SA_ONSTACK, SA_RESTORER and SA_NODEFER; then the stack for signals.
    let action = [handler, 0x4c00_0004, restorer, 0, 0, 0, 0, 0, SIGNAL_STACK, 0, 0x8000, 0];
    let mut saved = vec![0; 0x1000];
    for (number, word) in action.iter().enumerate() {
        let at = (ACTION - SAVED) as usize + 8 * number;
        saved[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    let page = EXIT_POINTER / 4096 * 4096;
    let (stub_size, data_size) = (stubs.0.len() as u64, data.len() as u64);
    elf(
        STUBS,
        &[
            Segment { address: STUBS, bytes: stubs.0, size: stub_size, flags: 5 },
            Segment { address: CODE, bytes: Vec::new(), size: CODE_BYTES as u64, flags: 7 },
            Segment { address: page, bytes: Vec::new(), size: 4096, flags: 6 },
            Segment { address: SCRATCH, bytes: Vec::new(), size: SCRATCH_BYTES as u64, flags: 6 },
            Segment { address: DATA, bytes: data, size: data_size.max(1), flags: 4 },
            Segment { address: SAVED, bytes: saved, size: 0x1_0000, flags: 6 },
        ],
    )
}

/// Sets up a sequence's initial state, runs the sequence, and prints its final state.
fn enter(stubs: &mut Code, data: &mut Vec<u8>, sequence: &Sequence) {
    let State { gprs, flags, fx, scratch } = &sequence.start;
    let mut place = |bytes: &[u8]| {
        data.resize(data.len().next_multiple_of(64), 0);
        let at = DATA + data.len() as u64;
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(8), 0);
        at
    };
    let (code, bytes, fx) = (place(&sequence.code), place(&scratch[..]), place(fx));
    stubs.set(RSP, STACK).bytes(&[0xfc]);
    stubs.copy(SCRATCH, bytes, SCRATCH_BYTES as u64 / 8);
    stubs.copy(CODE, code, (sequence.code.len() as u64).div_ceil(8));
    stubs.set(RAX, fx).bytes(&[0x48, 0x0f, 0xae, 0x08]);
    // The addresses after the sequence are known only after its stub has been written: two numbers are filled in later.
    stubs.set(RAX, 0).store(EXIT_POINTER);
    let exit_at = stubs.0.len() - 10 - 8;
    stubs.set(RAX, 0).store(NEXT);
    let next_at = stubs.0.len() - 10 - 8;
    stubs.set(RAX, *flags).bytes(&[0x50, 0x9d]);
    for (number, value) in gprs.iter().enumerate() {
        stubs.set(Register(number as u8), *value);
    }
    // jmp [EXIT_POINTER + 8]
    stubs.bytes(&[0xff, 0x24, 0x25]).bytes(&(EXIT_POINTER as u32 + 8).to_le_bytes());
    let exit = stubs.here(STUBS);
    save(stubs);
    stubs.call(1, &[1, SAVED, SAVED_BYTES]);
    let next = stubs.here(STUBS);
    stubs.call(1, &[1, SCRATCH, SCRATCH_BYTES as u64]);
    stubs.0[exit_at..exit_at + 8].copy_from_slice(&exit.to_le_bytes());
    stubs.0[next_at..next_at + 8].copy_from_slice(&next.to_le_bytes());
}

/// Stores all registers.
fn save(stubs: &mut Code) {
    stubs.store(SAVED).set(RAX, SAVED);
    for number in 1..16 {
        stubs.store_at_rax(Register(number), 8 * u32::from(number));
    }
    // pushf; pop rcx; cld
    stubs.set(RSP, STACK).bytes(&[0x9c, 0x59, 0xfc]).store_at_rax(RCX, 128);
    stubs.set(RAX, SAVED_FX).bytes(&[0x48, 0x0f, 0xae, 0x00]);
}

/// The signal handler: prints the registers at the fault, and continues after the sequence.
fn handle(stubs: &mut Code) {
    // push rdx; the registers are 23 words from byte 40 of the context.
    stubs.bytes(&[0x52, 0x48, 0x8d, 0x72, 40]).set(RDI, 1).set(RDX, 8 * 23).set(RAX, 1).syscall();
    // pop rdx; the instruction pointer is number 16, the flags are number 17.
    stubs.bytes(&[0x5a]).load(NEXT).bytes(&[0x48, 0x89, 0x82]).bytes(&168_u32.to_le_bytes());
    stubs.set(RAX, 0x202).bytes(&[0x48, 0x89, 0x82]).bytes(&176_u32.to_le_bytes());
    stubs.bytes(&[0xc3]);
}
