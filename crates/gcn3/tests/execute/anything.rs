//! Any instruction with any operands on any registers gives a result or a fault, never a panic.

use super::support::Numbers;
use gcn3::{
    exec::{Group, Step, handler, lds::Lds},
    functional::MappedMemory,
    inst::{
        Dpp, DppControl, Extra, Flags, Format, HwReg, Inst, MemoryFields as Fields, Mods, Omod, Operand, Sdwa, Select,
        Unused,
    },
    ops::Op,
    wave::{Apertures, Wavefront},
};
use mem::{Bytes, VirtAddr};

const BASE: u64 = 0x7_0000_0000;

/// A register value: small numbers, special values and addresses are as frequent as others.
fn value(numbers: &mut Numbers) -> u32 {
    let any = numbers.next();
    match any >> 60 {
        0..4 => (any & 0xff) as u32,
        4..6 => [0, 1, 0x7f80_0000, 0xff80_0001, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0x3f80_0000][any as usize & 7],
        6..8 => (BASE as u32) + (any as u32 & 0xffc),
        8..10 => (BASE >> 32) as u32,
        10 => (any & 3) as u32,
        _ => any as u32,
    }
}

fn operand(numbers: &mut Numbers) -> Operand {
    match numbers.next() % 16 {
        0 => Operand::NONE,
        1..6 => Operand::from_field(numbers.next() as u16 & 0x1ff),
        6 => Operand::LITERAL,
        _ => Operand::vgpr(numbers.next() as u8),
    }
}

fn extra(numbers: &mut Numbers, op: Op) -> Extra {
    let any = numbers.next();
    let select = |shift: u32| {
        use Select::{Byte0, Byte1, Byte2, Byte3, Dword, Word0, Word1};
        [Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword, Dword][(any >> shift) as usize & 7]
    };
    let memory = Fields {
        flags: [Flags::GLC, Flags::SLC, Flags::OFFEN, Flags::IDXEN, Flags::UNORM, Flags::D16]
            .into_iter()
            .enumerate()
            .fold(Flags::default(), |flags, (n, flag)| flags.with(flag, any >> n & 1 == 1)),
        dmask: (any >> 8) as u8 & 15,
        dfmt: (any >> 12) as u8 & 15,
        nfmt: (any >> 16) as u8 & 7,
    };
    let name = op.mnemonic();
    match any >> 61 {
        _ if !name.starts_with('v') && !name.ends_with("reg_b32") => Extra::Memory(memory),
        0 | 1 => {
            Extra::HwReg(HwReg { id: (any & 7) as u8, offset: (any >> 3) as u8 & 31, size: (any >> 8) as u8 & 31 })
        }
        2 => Extra::Sdwa(Sdwa {
            dst_sel: select(0),
            dst_unused: [Unused::Pad, Unused::Sext, Unused::Preserve][(any >> 9) as usize % 3],
            src_sel: [select(3), select(6)],
            sext: (any >> 12) as u8 & 3,
        }),
        3 => {
            use DppControl::{
                QuadPerm, RowBcast15, RowBcast31, RowMirror, RowRor, RowShl, RowShr, WaveRol, WaveShl, WaveShr,
            };
            let n = (any >> 4) as u8 % 15 + 1;
            let controls = [
                QuadPerm(any as u8),
                RowShl(n),
                RowShr(n),
                RowRor(n),
                WaveShl,
                WaveShr,
                WaveRol,
                RowMirror,
                RowBcast15,
                RowBcast31,
            ];
            let control = controls[(any >> 20) as usize % controls.len()];
            Extra::Dpp(Dpp {
                control,
                row_mask: (any >> 32) as u8 & 15,
                bank_mask: (any >> 36) as u8 & 15,
                bound_ctrl: any & 1 == 1,
            })
        }
        _ => Extra::None,
    }
}

#[test]
fn random_instructions_give_a_result_or_a_fault() {
    let mut memory = MappedMemory::default();
    memory.map(VirtAddr(BASE), Bytes(4096), true).unwrap();
    let mut numbers = Numbers(4);
    let mut group = Group { lds: Lds::new(512), ..Group::default() };
    group.lds.watched = true;
    let mut wave = Wavefront::new();
    wave.apertures = Apertures { shared_hi: 1, private_hi: 2, scratch_base: BASE };
    let (mut done, mut accesses, mut faults) = (0, 0, 0);
    for round in 0..400 {
        wave.scalars = std::array::from_fn(|_| value(&mut numbers));
        for register in 0..256 {
            let (same, shared) = (!numbers.next().is_multiple_of(3), value(&mut numbers));
            wave.vgprs[register].0 = std::array::from_fn(|lane| match same {
                true => shared.wrapping_add(4 * lane as u32 * (round & 1)),
                false => value(&mut numbers),
            });
        }
        wave.mode.0 = numbers.next() as u32 & 0x3ff;
        for op in Op::ALL {
            let Some(handler) = handler(*op) else { continue };
            let any = numbers.next();
            wave.set_exec(if any >> 40 & 1 == 1 { !0 } else { numbers.next() });
            let inst = Inst {
                op: *op,
                format: if any & 1 == 1 { Format::Mtbuf } else { Format::Vop3a },
                size: 8,
                dst: operand(&mut numbers),
                sdst: operand(&mut numbers),
                src: std::array::from_fn(|_| operand(&mut numbers)),
                imm: value(&mut numbers) & 0xffff,
                mods: Mods {
                    abs: (any >> 1) as u8 & 7,
                    neg: (any >> 4) as u8 & 7,
                    omod: [Omod::None, Omod::Mul2, Omod::Mul4, Omod::Div2][(any >> 7) as usize & 3],
                    clamp: any >> 9 & 7 == 0,
                },
                extra: extra(&mut numbers, *op),
            };
            match handler(&mut wave, &inst, &mut group) {
                Ok(Step::Mem(mut op)) => {
                    accesses += 1;
                    if memory.perform(&mut op, any >> 20 & 1 == 0).is_ok() {
                        wave.complete(&op).unwrap();
                    }
                    group.recycle(op);
                }
                Ok(Step::Scalar(mut op)) => {
                    accesses += 1;
                    if memory.perform_scalar(&mut op).is_ok() {
                        wave.complete_scalar(&op);
                    }
                }
                Ok(_) => done += 1,
                Err(fault) => {
                    faults += 1;
                    assert!(!fault.to_string().is_empty());
                }
            }
        }
    }
    assert!(done > 200_000 && accesses > 20_000 && faults > 4_000, "{done} done, {accesses} accesses, {faults} faults");
}
