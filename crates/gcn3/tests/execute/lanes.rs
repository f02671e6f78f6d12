//! Instructions and encodings that move data between lanes or parts of registers.

use super::support::{Bench, inst, int, s, v};
use gcn3::{
    inst::{Dpp, DppControl, Extra, Sdwa, Select, Unused},
    ops::Op,
};

fn numbered() -> Bench {
    let mut bench = Bench::new();
    bench.set(1, |lane| 1000 + lane as u32);
    bench
}

#[test]
fn single_lanes_are_read_and_written() {
    let mut bench = numbered();
    bench.wave.set_exec(0b1_0100_0000);
    bench.run(&inst(Op::VReadfirstlaneB32, s(0), &[v(1)]));
    bench.run(&inst(Op::VReadlaneB32, s(1), &[v(1), int(63)]));
    assert_eq!((bench.wave.scalars[0], bench.wave.scalars[1]), (1006, 1063), "a lane that is off can be read");
    bench.wave.scalars[2] = 5;
    bench.run(&inst(Op::VWritelaneB32, v(1), &[int(7), s(2)]));
    assert_eq!((bench.get(1, 5), bench.get(1, 6)), (7, 1006));
    bench.wave.set_exec(0);
    bench.run(&inst(Op::VReadfirstlaneB32, s(0), &[v(1)]));
    assert_eq!(bench.wave.scalars[0], 1000, "lane 0 if none is on");
}

#[test]
fn registers_are_chosen_relative_to_m0() {
    let mut bench = numbered();
    bench.wave.scalars[124] = 4;
    bench.run(&inst(Op::VMovreldB32, v(2), &[v(1)]));
    bench.run(&inst(Op::VMovrelsB32, v(9), &[v(2)]));
    assert_eq!((bench.get(6, 3), bench.get(9, 3)), (1003, 1003));
}

/// `v_mov_b32` with DPP: the lane that each lane read, none where nothing was written.
fn shuffled(control: DppControl, exec: u64, masks: (u8, u8), bound_ctrl: bool) -> Vec<Option<u32>> {
    let mut bench = Bench::new();
    bench.wave.set_exec(exec);
    bench.set(0, |_| 0xaaaa);
    bench.set(1, |lane| lane as u32);
    let mut mov = inst(Op::VMovB32, v(0), &[v(1)]);
    mov.extra = Extra::Dpp(Dpp { control, row_mask: masks.0, bank_mask: masks.1, bound_ctrl });
    bench.run(&mov);
    (0..64).map(|lane| Some(bench.get(0, lane)).filter(|value| *value != 0xaaaa)).collect()
}

#[test]
fn dpp_shuffles_lanes_within_rows() {
    let all = |control| shuffled(control, !0, (15, 15), false);
    assert_eq!(all(DppControl::QuadPerm(0b00_01_10_11))[..8], [3, 2, 1, 0, 7, 6, 5, 4].map(Some));
    let right = all(DppControl::RowShr(1));
    assert_eq!((right[0], right[1], right[16], right[17]), (None, Some(0), None, Some(16)));
    let left = all(DppControl::RowShl(2));
    assert_eq!((left[0], left[13], left[14], left[15]), (Some(2), Some(15), None, None));
    let around = all(DppControl::RowRor(1));
    assert_eq!((around[0], around[1], around[16]), (Some(15), Some(0), Some(31)));
    assert_eq!(all(DppControl::RowMirror)[16..18], [Some(31), Some(30)]);
    assert_eq!(all(DppControl::RowHalfMirror)[8..10], [Some(15), Some(14)]);
    assert_eq!(all(DppControl::WaveShr)[..2], [None, Some(0)]);
    assert_eq!(all(DppControl::WaveRol)[62..], [Some(63), Some(0)]);
    let broadcast = all(DppControl::RowBcast15);
    assert_eq!((broadcast[3], broadcast[16], broadcast[47]), (None, Some(15), Some(31)));
    let broadcast = all(DppControl::RowBcast31);
    assert_eq!((broadcast[31], broadcast[32], broadcast[63]), (None, Some(31), Some(31)));
}

#[test]
fn dpp_writes_the_rows_and_banks_of_its_masks() {
    let got = shuffled(DppControl::QuadPerm(0b11_10_01_00), !0, (0b0010, 0b0100), false);
    let written: Vec<usize> = (0..64).filter(|lane| got[*lane].is_some()).collect();
    assert_eq!(written, [24, 25, 26, 27]);
}

#[test]
fn a_dpp_source_outside_or_off_is_zero_or_stops_the_write() {
    assert_eq!(shuffled(DppControl::RowShr(1), !0, (15, 15), true)[0], Some(0));
    let off = shuffled(DppControl::RowShr(1), !0b10, (15, 15), false);
    assert_eq!(off[2], None, "lane 1 is off");
    assert_eq!(shuffled(DppControl::RowShr(1), !0b10, (15, 15), true)[2], Some(0));
}

fn sdwa(dst_sel: Select, dst_unused: Unused, src_sel: [Select; 2], sext: u8) -> Extra {
    Extra::Sdwa(Sdwa { dst_sel, dst_unused, src_sel, sext })
}

#[test]
fn sdwa_selects_parts_of_sources_and_destination() {
    let result = |extra: Extra| {
        let mut bench = Bench::new();
        bench.set(0, |_| 0x1111_2222);
        bench.set(1, |_| 0x8899_aabb);
        bench.set(2, |_| 1);
        let mut add = inst(Op::VAddU32, v(0), &[v(1), v(2)]);
        add.extra = extra;
        bench.run(&add);
        bench.get(0, 40)
    };
    use Select::{Byte1, Byte3, Dword, Word0, Word1};
    assert_eq!(result(sdwa(Dword, Unused::Pad, [Byte1, Dword], 0)), 0xab);
    assert_eq!(result(sdwa(Dword, Unused::Pad, [Byte3, Dword], 1)), 0xffff_ff89);
    assert_eq!(result(sdwa(Dword, Unused::Pad, [Word1, Word0], 0)), 0x889a);
    assert_eq!(result(sdwa(Word1, Unused::Preserve, [Byte1, Dword], 0)), 0x00ab_2222);
    assert_eq!(result(sdwa(Byte1, Unused::Pad, [Byte1, Dword], 0)), 0xab00);
    assert_eq!(result(sdwa(Byte1, Unused::Sext, [Byte1, Dword], 0)), 0xffff_ab00);
}

#[test]
fn indexed_operands_are_found_relative_to_m0() {
    use gcn3::code::Code;
    // s_set_gpr_idx_on s0, src0 | v_mov_b32 v5, v1 | s_set_gpr_idx_off | v_mov_b32 v6, v1
    let words: [u32; 4] = [0xbf11_0100, 0x7e0a_0301, 0xbf9c_0000, 0x7e0c_0301];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let code = Code::new(0x1000, &bytes);
    let mut bench = numbered();
    bench.set(3, |_| 3);
    bench.wave.scalars[0] = 2;
    bench.wave.pc = 0x1000;
    for _ in 0..4 {
        bench.wave.step(&code, &mut bench.group).unwrap();
    }
    assert_eq!((bench.get(5, 9), bench.get(6, 9)), (3, 1009));
    assert_eq!(bench.wave.scalars[124] & 0xf0ff, 0x1002);
}
