//! `cohesim bench x86`: instructions per second of the functional CPU.
//!
//! Each program runs as a process of its own, in an address space with page tables, on one thread, and checks its
//! result: a fast wrong answer does not count. Sources and programs are in `crates/x86/bench`.

use std::{io, time::Instant};

use miette::{IntoDiagnostic, WrapErr, miette};
use os::{End, Options, Process, files::Stdio};
use serde::Serialize;
use workloads::Size;

use crate::ui::Ui;

/// Measure the functional CPU on integer and floating-point code.
#[derive(clap::Args)]
pub struct X86 {
    /// Only these programs: integer (a compressor, a sort, a hash), sse2 (a matrix product, an n-body step).
    programs: Vec<String>,
    /// Size of the inputs: tiny or default.
    #[arg(long, default_value_t)]
    size: Size,
}

struct Program {
    name: &'static str,
    elf: &'static [u8],
}

const PROGRAMS: [Program; 2] = [
    Program { name: "integer", elf: include_bytes!("../../../x86/bench/integer.elf") },
    Program { name: "sse2", elf: include_bytes!("../../../x86/bench/sse2.elf") },
];

/// The speed on one program.
#[derive(Serialize)]
struct Measured {
    program: &'static str,
    instructions: u64,
    seconds: f64,
    per_second: f64,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Measured>,
}

impl X86 {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let chosen = self.chosen()?;
        ui.print(&format!("{:10} {:>15} {:>9} {:>12}\n", "program", "instructions", "seconds", "million/s"))?;
        let mut results = Vec::new();
        for program in chosen {
            let measured = self.measure(program).wrap_err_with(|| format!("program {}", program.name))?;
            let Measured { program, instructions, seconds, per_second } = &measured;
            let millions = per_second / 1e6;
            ui.print(&format!("{program:10} {instructions:15} {seconds:9.3} {millions:12.1}\n"))?;
            results.push(measured);
        }
        ui.report(&Results { results })
    }

    fn chosen(&self) -> miette::Result<Vec<&'static Program>> {
        if self.programs.is_empty() {
            return Ok(PROGRAMS.iter().collect());
        }
        let named = |name: &String| {
            let found = PROGRAMS.iter().find(|program| program.name == name);
            found.ok_or_else(|| miette!("there is no benchmark '{name}': use integer or sse2"))
        };
        self.programs.iter().map(named).collect()
    }

    fn measure(&self, program: &Program) -> miette::Result<Measured> {
        let mut options = Options::new(program.name.to_owned());
        options.stdio = Stdio::new(io::empty(), io::sink(), io::stderr());
        if self.size == Size::Tiny {
            options.arguments.push(b"tiny".to_vec());
        }
        let mut process = Process::start(program.elf, options).into_diagnostic()?;
        let start = Instant::now();
        let end = process.run();
        let seconds = start.elapsed().as_secs_f64();
        if !matches!(end, End::Exited { .. }) || end.exit_code() != 0 {
            return Err(miette!("its result is wrong: {end}"));
        }
        let instructions = process.totals().instructions;
        let per_second = instructions as f64 / seconds.max(f64::MIN_POSITIVE);
        Ok(Measured { program: program.name, instructions, seconds, per_second })
    }
}
