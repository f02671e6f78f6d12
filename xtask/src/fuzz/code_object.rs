//! Damaged code objects: read, disassembled and launched, functionally and on a machine.

use super::{
    case::{Case, Did, Target},
    elf::damage,
};
use engine::{Outcome, Time};
use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::{Gpu, Options, Program},
    object::{ArgumentKind, CodeObject, Kernel},
};
use machine::{Machine, RustHost, RustHostError};
use mem::{Bytes, VirtAddr};

#[path = "../../../crates/gcn3/tests/support/any_code.rs"]
mod any_code;
#[path = "../../../crates/gcn3/tests/support/exercise.rs"]
mod exercise;

pub const TARGET: Target = Target {
    name: "code-object",
    about: "damaged code objects, read, disassembled and launched",
    share: 2,
    chunk: 200,
    quick: 1500,
    run,
};

const OBJECTS: [&[u8]; 3] = [
    include_bytes!("../../../crates/gcn3/tests/objects/v4.hsaco"),
    include_bytes!("../../../crates/gcn3/tests/objects/v5.hsaco"),
    include_bytes!("../../../crates/gcn3/tests/objects/kernels.o"),
];

/// Limit of instructions per wavefront of a damaged kernel.
const LIMIT: u64 = 20_000;

fn run(case: &mut Case) -> Result<Did, String> {
    let built_in = &workloads::ALL[case.random.below(workloads::ALL.len())];
    let mut file = if case.random.one_in(2) { case.random.pick(&OBJECTS).to_vec() } else { built_in.object.to_vec() };
    let count = 1 + case.random.below(3);
    let damages = (0..count).map(|_| case.random.bits()).collect();
    let damages: Vec<u64> = case.steps(damages);
    case.note(&format!("{} bytes, damaged by {} steps", file.len(), damages.len()));
    damages.into_iter().for_each(|seed| damage::damage_once(&mut file, &mut mem::SplitMix64(seed)));
    exercise::exercise(&file);
    let Ok(object) = CodeObject::parse(&file) else { return Ok(Did::Refused) };
    let mut offset = 0;
    while offset < file.len() {
        offset += any_code::check(&file, offset);
    }
    let in_time = case.random.one_in(4);
    for kernel in object.kernels() {
        launch(&object, kernel, in_time)?;
    }
    Ok(Did::Ran)
}

/// Launches a kernel; only failures of the simulator itself count.
fn launch(object: &CodeObject, kernel: &Kernel, in_time: bool) -> Result<(), String> {
    let group = kernel.required_group.unwrap_or([64, 1, 1]);
    // A grid of one or two groups suffices.
    let items = group.iter().map(|n| u64::from(*n)).product::<u64>();
    if items > 4096 {
        return Ok(());
    }
    let grid = [group[0].saturating_mul(2), group[1], group[2]];
    let mut gpu = Gpu::new();
    let Ok(program) = gpu.load(object) else { return Ok(()) };
    let Ok(buffer) = gpu.alloc(Bytes(1 << 16)) else { return Ok(()) };
    let Ok(mut dispatch) = Dispatch::new(kernel, grid, group, [0; 3]) else { return Ok(()) };
    if dispatch.set_arguments(&arguments(kernel, buffer)).is_err() {
        return Ok(());
    }
    if in_time { simulate(&mut gpu, &program, dispatch) } else { compute(&mut gpu, &program, &dispatch) }
}

fn compute(gpu: &mut Gpu, program: &Program, dispatch: &Dispatch) -> Result<(), String> {
    // An error is an acceptable result.
    let _ = gpu.launch(program, dispatch, Options { threads: 1, limit: Some(LIMIT) });
    Ok(())
}

fn simulate(gpu: &mut Gpu, program: &Program, dispatch: Dispatch) -> Result<(), String> {
    let machine = Machine::load("skeleton", &[]).map_err(|error| error.to_string())?;
    let options = machine::Options { check: true, until: Some(Time::micros(100)), ..machine::Options::default() };
    let mut staged = RustHost::new(&machine, &options);
    let launched = staged.launch(gpu, program, dispatch);
    let run = staged.finish();
    match (&launched, &run.outcome) {
        (Err(RustHostError::Launch(_)), _) | (_, Outcome::Finished | Outcome::TimeLimit) => Ok(()),
        (_, Outcome::Failed { message, .. }) if message.contains("the correct value is") => Err(message.clone()),
        (_, Outcome::Failed { .. }) => Ok(()),
        (_, outcome) => Err(outcome.to_string()),
    }
}

fn arguments(kernel: &Kernel, buffer: VirtAddr) -> Vec<ArgumentValue> {
    let value = |kind: &ArgumentKind, size: u32| match kind {
        ArgumentKind::Value => ArgumentValue::Bytes((0..size).map(|n| if n == 0 { 64 } else { 0 }).collect()),
        ArgumentKind::DynamicLds => ArgumentValue::Local(256),
        _ => ArgumentValue::Pointer(buffer),
    };
    kernel.explicit_arguments().map(|argument| value(&argument.kind, argument.size.min(4096))).collect()
}
