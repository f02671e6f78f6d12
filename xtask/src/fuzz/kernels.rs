//! Generated kernels (those of `diff-kernels`) on a machine: memory must end as in a functional run.

use super::case::{Case, Did, Target};
use crate::{
    clang,
    diff_kernels::{compare, generate},
    guests::Scratch,
};
use machine::{Machine, Options};
use std::{fs, num::NonZero};
use workloads::{Functional, Timed};

pub const TARGET: Target = Target {
    name: "kernels",
    about: "generated OpenCL kernels on machines, compared with a functional run (clang-19 is needed)",
    share: 3,
    chunk: 5,
    quick: 30,
    run,
};

/// Instruction limit per wavefront, far above what a generated kernel needs.
const LIMIT: u64 = 10_000_000;

/// Machines without a CPU, covering all protocols.
const MACHINES: [&str; 6] = ["skeleton", "skeleton", "mini-halcone", "mini-hmg", "mini-nmoesi", "mini-gtsc"];

fn run(case: &mut Case) -> Result<Did, String> {
    let index = case.random.below(1 << 20);
    let mut program = generate::program(case.seed, index);
    let name = case.random.pick(&MACHINES);
    program.body = case.steps(program.body);
    let source = program.source();
    case.note(&format!("on {name}, grid {:?}, group {:?}, {}", program.grid, program.group, program.flags.join(" ")));
    if program.body.len() <= 2 {
        case.note(&source);
    }
    let scratch = Scratch::new("fuzz-kernels")?;
    let (text, object) = (scratch.0.join("k.cl"), scratch.0.join("k.hsaco"));
    fs::write(&text, &source).map_err(|error| error.to_string())?;
    match clang::compile(&text, &object, &program.flags) {
        Err(error) if error.contains(crate::tool::CRASHED) => return Ok(Did::Refused),
        other => other?,
    }
    let object = fs::read(&object).map_err(|error| error.to_string())?;
    let one = NonZero::<usize>::MIN;
    let mut plain = Functional::new(&object, one).map_err(|error| error.to_string())?.with_limit(LIMIT);
    let expected =
        compare::outputs(&program, case.seed, &mut plain).map_err(|error| format!("functional run: {error}"))?;
    let machine = Machine::load(name, &[]).map_err(|error| error.to_string())?;
    let options = Options { check: true, ..Options::default() };
    let mut timed = Timed::new(&object, &machine, &options).map_err(|error| error.to_string())?;
    let found = compare::outputs(&program, case.seed, &mut timed).map_err(|error| format!("timed run: {error}"))?;
    timed.finish().map_err(|error| format!("timed run: {error}"))?;
    for (buffer, (expected, found)) in program.buffers().iter().zip(expected.iter().zip(&found)) {
        if let Some(at) = expected.iter().zip(found).position(|(one, other)| one != other) {
            return Err(format!(
                "byte {at} of {}: {} in the functional run, {} in the timed one",
                buffer.name, expected[at], found[at]
            ));
        }
    }
    Ok(Did::Ran)
}
