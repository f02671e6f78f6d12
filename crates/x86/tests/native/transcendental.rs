//! Transcendental functions, one at a time: the result must be within one unit in the last place of the host's, with
//! the same exceptions, for operands for which the manuals specify results.

use crate::compare::differences;
use crate::emulator::{Emulator, Way};
use crate::generate::{Step, encode};
use crate::host::Host;
use crate::random::Random;
use crate::state::State;
use crate::values;
use iced_x86::{Code, Instruction};

/// C1 gives the direction of rounding.
const C1: u8 = 1 << 1;

struct Tally {
    compared: u32,
    equal: u32,
}

/// Compares `count` results; `limit` bounds the exponent field of st(0), unless st(0) is of another class of number.
fn compare(code: Code, count: u64, limit: Option<u16>) -> Tally {
    let (mut host, mut emulator) = (Host::new(), Emulator::new());
    let steps = [Step { setup: Vec::new(), instruction: Instruction::with(code), target: None }];
    let bytes = encode(&steps).expect("an instruction without operands");
    let mut tally = Tally { compared: 0, equal: 0 };
    for number in 0..count {
        let mut random = Random::new(code as u64, number);
        let start = start(&mut random, limit);
        let hosts = host.run(&bytes, &start);
        let mut emulators = emulator.run(&bytes, &start, Way::Blocks);
        tally.compared += 1;
        for i in 0..2 {
            bring_near(&hosts.0, &mut emulators.0, i);
        }
        emulators.0.fx[3] = emulators.0.fx[3] & !C1 | hosts.0.fx[3] & C1;
        let lines = differences(&steps, &hosts, &emulators);
        assert!(
            lines.is_empty(),
            "{code:?} number {number}, control {:02x}{:02x}, of {} and {}:\n{}",
            start.fx[1],
            start.fx[0],
            crate::compare::st(&start, 0),
            crate::compare::st(&start, 1),
            lines.join("\n")
        );
        tally.equal += u32::from(emulators.0.fx[511] == 0);
    }
    tally
}

/// A state with at least two numbers on the stack and one free register.
fn start(random: &mut Random, limit: Option<u16>) -> State {
    let mut start = State::random(random);
    let control = values::control(random) | 0x3f;
    start.fx[0..2].copy_from_slice(&control.to_le_bytes());
    start.fx[2..4].copy_from_slice(&(4u16 << 11).to_le_bytes());
    start.fx[4] = 0b0011_0000;
    for i in 0..2 {
        let mut number = values::extended(random);
        if random.chance(60) {
            // The range in which most programs compute.
            let exponent = 0x3fff - 12 + random.below(14) as u16;
            number[..8].copy_from_slice(&(random.bits() | 1 << 63).to_le_bytes());
            number[8..].copy_from_slice(&(exponent | random.bits() as u16 & 0x8000).to_le_bytes());
        }
        let field = u16::from_le_bytes([number[8], number[9]]);
        if let Some(limit) = limit
            && i == 0
            && (limit..0x7fff).contains(&(field & 0x7fff))
        {
            let smaller = limit - 1 - random.below(20) as u16;
            number[8..].copy_from_slice(&(field & 0x8000 | smaller).to_le_bytes());
        }
        start.fx[32 + 16 * i..][..10].copy_from_slice(&number);
    }
    start.fx[511] = 0;
    start
}

/// Copies the host's st(i) to the emulator's if the two are adjacent numbers, and notes that they differed.
fn bring_near(host: &State, emulator: &mut State, i: usize) {
    let at = 32 + 16 * i;
    let number = |state: &State| {
        let bytes: [u8; 16] = state.fx[at..at + 16].try_into().expect("sixteen bytes");
        let bits = u128::from_le_bytes(bytes) & ((1 << 80) - 1);
        // Without the leading bit, adjacent numbers differ by one.
        let magnitude = (bits >> 64 & 0x7fff) << 63 | bits & ((1 << 63) - 1);
        (bits >> 79, magnitude)
    };
    let (ours, theirs) = (number(emulator), number(host));
    if ours != theirs && ours.0 == theirs.0 && ours.1.abs_diff(theirs.1) == 1 {
        emulator.fx[at..at + 16].copy_from_slice(&host.fx[at..at + 16]);
        emulator.fx[511] = 1;
    }
}

#[test]
fn transcendental_functions_are_within_a_unit_in_the_last_place_of_the_host() {
    if !crate::can_compare() {
        return;
    }
    let functions = [
        (Code::Fsin, None),
        (Code::Fcos, None),
        (Code::Fsincos, None),
        (Code::Fptan, None),
        (Code::Fpatan, None),
        (Code::Fyl2x, None),
        (Code::F2xm1, Some(0x3fff)),
        (Code::Fyl2xp1, Some(0x3ffd)),
    ];
    for (code, limit) in functions {
        let tally = compare(code, 3000, limit);
        println!("{code:?}: {} of {} equal", tally.equal, tally.compared);
        assert!(tally.equal * 10 > tally.compared * 8, "{code:?}: most results should be equal to the last bit");
    }
}
