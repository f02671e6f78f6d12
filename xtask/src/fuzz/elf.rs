//! Damaged or generated program files: each is rejected with an error, or runs to some end, functionally and on
//! machines.
//!
//! A program that ends by itself in the functional run must end the same way on a machine, with the same output.

use super::{
    case::{Case, Did, Target},
    guest::{self, Ended, Failed, Guest},
    image::{Code, Segment, elf},
    random::Random,
};
use machine::Machine;
use os::End;

#[path = "../../../crates/gcn3/tests/support/damage.rs"]
pub mod damage;

pub const TARGET: Target = Target {
    name: "elf",
    about: "damaged and generated program files, functionally and on machines",
    share: 2,
    chunk: 100,
    quick: 600,
    run,
};

/// A valid static program with many parts.
const SOUND: &[u8] = include_bytes!("../../../crates/os/tests/guests/guests");

fn run(case: &mut Case) -> Result<Did, String> {
    let mut file = if case.random.one_in(2) { SOUND.to_vec() } else { generated(&mut case.random) };
    let count = 1 + case.random.below(6);
    let damages = (0..count).map(|_| (case.random.bits(), case.random.below(4))).collect();
    let damages: Vec<(u64, usize)> = case.steps(damages);
    case.note(&format!("{} bytes, {} places damaged", file.len(), damages.len()));
    for (seed, kind) in damages {
        let mut random = mem::SplitMix64(seed);
        match kind {
            // Changes a whole header field.
            0 | 1 => field(&mut file, &mut random),
            _ => damage::damage_once(&mut file, &mut random),
        }
    }
    let mut guest = Guest::new(file);
    guest.arguments = vec![b"guest".to_vec(), case.random.pick(&["hello", "memory", "clocks", ""]).as_bytes().to_vec()];
    guest.instructions = 100_000;
    guest.time = engine::Time::micros(200);
    let place = case.random.below(12);
    let first = match guest::functional(&guest) {
        Ok((ended, _)) => Some(ended),
        Err(_) => None,
    };
    let name = match place {
        0..=2 => "apu-c-l3",
        3 => "apu-nc-mc",
        4 => "skeleton",
        _ => return Ok(if first.is_some() { Did::Ran } else { Did::Refused }),
    };
    case.note(&format!("on {name}"));
    let sets: &[&str] =
        if name.starts_with("apu") { &["cpu.cores=2", "gpu.arrays=1", "gpu.units_per_array=1"] } else { &[] };
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let machine = Machine::load(name, &sets).map_err(|error| error.to_string())?;
    match (first, guest::on(&machine, &guest, 1)) {
        (None, Err(Failed::Refused(_))) => Ok(Did::Refused),
        (None, _) => Err(format!("refused in the functional run, and not on {name}")),
        (Some(_), Err(Failed::Refused(error))) => Err(format!("runs functionally, and {name} refuses it: {error}")),
        (_, Err(Failed::Wrong(error))) => Err(error),
        (Some(first), Ok(second)) => compare(&first, &second).map(|()| Did::Ran),
    }
}

/// Checks that both runs ended equally, if both ended by themselves.
pub fn compare(first: &Ended, second: &Ended) -> Result<(), String> {
    let by_itself = |ended: &Ended| matches!(ended.end, End::Exited { .. } | End::Killed { .. });
    if !by_itself(first) || !by_itself(second) {
        return Ok(());
    }
    let (one, other) = (first.end.exit_code(), second.end.exit_code());
    if one != other {
        return Err(format!("functional run: {}; on the machine: {}", first.end, second.end));
    }
    match first.out.iter().zip(&second.out).position(|(one, other)| one != other) {
        Some(at) => Err(format!("the outputs differ at byte {at}")),
        None if first.out.len() != second.out.len() => Err(format!(
            "{} bytes are printed in the functional run, {} on the machine",
            first.out.len(),
            second.out.len()
        )),
        None => Ok(()),
    }
}

/// Sets a field of the file header or of a program header to an extreme or a plausible number.
fn field(file: &mut [u8], random: &mut mem::SplitMix64) {
    const HEADER: [(usize, usize); 9] = [(4, 1), (5, 1), (16, 2), (18, 2), (24, 8), (32, 8), (52, 2), (54, 2), (56, 2)];
    let (at, width) = match random.below(3) {
        0 => HEADER[random.below(HEADER.len())],
        _ => (
            64 + 56 * random.below(6) + [0, 4, 8, 16, 32, 40, 48][random.below(7)],
            if random.below(3) == 0 { 4 } else { 8 },
        ),
    };
    let plausible = [0x1000, 0x40_0000, 0x40_0fff, 0x7fff_ffff_f000, 0x8000_0000_0000, file.len() as u64, 3, 2, 7];
    let value = match random.below(3) {
        0 => damage::EDGES[random.below(damage::EDGES.len())],
        1 => plausible[random.below(plausible.len())],
        _ => random.draw() >> random.below(64),
    };
    if let Some(field) = file.get_mut(at..at + width) {
        field.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

/// A small program with a few segments at various addresses; its code is a few valid instructions and then random
/// bytes.
fn generated(random: &mut Random) -> Vec<u8> {
    let mut code = Code::default();
    code.call(39, &[]);
    let noise = random.below(48);
    code.bytes(&(0..noise).map(|_| random.bits() as u8).collect::<Vec<_>>());
    code.exit();
    let bases = [0x40_0000, 0x1_0000, 0x5555_5555_4000, 0x7fff_f7ff_0000, 0x10_0000_0000];
    let base = random.pick(&bases);
    let mut segments = vec![Segment { address: base, size: code.0.len() as u64, bytes: code.0, flags: 5 }];
    for number in 0..random.below(5) as u64 {
        let bytes: Vec<u8> = (0..random.below(6000)).map(|_| random.bits() as u8).collect();
        let size = random.pick(&[0, 100, 4096, 70_000, 1 << 22]);
        let flags = random.below(8) as u32;
        segments.push(Segment { address: base + 0x100_0000 * (number + 1), bytes, size, flags });
    }
    elf(base, &segments)
}
