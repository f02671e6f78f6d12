//! What must be equal, and how differences are reported.

use crate::generate::{Step, stores_image};
use crate::instructions::Family;
use crate::state::{End, IMAGE, SCRATCH, State};
use crate::undefined::{ever_undefined_flags, undefined_flags};
use iced_x86::{Code, Mnemonic, RflagsBits};
use std::ops::Range;

const REGISTERS: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// All differences, one per line.
pub fn differences(steps: &[Step], host: &(State, End), emulator: &(State, End)) -> Vec<String> {
    let mut lines = Lines(Vec::new());
    lines.add("end", normal(steps, host.1), normal(steps, emulator.1), |end| format!("{end:x?}"));
    let undefined = if host.1 == End::Finished { undefined_flags(steps) } else { ever_undefined_flags(steps) };
    // A store from an mm register that faults may already have reset the top of the x87 stack.
    let half_mmx = matches!(host.1, End::Fault { vector: 12..=14, .. })
        && steps.iter().any(|step| Family::Mmx.has(step.instruction.code()));
    let (host, emulator) = (&host.0, &emulator.0);
    for (i, name) in REGISTERS.iter().enumerate() {
        lines.add(name, host.gprs[i], emulator.gprs[i], |value| format!("{value:#x}"));
    }
    let compared = u64::from(rflags(!undefined));
    lines.add("flags", host.flags & compared, emulator.flags & compared, flags);
    let word = |state: &State, at: usize| u16::from_le_bytes([state.fx[at], state.fx[at + 1]]);
    for (name, at) in [("x87 control", 0), ("mxcsr", 24), ("mxcsr, high half", 26)] {
        lines.add(name, word(host, at), word(emulator, at), |value| format!("{value:04x}"));
    }
    lines.add("x87 tags", host.fx[4], emulator.fx[4], |tags| format!("{tags:08b}"));
    if !half_mmx {
        lines.add("x87 status", word(host, 2), word(emulator, 2), |value| format!("{value:04x}"));
        for i in 0..8 {
            let register = (usize::from(word(host, 2) >> 11 & 7) + i) % 8;
            if host.fx[4] >> register & 1 != 0 {
                lines.add(&format!("st({i})"), st(host, i), st(emulator, i), |text| text);
            }
        }
    }
    for i in 0..16 {
        lines.add(&format!("xmm{i}"), xmm(host, i), xmm(emulator, i), |value| format!("{value:032x}"));
    }
    if host.scratch != emulator.scratch {
        let ignored = ignored(steps);
        for at in (0..host.scratch.len()).filter(|at| ignored.iter().all(|range| !range.contains(at))) {
            let place = || format!("byte {:#x}", SCRATCH as usize + at);
            if host.scratch[at] != emulator.scratch[at] {
                lines.add(&place(), host.scratch[at], emulator.scratch[at], |byte| format!("{byte:02x}"));
            }
        }
    }
    lines.0
}

struct Lines(Vec<String>);

impl Lines {
    fn add<T: PartialEq>(&mut self, what: &str, host: T, emulator: T, tell: impl Fn(T) -> String) {
        if host != emulator {
            self.0.push(format!("  {what}: host {}, emulator {}", tell(host), tell(emulator)));
        }
    }
}

/// Normalises faults. Whether pages outside the program are present depends on the host kernel, and for `maskmovdqu`
/// processors differ in which byte they report.
fn normal(steps: &[Step], end: End) -> End {
    let End::Fault { vector: 14, code, address, rip } = end else { return end };
    let masked =
        steps.iter().any(|step| matches!(step.instruction.mnemonic(), Mnemonic::Maskmovdqu | Mnemonic::Maskmovq));
    End::Fault { vector: 14, code: code & !1, address: if masked { 0 } else { address }, rip }
}

pub fn st(state: &State, i: usize) -> String {
    let bytes = &state.fx[32 + 16 * i..];
    let significand = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    format!("{:04x}:{significand:016x}", u16::from_le_bytes([bytes[8], bytes[9]]))
}

pub fn xmm(state: &State, i: usize) -> u128 {
    u128::from_le_bytes(state.fx[160 + 16 * i..][..16].try_into().expect("sixteen bytes"))
}

/// Converts iced's flag bits to RFLAGS bits.
fn rflags(bits: u32) -> u32 {
    let pairs = [
        (RflagsBits::CF, 0),
        (RflagsBits::PF, 2),
        (RflagsBits::AF, 4),
        (RflagsBits::ZF, 6),
        (RflagsBits::SF, 7),
        (RflagsBits::DF, 10),
        (RflagsBits::OF, 11),
    ];
    pairs.iter().filter(|(bit, _)| bits & bit != 0).fold(0, |flags, (_, at)| flags | 1 << at)
}

fn flags(flags: u64) -> String {
    let names = [(0, "CF"), (2, "PF"), (4, "AF"), (6, "ZF"), (7, "SF"), (10, "DF"), (11, "OF")];
    let set: Vec<_> = names.iter().filter(|(at, _)| flags >> at & 1 != 0).map(|(_, name)| *name).collect();
    format!("[{}]", set.join(" "))
}

/// Scratch bytes that are not compared, since the emulator does not model them: addresses of the last x87 instruction
/// and operand, reserved bytes, and empty registers.
fn ignored(steps: &[Step]) -> Vec<Range<usize>> {
    let at = (IMAGE - SCRATCH) as usize;
    let images = steps.iter().filter(|step| stores_image(&step.instruction));
    images
        .flat_map(|step| match step.instruction.code() {
            Code::Fnstenv_m14byte | Code::Fnsave_m94byte => [6..14, 0..0, 0..0],
            Code::Fxsave_m512byte | Code::Fxsave64_m512byte => [6..24, 28..32, 416..512],
            _ => [12..28, 0..0, 0..0],
        })
        .map(|range| range.start + at..range.end + at)
        .collect()
}

#[test]
fn a_difference_in_any_part_of_the_state_is_reported() {
    let mut random = crate::random::Random::new(0, 0);
    let mut state = State::random(&mut random);
    state.fx[4] = 0xff;
    let told = |change: &dyn Fn(&mut State)| {
        let mut other = state.clone();
        change(&mut other);
        differences(&[], &(state.clone(), End::Finished), &(other, End::Finished)).len()
    };
    assert_eq!(told(&|_| ()), 0);
    assert_eq!(told(&|state| state.gprs[7] ^= 1), 1);
    assert_eq!(told(&|state| state.flags ^= 1 << 11), 1);
    assert_eq!(told(&|state| state.scratch[100] ^= 1), 1);
    // Control, status, tags, MXCSR, a byte of st(3) and one of xmm9.
    for at in [0, 2, 4, 24, 32 + 16 * 3 + 9, 160 + 16 * 9 + 15] {
        assert_eq!(told(&|state| state.fx[at] ^= 1), 1, "byte {at} of the image");
    }
    let fault = End::Fault { vector: 0, code: 0, address: 0, rip: 0 };
    assert_eq!(differences(&[], &(state.clone(), End::Finished), &(state.clone(), fault)).len(), 1);
}
