//! `cpuid`.
//!
//! By default SSE2 is announced, so that C libraries select their basic variants. With [`Features::sse4`], MMX, SSE3 to
//! SSE4.2 and `popcnt` are also announced, which dynamic loaders accept as x86-64-v2. These instructions work either
//! way. The cache parameters are those of a common desktop processor: C libraries size their copy loops by them. They
//! don't describe the simulated machine.

use crate::insn::{Insn, NEXT, Outcome};
use crate::{Cpu, Memory, Reg};

/// Features that `cpuid` announces beyond baseline x86-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// MMX, SSE3, SSSE3, SSE4.1, SSE4.2 and `popcnt`.
    pub sse4: bool,
}

pub(crate) fn cpuid<M: Memory>(cpu: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    let leaf = cpu.gpr[Reg::Rax] as u32;
    let subleaf = cpu.gpr[Reg::Rcx] as u32;
    let [eax, ebx, ecx, edx] = answer(cpu.features, leaf, subleaf);
    cpu.gpr[Reg::Rax] = eax as u64;
    cpu.gpr[Reg::Rbx] = ebx as u64;
    cpu.gpr[Reg::Rcx] = ecx as u64;
    cpu.gpr[Reg::Rdx] = edx as u64;
    NEXT
}

/// The values of EAX, EBX, ECX and EDX.
fn answer(features: Features, leaf: u32, subleaf: u32) -> [u32; 4] {
    match leaf {
        0 => [0xb, text(b"Genu"), text(b"ntel"), text(b"ineI")],
        1 => {
            // Family 6, model 15, stepping 11; lines of 64 bytes; one logical processor.
            let [cx16, sse4] = [1 << 13, (1 | 1 << 9 | 1 << 19 | 1 << 20 | 1 << 23) * features.sse4 as u32];
            // FPU, TSC, MSR, CX8, SEP, CMOV, CLFSH, FXSR, SSE, SSE2.
            let base = 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 11 | 1 << 15 | 1 << 19 | 1 << 24 | 1 << 25 | 1 << 26;
            let mmx = (1 << 23) * features.sse4 as u32;
            [0x6fb, 1 << 16 | 8 << 8, cx16 | sse4, base | mmx]
        }
        // Cache descriptors: "see leaf 4".
        2 => [0x01, 0, 0, 0xff],
        4 => match subleaf {
            0 => cache(1, 1, 8, 64),
            1 => cache(2, 1, 8, 64),
            2 => cache(3, 2, 8, 512),
            3 => cache(3, 3, 16, 4096),
            _ => [0; 4],
        },
        0x8000_0000 => [0x8000_0008, 0, 0, 0],
        // LAHF in ECX; SYSCALL, NX, RDTSCP and long mode in EDX.
        0x8000_0001 => [0, 0, 1, 1 << 11 | 1 << 20 | 1 << 27 | 1 << 29],
        0x8000_0002 => brand(0),
        0x8000_0003 => brand(1),
        0x8000_0004 => brand(2),
        // A second-level cache of 256 KiB, 8 ways, lines of 64 bytes.
        0x8000_0006 => [0, 0, 256 << 16 | 6 << 12 | 64, 0],
        // An invariant time-stamp counter.
        0x8000_0007 => [0, 0, 0, 1 << 8],
        0x8000_0008 => [48 << 8 | 46, 0, 0, 0],
        _ => [0; 4],
    }
}

/// Deterministic cache parameters: kind 1 is data, 2 instructions, 3 unified; lines of 64 bytes.
fn cache(kind: u32, level: u32, ways: u32, sets: u32) -> [u32; 4] {
    [kind | level << 5 | 1 << 8, (ways - 1) << 22 | 63, sets - 1, 0]
}

const BRAND: &[u8; 48] = b"cohesim x86-64 processor\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

fn brand(part: usize) -> [u32; 4] {
    std::array::from_fn(|i| {
        let at = part * 16 + i * 4;
        text(BRAND[at..at + 4].try_into().expect("four bytes"))
    })
}

fn text(bytes: &[u8; 4]) -> u32 {
    u32::from_le_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sse2_is_announced_unless_more_is_requested() {
        let [_, _, ecx, edx] = answer(Features::default(), 1, 0);
        assert_eq!((ecx & (1 | 1 << 9 | 1 << 19 | 1 << 20 | 1 << 28), edx >> 26 & 1), (0, 1));
        let [_, _, ecx, edx] = answer(Features { sse4: true }, 1, 0);
        assert_eq!((ecx >> 20 & 1, edx >> 23 & 1), (1, 1));
    }

    #[test]
    fn cache_sizes_follow_from_leaf_4() {
        let size = |[_, ebx, ecx, _]: [u32; 4]| ((ebx >> 22) + 1) * ((ebx & 0xfff) + 1) * (ecx + 1);
        assert_eq!(size(answer(Features::default(), 4, 0)), 32 << 10);
        assert_eq!(size(answer(Features::default(), 4, 2)), 256 << 10);
        assert_eq!(size(answer(Features::default(), 4, 3)), 4 << 20);
    }
}
