//! Runs random kernels on cohesim's functional GPU and on PoCL, and compares the results.
//!
//! Two implementations that share only the OpenCL specification rarely make the same mistake. Kernels are generated
//! from a seed ([`generate`]), compiled by clang for gfx803 and by PoCL for this computer, and run on the same inputs.
//! Results must agree bit for bit where the specification is exact, and otherwise within twice its limits
//! ([`functions`]). A kernel that fails is shrunk before it is reported.

pub mod compare;
mod expression;
mod functions;
pub mod generate;
mod program;
mod types;

use std::{fs, num::NonZero};

use workloads::{Functional, GpuError};

use crate::{clang, guests::Scratch, opencl::Pocl};
use compare::Difference;
use program::Program;

const USAGE: &str = "usage: cargo xtask diff-kernels [--count N] [--seed S] [--only INDEX] [--show INDEX]";

/// Instruction limit per wavefront, far above what a generated kernel needs.
const LIMIT: u64 = 10_000_000;

/// Prefix of the error when clang itself crashes.
const COMPILER_CRASH: &str = "clang crashed";

/// Maximum number of smaller kernels tried for one that differs.
const SMALLER: usize = 150;

struct Options {
    count: usize,
    seed: u64,
    only: Option<usize>,
}

/// `diff-kernels [--count N] [--seed S] [--only INDEX] [--show INDEX]`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let mut options = Options { count: 320, seed: 1, only: None };
    let mut show = None;
    let mut arguments = arguments.iter();
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        let number: u64 = value.parse().map_err(|_| format!("{flag} needs a number, not '{value}'\n{USAGE}"))?;
        match flag.as_str() {
            "--count" => options.count = number as usize,
            "--seed" => options.seed = number,
            "--only" => options.only = Some(number as usize),
            "--show" => show = Some(number as usize),
            _ => return Err(USAGE.to_owned()),
        }
    }
    if let Some(index) = show {
        return Ok(generate::program(options.seed, index).source());
    }
    compare_all(&options)
}

fn compare_all(options: &Options) -> Result<String, String> {
    let bench =
        Bench { pocl: Pocl::open().map_err(|e| e.to_string())?, scratch: Scratch::new("diff-kernels")?, options };
    let indices = match options.only {
        Some(index) => index..index + 1,
        None => 0..options.count,
    };
    let (kernels, mut wrong, mut crashed) = (indices.len(), Vec::new(), 0);
    for index in indices {
        let program = generate::program(options.seed, index);
        match bench.compare(&program, index) {
            Ok(None) => {}
            Ok(Some(_)) => {
                println!("{}", bench.report(program, index));
                wrong.push(index.to_string());
            }
            Err(error) if error.to_string().starts_with(COMPILER_CRASH) => {
                println!("kernel {index}: clang breaks down on it, left out");
                crashed += 1;
            }
            Err(error) => {
                println!("kernel {index} (seed {}, {}): {error}\n{}", options.seed, program.theme, program.source());
                wrong.push(index.to_string());
            }
        }
    }
    if wrong.is_empty() {
        let compared = kernels - crashed;
        Ok(format!("diff-kernels: {compared} kernels of seed {} compared: cohesim and PoCL agree", options.seed))
    } else {
        let (count, wrong) = (wrong.len(), wrong.join(", "));
        Err(format!("{count} of {kernels} kernels of seed {} differ or failed: {wrong}", options.seed))
    }
}

/// Both GPUs, side by side.
struct Bench<'a> {
    pocl: Pocl,
    scratch: Scratch,
    options: &'a Options,
}

impl Bench<'_> {
    fn input_seed(&self, index: usize) -> u64 {
        self.options.seed ^ index as u64
    }

    /// The difference between the two sides on `program`, if any.
    fn compare(&self, program: &Program, index: usize) -> Result<Option<Difference>, GpuError> {
        let source = program.source();
        let input_seed = self.input_seed(index);
        let mut theirs = self.pocl.build(&source).map_err(|e| format!("PoCL: {e}"))?;
        let theirs = compare::outputs(program, input_seed, &mut theirs).map_err(|e| format!("PoCL: {e}"))?;
        let mut ours = self.functional(program)?;
        let ours = compare::outputs(program, input_seed, &mut ours).map_err(|e| format!("cohesim: {e}"))?;
        Ok(compare::difference(program, &ours, &theirs))
    }

    fn functional(&self, program: &Program) -> Result<Functional, GpuError> {
        let (text, object) = (self.scratch.0.join("k.cl"), self.scratch.0.join("k.hsaco"));
        fs::write(&text, program.source())?;
        clang::compile(&text, &object, &program.flags)
            .map_err(|e| if e.contains(crate::tool::CRASHED) { COMPILER_CRASH.to_owned() } else { e })?;
        Ok(Functional::new(&fs::read(&object)?, NonZero::<usize>::MIN)?.with_limit(LIMIT))
    }

    /// Shrinks a kernel that differs; reports the smallest one found and its difference.
    fn report(&self, mut program: Program, index: usize) -> String {
        let mut last = None;
        let mut tries = 0;
        'smaller: while tries < SMALLER {
            for smaller in program.smaller() {
                tries += 1;
                if let Ok(Some(difference)) = self.compare(&smaller, index) {
                    last = Some(difference);
                    program = smaller;
                    continue 'smaller;
                }
            }
            break;
        }
        let difference = match last {
            Some(difference) => difference,
            None => match self.compare(&program, index) {
                Ok(Some(difference)) => difference,
                _ => return format!("kernel {index} differs on one run and not on the next\n{}", program.source()),
            },
        };
        let Difference { buffer, element, lane, ours, theirs, ulps, allowed } = difference;
        let apart = ulps.map_or(String::new(), |ulps| format!(", {ulps} ulps apart where {allowed} are allowed"));
        format!(
            "kernel {index} (seed {}, {}), grid {:?}, group {:?}, arguments {:?}, {}:\n\
             {buffer}[{element}] lane {lane}: cohesim {ours}, PoCL {theirs}{apart}\n\
             work-item {element} starts with {}\n{}",
            self.options.seed,
            program.theme,
            program.grid,
            program.group,
            program.uniform,
            program.flags.join(" "),
            compare::inputs_of(&program, self.input_seed(index), element),
            program.source()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_of_a_fixed_seed_agree_with_pocl() {
        if crate::oracle::pocl_for_test("the_kernels_of_a_fixed_seed_agree_with_pocl").is_some() {
            compare_all(&Options { count: 30, seed: 2026, only: None }).unwrap();
        }
    }

    #[test]
    fn a_seed_and_a_number_always_give_the_same_kernel() {
        assert_eq!(generate::program(5, 17).source(), generate::program(5, 17).source());
        assert_ne!(generate::program(5, 17).source(), generate::program(6, 17).source());
    }

    #[test]
    fn a_smaller_program_lacks_a_statement_and_keeps_its_variables() {
        let program = generate::program(1, 5);
        let smaller = program.smaller();
        assert!(smaller.len() >= program.body.len());
        assert!(smaller.iter().all(|s| s.variables.len() == program.variables.len()));
        assert!(smaller.iter().any(|s| s.source().len() < program.source().len()));
    }
}
