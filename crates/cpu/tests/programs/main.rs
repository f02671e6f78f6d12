//! Real programs on the core give the same results as without timing.

mod flat;
#[path = "../pipeline/rig.rs"]
mod rig;
mod store_queue;

use cpu::{CoreSpec, Direction, Jitter, PredictorSpec, Prefetch, PrefetchSpec, Registers, Timing};
use engine::{Cycles, EventCount, Outcome, RunOptions, Scope};
use flat::{BASE, Ended, FlatProgram, code, elf};
use rand_pcg::{
    Pcg64Mcg,
    rand_core::{RngCore, SeedableRng},
};
use rig::{Latency, Report, finished, run_for};
use std::{collections::BTreeSet, sync::Arc};
use x86::{Blocks, Cpu, Exit, Flat, Reg};

/// Runs a program on the core and returns its final registers.
fn simulate(spec: &CoreSpec, (cpu, memory): (Cpu, Flat), limit: u64) -> (Report, Cpu) {
    let (report, mut cpus) = simulate_all(spec, vec![cpu], memory, limit);
    (report, cpus.remove(0))
}

/// Runs several threads and returns their final registers, in the order of their stacks.
fn simulate_all(spec: &CoreSpec, cpus: Vec<Cpu>, memory: Flat, limit: u64) -> (Report, Vec<Cpu>) {
    let ended = Ended::default();
    let (own, count) = (Arc::clone(&ended), cpus.len());
    let report = finished(run_for(
        spec,
        count,
        Latency::default(),
        move |_, _| FlatProgram::new(cpus, memory, limit, own),
        RunOptions::default(),
    ));
    let mut cpus = ended.lock().expect("no thread panicked").clone();
    assert_eq!(cpus.len(), count, "all have ended");
    cpus.sort_by_key(|cpu| cpu.gpr[Reg::Rsp]);
    (report, cpus)
}

const DATA: u64 = BASE + 0x10_0000;

fn check(name: &str, program: &[u8], instructions: u64) {
    let (mut plain, mut memory) = elf(program);
    plain.run(&mut memory, &mut Blocks::new(), instructions);
    let (report, cpu) = simulate(&CoreSpec::default(), elf(program), instructions);
    assert_eq!((&cpu.gpr, cpu.rip, cpu.xmm), (&plain.gpr, plain.rip, plain.xmm), "{name}");
    assert_eq!(report.count("instructions"), instructions, "{name}");
    let rate = instructions as f64 / report.cycles() as f64;
    assert!((0.3..4.0).contains(&rate), "{name}: {rate} instructions a cycle");
}

#[test]
fn integer_code_ends_as_in_a_functional_run() {
    check("integer", include_bytes!("../../../x86/bench/integer.elf"), 100_000);
}

#[test]
fn floating_point_code_ends_as_in_a_functional_run() {
    check("sse2", include_bytes!("../../../x86/bench/sse2.elf"), 100_000);
}

const FIBONACCI: [u8; 39] = [
    0xe8, 0x02, 0x00, 0x00, 0x00, // call fib
    0x0f, 0x05, // syscall
    0x83, 0xff, 0x02, // fib: cmp edi, 2
    0x72, 0x18, // jb done
    0x53, // push rbx
    0x57, // push rdi
    0xff, 0xcf, // dec edi
    0xe8, 0xf2, 0xff, 0xff, 0xff, // call fib
    0x89, 0xc3, // mov ebx, eax
    0x5f, // pop rdi
    0x83, 0xef, 0x02, // sub edi, 2
    0xe8, 0xe7, 0xff, 0xff, 0xff, // call fib
    0x01, 0xd8, // add eax, ebx
    0x5b, // pop rbx
    0xc3, // ret
    0x89, 0xf8, // done: mov eax, edi
    0xc3, // ret
];

#[test]
fn recursion_returns_the_right_value_and_its_returns_are_predicted() {
    let (mut cpu, memory) = code(&FIBONACCI);
    cpu.gpr[Reg::Rdi] = 15;
    let (report, cpu) = simulate(&CoreSpec::default(), (cpu, memory), u64::MAX);
    assert_eq!(cpu.gpr[Reg::Rax], 610);
    assert_eq!(report.count("mispredicted.return"), 0);
    assert!(report.count("loads_forwarded") > 1000, "what is pushed is popped soon after");
    assert_eq!(report.count("code_lines"), 1);
}

const COPY: [u8; 36] = [
    0xf3, 0xa4, // rep movsb
    0x49, 0x8d, 0x70, 0x01, // lea rsi, [r8 + 1]
    0x4c, 0x89, 0xc7, // mov rdi, r8
    0xb9, 0xc8, 0x00, 0x00, 0x00, // mov ecx, 200
    0xf3, 0x48, 0xa5, // rep movsq
    0x31, 0xc0, // xor eax, eax
    0x4c, 0x89, 0xc7, // mov rdi, r8
    0xb9, 0x64, 0x00, 0x00, 0x00, // mov ecx, 100
    0x02, 0x07, // again: add al, [rdi]
    0x48, 0xff, 0xc7, // inc rdi
    0xe2, 0xf9, // loop again
    0x0f, 0x05, // syscall
];

#[test]
fn strings_that_overlap_and_cross_lines_are_copied_right() {
    let start = || {
        let (mut cpu, mut memory) = code(&COPY);
        let bytes: Vec<u8> = (0..3000u32).map(|n| (n * 7 % 251) as u8).collect();
        let place = (DATA - BASE) as usize;
        memory.bytes()[place..place + bytes.len()].copy_from_slice(&bytes);
        let registers = [(Reg::Rsi, DATA + 3), (Reg::Rdi, DATA + 0x1001), (Reg::Rcx, 2500), (Reg::R8, DATA + 0x1001)];
        registers.into_iter().for_each(|(register, value)| cpu.gpr[register] = value);
        (cpu, memory)
    };
    let (mut plain, mut memory) = start();
    assert_eq!(plain.run(&mut memory, &mut Blocks::new(), u64::MAX), Exit::Syscall);
    let (report, cpu) = simulate(&CoreSpec::default(), start(), u64::MAX);
    assert_eq!((cpu.gpr[Reg::Rax], cpu.gpr[Reg::Rdi]), (plain.gpr[Reg::Rax], plain.gpr[Reg::Rdi]));
    assert_eq!(report.count("instructions") + 1, plain.instructions, "all but the system call");
    assert!(report.count("loads") < 400, "line by line: {}", report.count("loads"));
}

const COUNT: [u8; 10] = [
    0xf0, 0x48, 0xff, 0x07, // again: lock inc qword [rdi]
    0xff, 0xc9, // dec ecx
    0x75, 0xf8, // jnz again
    0x0f, 0x05, // syscall
];

#[test]
fn hardware_threads_that_count_together_lose_nothing() {
    let thread = |number: u64| {
        let (mut cpu, _) = code(&COUNT);
        let registers = [(Reg::Rdi, DATA), (Reg::Rcx, 100), (Reg::Rsp, DATA + 0x1000 * number)];
        registers.into_iter().for_each(|(register, value)| cpu.gpr[register] = value);
        cpu
    };
    let jitter = Some(Jitter { seed: 7, most: Cycles(20) });
    for spec in [CoreSpec::default(), CoreSpec { jitter, ..CoreSpec::default() }] {
        let (_, memory) = code(&COUNT);
        let (report, _) = simulate_all(&spec, vec![thread(1), thread(2)], memory, u64::MAX);
        let last = report.log.iter().rfind(|performed| performed.ordered && !performed.request.data.mask().is_empty());
        let bytes = last.expect("they counted").request.data;
        assert_eq!(u64::from_le_bytes(bytes.bytes()[..8].try_into().expect("eight bytes")), 200);
        assert_eq!(report.count("fetch_waits.lock"), 200);
    }
}

/// The final values of rax and rbx of two threads, over many seeds.
fn outcomes(threads: [&[u8]; 2]) -> BTreeSet<[u64; 4]> {
    let run = |seed| {
        let (cpu, mut memory) = code(&[]);
        for (number, code) in threads.into_iter().enumerate() {
            memory.bytes()[0x1000 * number..][..code.len()].copy_from_slice(code);
        }
        let start = |number: u64| {
            let mut cpu = cpu.clone();
            cpu.rip = BASE + 0x1000 * number;
            let registers = [(Reg::Rsi, DATA), (Reg::Rdi, DATA + 64), (Reg::Rsp, DATA + 0x1000 * number)];
            registers.into_iter().for_each(|(register, value)| cpu.gpr[register] = value);
            cpu
        };
        let spec = CoreSpec { jitter: Some(Jitter { seed, most: Cycles(30) }), ..CoreSpec::default() };
        let (_, cpus) = simulate_all(&spec, vec![start(0), start(1)], memory, u64::MAX);
        [cpus[0].gpr[Reg::Rax], cpus[0].gpr[Reg::Rbx], cpus[1].gpr[Reg::Rax], cpus[1].gpr[Reg::Rbx]]
    };
    (0..100).map(run).collect()
}

const STORE_X: [u8; 7] = [0x48, 0xc7, 0x06, 1, 0, 0, 0]; // mov qword [rsi], 1
const STORE_Y: [u8; 7] = [0x48, 0xc7, 0x07, 1, 0, 0, 0]; // mov qword [rdi], 1
const LOAD_X: [u8; 3] = [0x48, 0x8b, 0x06]; // mov rax, [rsi]
const LOAD_Y: [u8; 3] = [0x48, 0x8b, 0x07]; // mov rax, [rdi]
const LOAD_X_TO_RBX: [u8; 3] = [0x48, 0x8b, 0x1e]; // mov rbx, [rsi]
const FENCE: [u8; 3] = [0x0f, 0xae, 0xf0]; // mfence
const END: [u8; 2] = [0x0f, 0x05]; // syscall

#[test]
fn stores_are_seen_late_by_others_unless_there_is_a_fence() {
    let relaxed = outcomes([&[&STORE_X[..], &LOAD_Y, &END].concat(), &[&STORE_Y[..], &LOAD_X, &END].concat()]);
    assert!(relaxed.contains(&[0, 0, 0, 0]) && relaxed.len() > 1, "{relaxed:?}");
    let fenced =
        outcomes([&[&STORE_X[..], &FENCE, &LOAD_Y, &END].concat(), &[&STORE_Y[..], &FENCE, &LOAD_X, &END].concat()]);
    assert!(!fenced.contains(&[0, 0, 0, 0]) && fenced.len() > 1, "{fenced:?}");
}

#[test]
fn a_thread_that_sees_a_store_sees_the_stores_before_it() {
    let seen = outcomes([&[&STORE_X[..], &STORE_Y, &END].concat(), &[&LOAD_Y[..], &LOAD_X_TO_RBX, &END].concat()]);
    assert!(seen.contains(&[0, 0, 1, 1]) && seen.contains(&[0, 0, 0, 0]), "{seen:?}");
    assert!(!seen.contains(&[0, 0, 1, 0]), "{seen:?}");
}

/// A core with small random sizes.
fn any_core(random: &mut Pcg64Mcg) -> CoreSpec {
    let mut up_to = |most: u64| 1 + (random.next_u64() % most) as usize;
    let counters = 1 << up_to(10);
    let direction = match up_to(4) {
        1 => Direction::Never,
        2 => Direction::Perfect,
        3 => Direction::Bimodal { counters },
        _ => Direction::Combined { bimodal: counters, histories: 4, bits: 5, counters, choices: counters },
    };
    let spec = CoreSpec::default();
    let penalty = Cycles(up_to(20) as u64 - 1);
    let predictor =
        PredictorSpec { direction, btb_sets: 1 << up_to(4), return_stack: up_to(4), penalty, ..spec.predictor };
    let registers = Registers { integer: 34 + up_to(20), x87: 2 + up_to(4), xmm: 32 + up_to(8) };
    let seed = up_to(1000) as u64;
    CoreSpec {
        fetch_width: up_to(6),
        decode_width: up_to(6),
        dispatch_width: up_to(6),
        issue_width: up_to(6),
        commit_width: up_to(6),
        fetch_queue: 1 + up_to(20),
        micro_op_queue: 1 + up_to(20),
        rob: 1 + up_to(70),
        issue_queue: 1 + up_to(20),
        load_queue: 1 + up_to(10),
        store_queue: 1 + up_to(10),
        registers,
        predictor,
        address: Timing::new(up_to(3), up_to(4) as u64, 1),
        line_buffers: up_to(4),
        next_line: up_to(2) == 1,
        prefetch: PrefetchSpec {
            kind: [Prefetch::None, Prefetch::NextLine, Prefetch::Stride][up_to(3) - 1],
            degree: up_to(3),
        },
        wrong_path: up_to(2) == 1,
        wait_for_addresses: up_to(2) == 1,
        store_prefetch: up_to(2) == 1,
        forwarding: Cycles(up_to(3) as u64),
        jitter: (up_to(3) == 1).then_some(Jitter { seed, most: Cycles(9) }),
        units: spec.units,
    }
}

#[test]
fn any_core_ends_as_in_a_functional_run() {
    const SEEDS: u64 = 80;
    let programs: [&[u8]; 2] =
        [include_bytes!("../../../x86/bench/integer.elf"), include_bytes!("../../../x86/bench/sse2.elf")];
    let plain = programs.map(|program| {
        let (mut plain, mut memory) = elf(program);
        plain.run(&mut memory, &mut Blocks::new(), 2000);
        plain
    });
    for seed in 0..SEEDS {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let spec = any_core(&mut random);
        let which = (seed % 2) as usize;
        let plain = &plain[which];
        let (cpu, memory) = elf(programs[which]);
        let ended = Ended::default();
        let own = Arc::clone(&ended);
        let [hit, far, code] = [8, 90, 30].map(|most| 2 + random.next_u64() % most);
        let latency = Latency { hit, slow: (BASE + (random.next_u64() & 0xff_ffc0), far), code, ..Latency::default() };
        let program = move |_: &Scope, _: &EventCount| FlatProgram::new(vec![cpu], memory, 2000, own);
        let report = run_for(&spec, 1, latency, program, RunOptions::default());
        assert_eq!(report.run.outcome, Outcome::Finished, "seed {seed}: {spec:?}");
        let cpu = ended.lock().expect("no thread panicked").pop().expect("it has ended");
        assert_eq!((&cpu.gpr, cpu.rip, cpu.xmm), (&plain.gpr, plain.rip, plain.xmm), "seed {seed}");
        assert_eq!(report.count("instructions"), 2000, "seed {seed}");
    }
}
