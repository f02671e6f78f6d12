//! Scalar instructions.

use super::support::{Bench, inst, int, s};
use gcn3::{
    exec::Step,
    inst::{Extra, HwReg, Operand},
    ops::Op,
};

/// (instruction, sources, SCC before, result, SCC after)
type Row32 = (Op, [u32; 2], bool, u32, bool);

#[test]
#[rustfmt::skip]
fn results_and_scc_of_32_bit_instructions() {
    let rows: &[Row32] = &[
        (Op::SAddU32,     [0xffff_ffff, 2],          false, 1,           true),
        (Op::SAddU32,     [1, 2],                    true,  3,           false),
        (Op::SAddI32,     [0x7fff_ffff, 1],          false, 0x8000_0000, true),
        (Op::SAddI32,     [0xffff_ffff, 1],          true,  0,           false),
        (Op::SSubU32,     [1, 2],                    false, 0xffff_ffff, true),
        (Op::SSubI32,     [0x8000_0000, 1],          false, 0x7fff_ffff, true),
        (Op::SAddcU32,    [0xffff_ffff, 0],          true,  0,           true),
        (Op::SAddcU32,    [0xffff_ffff, 0xffff_ffff],true,  0xffff_ffff, true),
        (Op::SSubbU32,    [5, 5],                    true,  0xffff_ffff, true),
        (Op::SSubbU32,    [5, 4],                    true,  0,           false),
        (Op::SMinI32,     [0xffff_ffff, 3],          false, 0xffff_ffff, true),
        (Op::SMinU32,     [0xffff_ffff, 3],          true,  3,           false),
        (Op::SMaxI32,     [0xffff_ffff, 3],          true,  3,           false),
        (Op::SMaxU32,     [0xffff_ffff, 3],          false, 0xffff_ffff, true),
        (Op::SCselectB32, [7, 8],                    true,  7,           true),
        (Op::SCselectB32, [7, 8],                    false, 8,           false),
        (Op::SAndB32,     [0xf0, 0x0f],              true,  0,           false),
        (Op::SOrB32,      [0xf0, 0x0f],              false, 0xff,        true),
        (Op::SXorB32,     [0xff, 0x0f],              false, 0xf0,        true),
        (Op::SAndn2B32,   [0xff, 0x0f],              false, 0xf0,        true),
        (Op::SOrn2B32,    [0, !1],                   false, 1,           true),
        (Op::SNandB32,    [!0, !0],                  true,  0,           false),
        (Op::SNorB32,     [1, 2],                    false, !3,          true),
        (Op::SXnorB32,    [5, 5],                    false, !0,          true),
        (Op::SLshlB32,    [1, 33],                   false, 2,           true),
        (Op::SLshrB32,    [0x8000_0000, 31],         false, 1,           true),
        (Op::SAshrI32,    [0x8000_0000, 31],         false, !0,          true),
        (Op::SBfmB32,     [4, 8],                    true,  0xf00,       true),
        (Op::SMulI32,     [0x1_0001, 0x1_0001],      true,  0x2_0001,    true),
        (Op::SBfeU32,     [0x1234_5678, 8 << 16 | 4],false, 0x67,        true),
        (Op::SBfeI32,     [0x0000_0f00, 4 << 16 | 8],false, !0,          true),
        (Op::SBfeU32,     [!0, 4],                   true,  0,           false),
        (Op::SBfeU32,     [0xffff_0000, 31 << 16 | 16], false, 0xffff,   true),
        (Op::SAbsdiffI32, [3, 10],                   false, 7,           true),
        (Op::SNotB32,     [!0, 0],                   true,  0,           false),
        (Op::SBrevB32,    [1, 0],                    true,  0x8000_0000, true),
        (Op::SBcnt0I32B32,[0xff, 0],                 false, 24,          true),
        (Op::SBcnt1I32B32,[0, 0],                    true,  0,           false),
        (Op::SFf0I32B32,  [0xff, 0],                 true,  8,           true),
        (Op::SFf0I32B32,  [!0, 0],                   false, !0,          false),
        (Op::SFf1I32B32,  [0x100, 0],                false, 8,           false),
        (Op::SFf1I32B32,  [0, 0],                    false, !0,          false),
        (Op::SFlbitI32B32,[0xff, 0],                 false, 24,          false),
        (Op::SFlbitI32,   [0xffff_0000, 0],          false, 16,          false),
        (Op::SFlbitI32,   [!0, 0],                   false, !0,          false),
        (Op::SSextI32I8,  [0x80, 0],                 false, 0xffff_ff80, false),
        (Op::SSextI32I16, [0x8000, 0],               false, 0xffff_8000, false),
        (Op::SAbsI32,     [!0, 0],                   false, 1,           true),
        (Op::SQuadmaskB32,[0x0f00_0010, 0],          false, 0x42,        true),
        (Op::SWqmB32,     [0x0100_0010, 0],          false, 0x0f00_00f0, true),
        (Op::SAddkI32,    [0x7fff_fff0, 0x10],       false, 0x8000_0000, true),
        (Op::SMulkI32,    [7, 0xffff_ffff],          true,  0xffff_fff9, true),
    ];
    for (op, [a, b], before, result, after) in rows {
        let mut bench = Bench::new();
        (bench.wave.scalars[1], bench.wave.scalars[2]) = (*a, *b);
        bench.wave.scc = *before;
        bench.run(&inst(*op, s(0), &[s(1), s(2)]));
        assert_eq!((bench.wave.scalars[0], bench.wave.scc), (*result, *after), "{} {a:#x} {b:#x}", op.mnemonic());
    }
}

#[test]
#[rustfmt::skip]
fn results_and_scc_of_64_bit_instructions() {
    let rows: &[(Op, u64, u64, u64, bool)] = &[
        (Op::SAndB64,   0xff00_0000_0000_0000, !0, 0xff00_0000_0000_0000, true),
        (Op::SXnorB64,  5, 5, !0, true),
        (Op::SLshlB64,  1, 63, 1 << 63, true),
        (Op::SLshrB64,  1 << 63, 64 + 63, 1, true),
        (Op::SAshrI64,  1 << 63, 62, !1, true),
        (Op::SBfeU64,   0x1234_5678_9abc_def0, 16 << 16 | 36, 0x4567, true),
        (Op::SBfeI64,   0x0000_0f00_0000_0000, 4 << 16 | 40, !0, true),
        (Op::SNotB64,   !0, 0, 0, false),
        (Op::SWqmB64,   1 << 63, 0, 0xf << 60, true),
        (Op::SQuadmaskB64, 0x8000_0000_0000_0001, 0, 0x8001, true),
    ];
    for (op, a, b, result, after) in rows {
        let mut bench = Bench::new();
        bench.wave.set_pair(2, *a);
        bench.wave.set_pair(4, *b);
        bench.run(&inst(*op, s(0), &[s(2), s(4)]));
        assert_eq!((bench.wave.pair(0), bench.wave.scc), (*result, *after), "{} {a:#x} {b:#x}", op.mnemonic());
    }
    let counts: &[(Op, u64, u32)] = &[
        (Op::SBcnt1I32B64, 0xf000_0000_0000_000f, 8), (Op::SBcnt0I32B64, 0xff, 56), (Op::SFf1I32B64, 1 << 40, 40),
        (Op::SFf1I32B64, 0, !0), (Op::SFf0I32B64, 0xffff, 16), (Op::SFlbitI32B64, 1, 63), (Op::SFlbitI32I64, !1, 63),
    ];
    for (op, a, result) in counts {
        let mut bench = Bench::new();
        bench.wave.set_pair(2, *a);
        bench.run(&inst(*op, s(0), &[s(2)]));
        assert_eq!(bench.wave.scalars[0], *result, "{} {a:#x}", op.mnemonic());
    }
}

#[test]
fn compares_set_scc() {
    let holds = |op: Op, a: u32, b: u32| {
        let mut bench = Bench::new();
        (bench.wave.scalars[1], bench.wave.scalars[2]) = (a, b);
        bench.run(&inst(op, Operand::NONE, &[s(1), s(2)]));
        bench.wave.scc
    };
    assert!(holds(Op::SCmpLtI32, !0, 0) && !holds(Op::SCmpLtU32, !0, 0));
    assert!(holds(Op::SCmpGtU32, !0, 0) && !holds(Op::SCmpGtI32, !0, 0));
    assert!(holds(Op::SCmpGeI32, 4, 4) && holds(Op::SCmpLeU32, 4, 4) && !holds(Op::SCmpLgU32, 4, 4));
    assert!(holds(Op::SBitcmp1B32, 8, 3) && holds(Op::SBitcmp0B32, 8, 34));
}

#[test]
fn saveexec_keeps_the_old_mask_and_makes_a_new_one() {
    type Combine = fn(u64, u64) -> u64;
    let rows: [(Op, Combine); 8] = [
        (Op::SAndSaveexecB64, |s, e| s & e),
        (Op::SOrSaveexecB64, |s, e| s | e),
        (Op::SXorSaveexecB64, |s, e| s ^ e),
        (Op::SAndn2SaveexecB64, |s, e| s & !e),
        (Op::SOrn2SaveexecB64, |s, e| s | !e),
        (Op::SNandSaveexecB64, |s, e| !(s & e)),
        (Op::SNorSaveexecB64, |s, e| !(s | e)),
        (Op::SXnorSaveexecB64, |s, e| !(s ^ e)),
    ];
    for (op, combine) in rows {
        let (source, exec) = (0x0f0f_0000_ffff_1234, 0x00ff_00ff_f0f0_4321);
        let mut bench = Bench::new();
        bench.wave.set_exec(exec);
        bench.wave.set_pair(2, source);
        // The source register may also be the destination.
        bench.run(&inst(op, s(2), &[s(2)]));
        assert_eq!(bench.wave.exec(), combine(source, exec), "{}", op.mnemonic());
        assert_eq!(bench.wave.pair(2), exec);
        assert_eq!(bench.wave.scc, combine(source, exec) != 0);
    }
}

#[test]
fn relative_moves_count_from_m0() {
    let mut bench = Bench::new();
    bench.wave.scalars[124] = 3;
    bench.wave.scalars[13] = 77;
    bench.run(&inst(Op::SMovrelsB32, s(0), &[s(10)]));
    bench.run(&inst(Op::SMovreldB32, s(20), &[s(0)]));
    assert_eq!((bench.wave.scalars[0], bench.wave.scalars[23]), (77, 77));
}

#[test]
fn calls_store_the_address_behind_them() {
    let mut bench = Bench::new();
    bench.wave.pc = 0x1004; // behind the instruction
    bench.wave.set_pair(2, 0x5000);
    bench.run(&inst(Op::SSwappcB64, s(2), &[s(2)]));
    assert_eq!((bench.wave.pc, bench.wave.pair(2)), (0x5000, 0x1004));
    bench.run(&inst(Op::SGetpcB64, s(4), &[]));
    bench.run(&inst(Op::SSetpcB64, Operand::NONE, &[s(2)]));
    assert_eq!((bench.wave.pc, bench.wave.pair(4)), (0x1004, 0x5000));
}

#[test]
fn branches_go_by_scc_vcc_and_exec() {
    let taken = |op: Op, prepare: fn(&mut Bench)| {
        let mut bench = Bench::new();
        bench.wave.pc = 0x1000;
        prepare(&mut bench);
        let mut branch = inst(op, Operand::NONE, &[]);
        branch.imm = -4i32 as u32;
        bench.run(&branch);
        bench.wave.pc == 0x1000 - 16
    };
    assert!(taken(Op::SBranch, |_| {}));
    assert!(taken(Op::SCbranchScc1, |b| b.wave.scc = true) && !taken(Op::SCbranchScc0, |b| b.wave.scc = true));
    assert!(taken(Op::SCbranchVccz, |_| {}) && taken(Op::SCbranchVccnz, |b| b.wave.set_vcc(1 << 63)));
    assert!(taken(Op::SCbranchExecz, |b| b.wave.set_exec(0)) && taken(Op::SCbranchExecnz, |_| {}));
}

#[test]
fn a_field_of_mode_is_read_and_written() {
    let mut bench = Bench::new();
    bench.wave.mode.0 = 0x3c0;
    let mut set = inst(Op::SSetregImm32B32, Operand::NONE, &[Operand::LITERAL]);
    set.imm = 3;
    set.extra = Extra::HwReg(HwReg { id: 1, offset: 4, size: 2 });
    bench.run(&set);
    assert_eq!(bench.wave.mode.0, 0x3f0);
    let mut get = inst(Op::SGetregB32, s(0), &[]);
    get.extra = Extra::HwReg(HwReg { id: 1, offset: 4, size: 8 });
    bench.run(&get);
    assert_eq!(bench.wave.scalars[0], 0x3f);
}

#[test]
fn constants_have_their_values() {
    let value = |operand: Operand, op: Op| {
        let mut bench = Bench::new();
        let mut mov = inst(op, s(0), &[operand]);
        mov.imm = 0x8000_0001;
        bench.wave.scc = true;
        bench.run(&mov);
        bench.wave.pair(0)
    };
    assert_eq!(value(int(64), Op::SMovB32), 64);
    assert_eq!(value(int(-16), Op::SMovB64), -16i64 as u64);
    assert_eq!(value(Operand::HALF, Op::SMovB32), u64::from(0.5f32.to_bits()));
    assert_eq!(value(Operand::HALF, Op::SMovB64), 0.5f64.to_bits());
    // One unit in the last place below the nearest number, as in the hardware.
    assert_eq!(value(Operand::INV_2PI, Op::SMovB64), 0x3fc4_5f30_6dc9_c882);
    assert_eq!(value(Operand::INV_2PI, Op::SMovB32), 0x3e22_f983);
    assert_eq!(value(Operand::LITERAL, Op::SMovB32), 0x8000_0001);
    assert_eq!(value(Operand::LITERAL, Op::SMovB64), 0x8000_0001);
    assert_eq!(value(Operand::LITERAL, Op::SAshrI64), 0xffff_ffff_8000_0001, "shifted by the NONE operand, 0");
    assert_eq!(value(Operand::SCC, Op::SMovB32), 1);
    assert_eq!(value(Operand::VCCZ, Op::SMovB32), 1);
    assert_eq!(value(Operand::EXECZ, Op::SMovB32), 0);
}

#[test]
fn the_clock_runs_on() {
    let mut bench = Bench::new();
    bench.group.clock = 1000;
    bench.wave.executed = 5;
    assert!(matches!(bench.run(&inst(Op::SMemtime, s(0), &[])), Step::Done));
    assert_eq!(bench.wave.pair(0), 1005);
}
