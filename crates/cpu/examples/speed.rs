//! How many instructions a second the core commits, over memories that always answer at once.
//!
//! `cargo run --release -p cohesim-cpu --example speed [INSTRUCTIONS]`

#[path = "../tests/programs/flat.rs"]
mod flat;
#[path = "../tests/pipeline/rig.rs"]
mod rig;

use cpu::CoreSpec;
use flat::{Ended, FlatProgram, elf};
use rig::{Latency, finished, run};
use std::time::Instant;

fn main() {
    let limit = std::env::args().nth(1).map_or(5_000_000, |count| count.parse().expect("a number of instructions"));
    let programs: [(&str, &[u8]); 2] = [
        ("integer", include_bytes!("../../x86/bench/integer.elf")),
        ("sse2", include_bytes!("../../x86/bench/sse2.elf")),
    ];
    println!("{:10} {:>12} {:>12} {:>7} {:>12}", "program", "instructions", "cycles", "IPC", "million/s");
    for (name, program) in programs {
        let start = Instant::now();
        let report = finished(run(&CoreSpec::default(), 1, Latency::default(), move || {
            let (cpu, memory) = elf(program);
            FlatProgram::new(vec![cpu], memory, limit, Ended::default())
        }));
        let seconds = start.elapsed().as_secs_f64();
        let (instructions, cycles) = (report.count("instructions"), report.cycles());
        let rate = instructions as f64 / cycles as f64;
        println!("{name:10} {instructions:12} {cycles:12} {rate:7.2} {:12.2}", instructions as f64 / seconds / 1e6);
        let share = |phase| format!("{phase} {:.1}%", 100.0 * report.phase(phase) as f64 / cycles as f64);
        println!("  {}", ["busy", "read_stall", "write_stall", "fetch_stall"].map(share).join(", "));
        let wrong: u64 = ["direction", "target", "return"].iter().map(|kind| report.count(&format!("mispredicted.{kind}"))).sum();
        let branches = report.count("branches");
        println!("  {branches} branches, {:.2}% mispredicted", 100.0 * wrong as f64 / branches as f64);
    }
}
