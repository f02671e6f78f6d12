//! The local data share.

use super::support::{Bench, inst, v};
use gcn3::{
    error::Fault,
    exec::{
        Step,
        lds::{Lds, LdsKind},
    },
    inst::{Extra, Flags, Inst, MemoryFields, Operand},
    ops::Op,
};

fn with_offset(mut inst: Inst, offset: u32) -> Inst {
    inst.imm = offset;
    inst
}

#[test]
fn words_written_are_read_back() {
    let mut bench = Bench::new();
    bench.group.lds.watched = true;
    bench.set(1, |lane| 4 * (63 - lane as u32));
    bench.set(2, |lane| lane as u32);
    bench.run(&with_offset(inst(Op::DsWriteB32, Operand::NONE, &[v(1), v(2)]), 16));
    assert_eq!(bench.group.lds.word(16), 63);
    assert!(matches!(bench.run(&with_offset(inst(Op::DsReadB32, v(3), &[v(1)]), 20)), Step::Lds));
    assert_eq!(bench.get(3, 10), 9, "one word farther lies what the lane before wrote");
    let last = &bench.group.lds.last;
    assert_eq!((last.kind, last.bytes, last.addresses[63]), (LdsKind::Read, 4, 20));
}

#[test]
fn wide_accesses_move_consecutive_words() {
    let mut bench = Bench::new();
    bench.set(1, |lane| 16 * lane as u32);
    (0..4).for_each(|n| bench.set(2 + n, |lane| (10 * lane) as u32 + u32::from(n)));
    bench.run(&inst(Op::DsWriteB128, Operand::NONE, &[v(1), v(2)]));
    bench.run(&inst(Op::DsReadB64, v(10), &[v(1)]));
    bench.run(&inst(Op::DsReadB96, v(12), &[v(1)]));
    bench.run(&inst(Op::DsReadB128, v(16), &[v(1)]));
    assert_eq!((bench.get(10, 7), bench.get(11, 7)), (70, 71));
    assert_eq!((bench.get(14, 7), bench.get(19, 7)), (72, 73));
    bench.run(&inst(Op::DsWriteB96, Operand::NONE, &[v(1), v(3)]));
    assert_eq!(bench.group.lds.word(16 * 7 + 8), 73);
}

#[test]
fn a_load_may_overwrite_its_own_address() {
    let mut bench = Bench::new();
    (0..256).for_each(|n| bench.group.lds.set_word(4 * n, 1000 + n));
    bench.set(1, |lane| 4 * lane as u32);
    bench.run(&inst(Op::DsReadB128, v(1), &[v(1)]));
    assert_eq!([1, 2, 3, 4].map(|n| bench.get(n, 9)), [1009, 1010, 1011, 1012]);
    bench.set(1, |lane| 4 * lane as u32);
    bench.run(&with_offset(inst(Op::DsRead2B32, v(0), &[v(1)]), 7 << 8 | 3));
    assert_eq!([0, 1].map(|n| bench.get(n, 9)), [1012, 1016]);
}

#[test]
fn pairs_of_accesses_count_their_offsets_in_elements() {
    let mut bench = Bench::new();
    bench.wave.set_exec(1);
    bench.group.lds = Lds::new(4096);
    bench.set(1, |_| 8);
    (2..6).for_each(|n| bench.set(n, |_| 100 + u32::from(n)));
    bench.run(&with_offset(inst(Op::DsWrite2B32, Operand::NONE, &[v(1), v(2), v(3)]), 3 << 8 | 1));
    assert_eq!((bench.group.lds.word(8 + 4), bench.group.lds.word(8 + 12)), (102, 103));
    bench.run(&with_offset(inst(Op::DsWrite2st64B64, Operand::NONE, &[v(1), v(2), v(4)]), 2 << 8 | 1));
    assert_eq!((bench.group.lds.double(8 + 512), bench.group.lds.word(8 + 1024)), (103 << 32 | 102, 104));
    bench.run(&with_offset(inst(Op::DsRead2B64, v(10), &[v(1)]), 64));
    assert_eq!((bench.get(10, 0), bench.get(11, 0)), (102, 103));
    bench.run(&with_offset(inst(Op::DsRead2st64B32, v(14), &[v(1)]), 4 << 8 | 2));
    assert_eq!((bench.get(14, 0), bench.get(15, 0)), (102, 104));
    bench.run(&with_offset(inst(Op::DsWrxchg2RtnB32, v(16), &[v(1), v(4), v(5)]), 3 << 8 | 1));
    assert_eq!((bench.get(16, 0), bench.get(17, 0), bench.group.lds.word(12)), (102, 103, 104));
}

#[test]
fn bytes_and_shorts_are_extended() {
    let mut bench = Bench::new();
    bench.set(1, |lane| 2 * lane as u32);
    bench.set(2, |_| 0x1234_80f0);
    bench.run(&inst(Op::DsWriteB16, Operand::NONE, &[v(1), v(2)]));
    bench.run(&inst(Op::DsReadI16, v(3), &[v(1)]));
    bench.run(&inst(Op::DsReadU16, v(4), &[v(1)]));
    bench.run(&inst(Op::DsReadI8, v(5), &[v(1)]));
    bench.run(&with_offset(inst(Op::DsReadU8, v(6), &[v(1)]), 1));
    let got: Vec<u32> = (3..7).map(|n| bench.get(n, 9)).collect();
    assert_eq!(got, [0xffff_80f0, 0x80f0, 0xffff_fff0, 0x80]);
    bench.run(&inst(Op::DsWriteB8, Operand::NONE, &[v(1), v(1)]));
    assert_eq!(bench.group.lds.word(4) & 0xff00_ff00, 0x8000_8000);
}

#[test]
fn atomics_are_performed_lane_by_lane() {
    let mut bench = Bench::new();
    bench.set(1, |_| 0);
    bench.set(2, |_| 3);
    bench.run(&inst(Op::DsAddRtnU32, v(3), &[v(1), v(2)]));
    assert_eq!(bench.group.lds.word(0), 3 * 64);
    assert_eq!((bench.get(3, 0), bench.get(3, 63)), (0, 3 * 63));
    bench.set(2, |lane| lane as u32);
    bench.run(&inst(Op::DsMaxI32, Operand::NONE, &[v(1), v(2)]));
    assert_eq!(bench.group.lds.word(0), 192);
    // The value to compare first, then the value to store: only lane 0 finds the expected value.
    bench.set(4, |lane| 192 + lane as u32);
    bench.set(5, |_| 1);
    bench.run(&inst(Op::DsCmpstRtnB32, v(6), &[v(1), v(4), v(5)]));
    assert_eq!((bench.group.lds.word(0), bench.get(6, 0), bench.get(6, 1)), (1, 192, 1));
    bench.set64(8, |_| 1 << 33);
    bench.run(&inst(Op::DsAddU64, Operand::NONE, &[v(1), v(8)]));
    assert_eq!(bench.group.lds.double(0), (64 << 33) + 1);
    bench.set(2, |_| 0.5f32.to_bits());
    bench.group.lds.set_word(0, 0);
    bench.run(&inst(Op::DsAddF32, Operand::NONE, &[v(1), v(2)]));
    assert_eq!(f32::from_bits(bench.group.lds.word(0)), 32.0);
}

#[test]
fn lanes_are_shuffled_through_the_crossbar() {
    let mut bench = Bench::new();
    bench.set(1, |lane| 4 * (lane as u32 + 1));
    bench.set(2, |lane| 500 + lane as u32);
    bench.run(&inst(Op::DsBpermuteB32, v(3), &[v(1), v(2)]));
    assert_eq!((bench.get(3, 0), bench.get(3, 63)), (501, 500), "lane numbers wrap");
    bench.run(&inst(Op::DsPermuteB32, v(3), &[v(1), v(2)]));
    assert_eq!((bench.get(3, 1), bench.get(3, 0)), (500, 563));
    bench.wave.set_exec(!0b10);
    bench.run(&inst(Op::DsBpermuteB32, v(3), &[v(1), v(2)]));
    assert_eq!(bench.get(3, 0), 0, "a lane that is off gives 0");
}

#[test]
fn swizzles_take_a_pattern() {
    let swizzled = |pattern: u32| {
        let mut bench = Bench::new();
        bench.set(1, |lane| lane as u32);
        bench.run(&with_offset(inst(Op::DsSwizzleB32, v(0), &[v(1)]), pattern));
        [0, 1, 2, 3, 33].map(|lane| bench.get(0, lane))
    };
    assert_eq!(swizzled(0x8000 | 0b00_01_10_11), [3, 2, 1, 0, 34]);
    assert_eq!(swizzled(1 << 10 | 31), [1, 0, 3, 2, 32], "exclusive or with 1");
    assert_eq!(swizzled(0), [0, 0, 0, 0, 32], "and with 0: the first of 32");
    assert_eq!(swizzled(5 << 5 | 31), [5, 5, 7, 7, 37], "or with 5");
}

#[test]
fn m0_and_the_size_bound_what_is_accessed() {
    let mut bench = Bench::new();
    bench.set(1, |lane| 4 * lane as u32 + 896);
    bench.set(2, |_| 7);
    bench.run(&inst(Op::DsWriteB32, Operand::NONE, &[v(1), v(2)]));
    bench.run(&inst(Op::DsReadB32, v(3), &[v(1)]));
    assert_eq!((bench.get(3, 31), bench.get(3, 32)), (7, 0), "1024 bytes");
    bench.wave.scalars[124] = 900;
    bench.run(&inst(Op::DsReadB32, v(3), &[v(1)]));
    assert_eq!((bench.get(3, 0), bench.get(3, 1)), (7, 0));
}

#[test]
fn unaligned_and_global_data_share_accesses_are_faults() {
    let mut bench = Bench::new();
    bench.set(1, |lane| if lane == 9 { 6 } else { 4 });
    let fault = bench.try_run(&inst(Op::DsReadB32, v(0), &[v(1)])).unwrap_err();
    assert!(matches!(fault, Fault::Unaligned { address: 6, lane: Some(9), .. }), "{fault}");
    bench.wave.set_exec(!(1 << 9));
    bench.run(&inst(Op::DsReadB32, v(0), &[v(1)]));
    let mut global = inst(Op::DsReadB32, v(0), &[v(1)]);
    global.extra = Extra::Memory(MemoryFields { flags: Flags::GDS, ..MemoryFields::default() });
    assert!(matches!(bench.try_run(&global), Err(Fault::Unsupported(_))));
}

#[test]
fn append_and_consume_count_active_lanes() {
    let mut bench = Bench::new();
    bench.wave.scalars[124] = 8;
    bench.wave.set_exec(0xff);
    bench.run(&with_offset(inst(Op::DsAppend, v(0), &[]), 4));
    bench.run(&with_offset(inst(Op::DsAppend, v(1), &[]), 4));
    bench.run(&with_offset(inst(Op::DsConsume, v(2), &[]), 4));
    assert_eq!((bench.get(0, 3), bench.get(1, 3), bench.get(2, 3), bench.group.lds.word(12)), (0, 8, 16, 8));
}
