//! What must be the same, and how a difference is told.

use crate::generate::{Step, stores_image, undefined_flags};
use crate::state::{End, IMAGE, SCRATCH, State};
use iced_x86::{Code, RflagsBits};
use std::ops::Range;

const REGISTERS: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// Everything that differs, a line each; nothing if all is well.
pub fn differences(steps: &[Step], host: &(State, End), emulator: &(State, End)) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |what: &str, host: String, emulator: String| {
        if host != emulator {
            lines.push(format!("  {what}: host {host}, emulator {emulator}"));
        }
    };
    line("end", format!("{:x?}", host.1), format!("{:x?}", emulator.1));
    let (host, emulator) = (&host.0, &emulator.0);
    for (i, name) in REGISTERS.iter().enumerate() {
        line(name, format!("{:#x}", host.gprs[i]), format!("{:#x}", emulator.gprs[i]));
    }
    let compared = u64::from(rflags(!undefined_flags(steps)));
    line("flags", flags(host.flags & compared), flags(emulator.flags & compared));
    let word = |state: &State, at: usize| u16::from_le_bytes([state.fx[at], state.fx[at + 1]]);
    line("x87 control", format!("{:04x}", word(host, 0)), format!("{:04x}", word(emulator, 0)));
    line("x87 status", format!("{:04x}", word(host, 2)), format!("{:04x}", word(emulator, 2)));
    line("x87 tags", format!("{:08b}", host.fx[4]), format!("{:08b}", emulator.fx[4]));
    let mxcsr = |state: &State| u32::from(word(state, 24)) | u32::from(word(state, 26)) << 16;
    line("mxcsr", format!("{:04x}", mxcsr(host)), format!("{:04x}", mxcsr(emulator)));
    for i in 0..8 {
        let register = (usize::from(word(host, 2) >> 11 & 7) + i) % 8;
        if host.fx[4] >> register & 1 != 0 {
            line(&format!("st({i})"), st(host, i), st(emulator, i));
        }
    }
    for i in 0..16 {
        line(&format!("xmm{i}"), xmm(host, i), xmm(emulator, i));
    }
    let ignored = ignored(steps);
    for at in 0..host.scratch.len() {
        if ignored.iter().all(|range| !range.contains(&at)) {
            let place = format!("byte {:#x}", SCRATCH as usize + at);
            line(&place, format!("{:02x}", host.scratch[at]), format!("{:02x}", emulator.scratch[at]));
        }
    }
    lines
}

pub fn st(state: &State, i: usize) -> String {
    let bytes = &state.fx[32 + 16 * i..];
    let significand = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    format!("{:04x}:{significand:016x}", u16::from_le_bytes([bytes[8], bytes[9]]))
}

pub fn xmm(state: &State, i: usize) -> String {
    let bytes = state.fx[160 + 16 * i..][..16].try_into().expect("sixteen bytes");
    format!("{:032x}", u128::from_le_bytes(bytes))
}

/// The bits of RFLAGS that iced's bits stand for.
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

/// Scratch bytes that hold what the emulator does not keep: addresses of the last x87 instruction and operand, reserved
/// bytes, and registers that are empty.
fn ignored(steps: &[Step]) -> Vec<Range<usize>> {
    let at = (IMAGE - SCRATCH) as usize;
    let images = steps.iter().filter(|step| stores_image(&step.instruction));
    images
        .flat_map(|step| match step.instruction.code() {
            Code::Fnstenv_m14byte | Code::Fnsave_m94byte => vec![6..14],
            Code::Fxsave64_m512byte => vec![6..24, 28..32, 416..512],
            _ => vec![12..28],
        })
        .map(|range| range.start + at..range.end + at)
        .collect()
}
