//! Real programs on the core end as they do without time.

mod flat;
#[path = "../pipeline/rig.rs"]
mod rig;

use cpu::CoreSpec;
use flat::{Ended, FlatProgram, elf};
use rig::{Latency, Report, finished, run};
use std::sync::Arc;
use x86::{Blocks, Cpu, Flat};

/// Runs a program on the core and gives its registers at the end.
fn simulate(spec: &CoreSpec, start: (Cpu, Flat), limit: u64) -> (Report, Cpu) {
    let ended = Ended::default();
    let own = Arc::clone(&ended);
    let (cpu, memory) = start;
    let report = finished(run(spec, 1, Latency::default(), move || FlatProgram::new(vec![cpu], memory, limit, own)));
    let cpu = ended.lock().expect("nobody panicked").pop().expect("it has ended");
    (report, cpu)
}

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
fn integer_code_ends_as_without_time() {
    check("integer", include_bytes!("../../../x86/bench/integer.elf"), 100_000);
}

#[test]
fn floating_point_code_ends_as_without_time() {
    check("sse2", include_bytes!("../../../x86/bench/sse2.elf"), 100_000);
}
