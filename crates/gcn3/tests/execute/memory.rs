//! Memory accesses: the requested operations, and the effects of their completion.

use super::support::{Bench, inst, s, v};
use gcn3::{
    error::Fault,
    exec::Step,
    functional::MappedMemory,
    inst::{Extra, Flags, Format, Inst, MemoryFields as Fields, Operand},
    memop::{Kind, MemOp, Space},
    ops::Op,
    wave::Apertures,
};
use mem::{Bytes, VirtAddr};

const BASE: u64 = 0x7_0000_0000;

fn memory() -> MappedMemory {
    let mut memory = MappedMemory::default();
    memory.map(VirtAddr(BASE), Bytes(0x10000), true).unwrap();
    let bytes: Vec<u8> = (0..0x4000u32).flat_map(|n| (n * 3).to_le_bytes()).collect();
    memory.write(VirtAddr(BASE), &bytes).unwrap();
    memory
}

fn word(memory: &MappedMemory, address: u64) -> u32 {
    let mut bytes = [0; 4];
    memory.read(VirtAddr(address), &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

fn operation(step: Step) -> Box<MemOp> {
    match step {
        Step::Mem(op) => op,
        other => panic!("no memory access but {other:?}"),
    }
}

/// Executes an instruction and performs its access at once.
fn perform(bench: &mut Bench, memory: &MappedMemory, inst: &Inst) -> Result<(), Fault> {
    if let Step::Mem(mut op) = bench.try_run(inst)? {
        memory.perform(&mut op, false)?;
        bench.wave.complete(&op)?;
    }
    Ok(())
}

fn with_flags(mut inst: Inst, flags: Flags) -> Inst {
    inst.extra = Extra::Memory(Fields { flags, ..Fields::default() });
    inst
}

#[test]
fn loads_complete_in_any_order() {
    let (memory, mut bench) = (memory(), Bench::new());
    bench.set64(2, |lane| BASE + 4 * lane as u64);
    bench.set64(4, |lane| BASE + 0x400 + 4 * lane as u64);
    let mut first = operation(bench.run(&inst(Op::FlatLoadDword, v(0), &[v(2)])));
    let mut second = operation(bench.run(&inst(Op::FlatLoadDword, v(1), &[v(4)])));
    bench.set(0, |_| 11);
    // Changes of the address registers or EXEC in the meantime have no effect.
    bench.set64(2, |_| 0);
    bench.wave.set_exec(1);
    memory.perform(&mut second, false).unwrap();
    bench.wave.complete(&second).unwrap();
    assert_eq!((bench.get(0, 7), bench.get(1, 7)), (11, (256 + 7) * 3));
    memory.perform(&mut first, false).unwrap();
    bench.wave.complete(&first).unwrap();
    assert_eq!(bench.get(0, 7), 21);
}

#[test]
fn an_operation_says_what_it_is() {
    let mut bench = Bench::new();
    bench.wave.set_exec(0xf0);
    bench.set64(2, |lane| BASE + 16 * lane as u64);
    (4..8).for_each(|n| bench.set(n, |lane| lane as u32 + u32::from(n)));
    let store = with_flags(inst(Op::FlatStoreDwordx4, Operand::NONE, &[v(2), v(4)]), Flags::GLC);
    let op = operation(bench.run(&store));
    assert_eq!((op.kind, op.space, op.mask, op.scope.glc), (Kind::Store, Space::Global, 0xf0, true));
    assert_eq!((op.element_bytes, op.elements, op.lane_bytes()), (4, 4, 16));
    assert_eq!((op.addresses[4], op.data[2][4]), (BASE + 64, 10));
    bench.wave.set_exec(0);
    assert!(matches!(bench.run(&store), Step::Done), "no lanes, no access");
}

#[test]
fn narrow_loads_are_extended_and_narrow_stores_leave_their_neighbours() {
    let (mut memory, mut bench) = (memory(), Bench::new());
    memory.write(VirtAddr(BASE), &[0x80, 0x81, 0xfe, 0xff, 0x7f, 1, 2, 3]).unwrap();
    bench.set64(2, |lane| BASE + lane as u64);
    for (op, lane, value) in [
        (Op::FlatLoadUbyte, 1, 0x81),
        (Op::FlatLoadSbyte, 1, 0xffff_ff81),
        (Op::FlatLoadUshort, 2, 0xfffe),
        (Op::FlatLoadSshort, 2, 0xffff_fffe),
        (Op::FlatLoadUshort, 3, 0x7fff),
        (Op::FlatLoadDword, 1, 0x7fff_fe81),
    ] {
        perform(&mut bench, &memory, &inst(op, v(0), &[v(2)])).unwrap();
        assert_eq!(bench.get(0, lane), value, "{} in lane {lane}", op.mnemonic());
    }
    bench.wave.set_exec(0b1000);
    bench.set(4, |_| 0x1234_5678);
    perform(&mut bench, &memory, &inst(Op::FlatStoreShort, Operand::NONE, &[v(2), v(4)])).unwrap();
    assert_eq!((word(&memory, BASE), word(&memory, BASE + 4)), (0x78fe_8180, 0x0302_0156));
    perform(&mut bench, &memory, &inst(Op::FlatStoreByte, Operand::NONE, &[v(2), v(4)])).unwrap();
    assert_eq!(word(&memory, BASE), 0x78fe_8180);
}

#[test]
fn unmapped_and_read_only_addresses_name_the_lane() {
    let (mut memory, mut bench) = (memory(), Bench::new());
    memory.map(VirtAddr(0x1000), Bytes(64), false).unwrap();
    bench.set64(2, |lane| if lane == 5 { BASE + 0xfffe } else { BASE });
    let fault = perform(&mut bench, &memory, &inst(Op::FlatLoadDword, v(0), &[v(2)])).unwrap_err();
    assert!(matches!(fault, Fault::Unmapped { lane: Some(5), bytes: 4, .. }), "{fault}");
    bench.set64(2, |_| 0x1000);
    perform(&mut bench, &memory, &inst(Op::FlatLoadDword, v(0), &[v(2)])).unwrap();
    let fault = perform(&mut bench, &memory, &inst(Op::FlatStoreDword, Operand::NONE, &[v(2), v(4)])).unwrap_err();
    assert!(matches!(fault, Fault::ReadOnly { lane: Some(0), .. }), "{fault}");
}

fn apertures(bench: &mut Bench) {
    bench.wave.apertures = Apertures { shared_hi: 0x2000_0000, private_hi: 0x2000_0001, scratch_base: BASE };
    bench.wave.scalars[102] = 64; // bytes of scratch of each work-item
    bench.wave.scalars[103] = 0x1000 >> 8; // the wavefront's place
}

#[test]
fn flat_addresses_reach_global_local_and_scratch_memory_at_once() {
    let (memory, mut bench) = (memory(), Bench::new());
    apertures(&mut bench);
    bench.set64(2, |lane| match lane % 3 {
        0 => BASE + 0x8000 + 8 * lane as u64,
        1 => 0x2000_0000_0000_0000 + 8 * lane as u64,
        _ => 0x2000_0001_0000_0000 + 8,
    });
    bench.set64(4, |lane| 0x1_0000_0000 * (lane as u64 + 1) + lane as u64);
    perform(&mut bench, &memory, &inst(Op::FlatStoreDwordx2, Operand::NONE, &[v(2), v(4)])).unwrap();
    assert_eq!((word(&memory, BASE + 0x8018), word(&memory, BASE + 0x801c)), (3, 4), "lane 3, global");
    assert_eq!(bench.group.lds.double(32), 0x5_0000_0004, "lane 4, local");
    // Words 2 and 3 of lane 5 are interleaved with words 2 and 3 of the other lanes.
    assert_eq!(word(&memory, BASE + 0x1000 + 2 * 256 + 5 * 4), 5);
    assert_eq!(word(&memory, BASE + 0x1000 + 3 * 256 + 5 * 4), 6);
    perform(&mut bench, &memory, &inst(Op::FlatLoadDwordx2, v(8), &[v(2)])).unwrap();
    for lane in 0..64 {
        assert_eq!(bench.get64(8, lane), bench.get64(4, lane), "lane {lane}");
    }
}

#[test]
fn scratch_alone_is_one_strided_operation_and_has_an_end() {
    let mut bench = Bench::new();
    apertures(&mut bench);
    bench.set64(2, |_| 0x2000_0001_0000_0030);
    let op = operation(bench.run(&inst(Op::FlatLoadDwordx4, v(8), &[v(2)])));
    assert_eq!((op.space, op.stride, op.elements), (Space::Scratch, 256, 4));
    assert_eq!(op.addresses[9], BASE + 0x1000 + 12 * 256 + 36);
    bench.set64(2, |lane| 0x2000_0001_0000_0030 + if lane == 3 { 4 } else { 0 });
    let fault = bench.try_run(&inst(Op::FlatLoadDwordx4, v(8), &[v(2)])).unwrap_err();
    assert!(matches!(fault, Fault::OutsideScratch { lane: 3, size: 64, .. }), "{fault}");
}

#[test]
fn scalar_loads_and_stores_move_words() {
    let (memory, mut bench) = (memory(), Bench::new());
    bench.wave.set_pair(2, BASE + 3);
    let mut load = inst(Op::SLoadDwordx4, s(8), &[s(2), Operand::LITERAL]);
    load.imm = 0x10;
    let Step::Scalar(mut op) = bench.run(&load) else { panic!("no scalar access") };
    assert_eq!((op.address, op.words), (BASE + 0x10, 4), "the low bits of the address are ignored");
    memory.perform_scalar(&mut op).unwrap();
    bench.wave.complete_scalar(&op);
    assert_eq!(bench.wave.scalars[8..12], [12, 15, 18, 21]);
    let Step::Scalar(mut op) = bench.run(&inst(Op::SStoreDwordx2, Operand::NONE, &[s(2), s(30), s(10)])) else {
        panic!("no scalar access")
    };
    memory.perform_scalar(&mut op).unwrap();
    assert_eq!((word(&memory, BASE), word(&memory, BASE + 4)), (18, 21));
    op.address = 0;
    assert!(memory.perform_scalar(&mut op).is_err());
}

/// Sets up a buffer resource in s[4:7].
fn resource(bench: &mut Bench, stride: u32, size: u32, word3: u32) {
    bench.wave.scalars[4] = BASE as u32;
    bench.wave.scalars[5] = (BASE >> 32) as u32 | stride << 16;
    bench.wave.scalars[6] = size;
    bench.wave.scalars[7] = word3;
}

/// Selects x, y, z and w, as 32-bit unsigned integers.
const PLAIN: u32 = 0xfac | 4 << 12 | 4 << 15;

#[test]
fn buffer_addresses_add_index_offsets_and_scalar_offset() {
    let (memory, mut bench) = (memory(), Bench::new());
    resource(&mut bench, 16, 0x1000, PLAIN);
    bench.wave.scalars[8] = 8;
    bench.set(2, |lane| lane as u32);
    bench.set(3, |_| 4);
    let mut load = inst(Op::BufferLoadDword, v(0), &[v(2), s(4), s(8)]);
    load.imm = 12;
    let load = with_flags(load, Flags::IDXEN.with(Flags::OFFEN, true));
    perform(&mut bench, &memory, &load).unwrap();
    for lane in 0..64 {
        assert_eq!(bench.get(0, lane), 3 * ((16 * lane as u32 + 4 + 12 + 8) / 4), "lane {lane}");
    }
}

#[test]
fn outside_a_buffer_loads_are_zero_and_stores_are_dropped() {
    let (memory, mut bench) = (memory(), Bench::new());
    resource(&mut bench, 0, 64, PLAIN);
    bench.set(2, |lane| 8 * lane as u32);
    bench.set(0, |_| 99);
    let offset = |op: Op| with_flags(inst(op, v(0), &[v(2), s(4), Operand::ZERO]), Flags::OFFEN);
    perform(&mut bench, &memory, &offset(Op::BufferLoadDword)).unwrap();
    assert_eq!((bench.get(0, 7), bench.get(0, 8), bench.get(0, 63)), (42, 0, 0));
    bench.set(0, |_| 1000);
    perform(&mut bench, &memory, &offset(Op::BufferStoreDword)).unwrap();
    assert_eq!((word(&memory, BASE + 56), word(&memory, BASE + 64)), (1000, 48));
}

#[test]
fn scratch_buffers_interleave_the_words_of_lanes() {
    let (memory, mut bench) = (memory(), Bench::new());
    // Like a kernel's private segment buffer: 4-byte elements, 64 to a row, lane added, swizzled.
    resource(&mut bench, 1 << 15, 0x8000, 0x00e8_4fac);
    bench.wave.scalars[8] = 0x400;
    bench.set(2, |_| 8);
    (10..14).for_each(|n| bench.set(n, |lane| 100 * u32::from(n) + lane as u32));
    let mut store = inst(Op::BufferStoreDwordx4, v(10), &[v(2), s(4), s(8)]);
    store.imm = 4;
    perform(&mut bench, &memory, &with_flags(store, Flags::OFFEN)).unwrap();
    // Words 3 to 6 of lane 21.
    assert_eq!(word(&memory, BASE + 0x400 + 3 * 256 + 21 * 4), 1021);
    assert_eq!(word(&memory, BASE + 0x400 + 6 * 256 + 21 * 4), 1321);
    let mut load = inst(Op::BufferLoadUbyte, v(1), &[v(2), s(4), s(8)]);
    load.imm = 5;
    perform(&mut bench, &memory, &with_flags(load, Flags::OFFEN)).unwrap();
    assert_eq!(bench.get(1, 21), 1021 >> 8);
}

#[test]
fn formatted_buffers_convert() {
    let (mut memory, mut bench) = (memory(), Bench::new());
    memory.write(VirtAddr(BASE), &[0, 51, 128, 255]).unwrap();
    resource(&mut bench, 0, 64, 0xfac | 10 << 15); // four bytes, fractions
    let at_zero = |op: Op| with_flags(inst(op, v(10), &[Operand::NONE, s(4), Operand::ZERO]), Flags::default());
    bench.wave.set_exec(1);
    perform(&mut bench, &memory, &at_zero(Op::BufferLoadFormatXyzw)).unwrap();
    let got = [10, 11, 12, 13].map(|n| f32::from_bits(bench.get(n, 0)));
    assert_eq!(got, [0.0, 0.2, 128.0 / 255.0, 1.0]);
    (10..14).for_each(|n| bench.set(n, |_| 0.4f32.to_bits()));
    perform(&mut bench, &memory, &at_zero(Op::BufferStoreFormatXyzw)).unwrap();
    assert_eq!(word(&memory, BASE), 0x6666_6666);
    let mut typed = at_zero(Op::TbufferLoadFormatXy);
    typed.format = Format::Mtbuf;
    typed.extra = Extra::Memory(Fields { dfmt: 3, nfmt: 4, ..Fields::default() });
    perform(&mut bench, &memory, &typed).unwrap();
    assert_eq!((bench.get(10, 0), bench.get(11, 0)), (0x66, 0x66));
}

/// Sets up a linear 2-D image of 32-bit floats in s[4:11], and a sampler in s[12:15].
fn image(bench: &mut Bench, width: u32, height: u32, clamp: u32, linear: bool) {
    let resource = [
        (BASE >> 8) as u32,
        (BASE >> 40) as u32 | 4 << 20 | 7 << 26,
        (width - 1) | (height - 1) << 14,
        4 | 5 << 3 | 6 << 6 | 7 << 9 | 8 << 20 | 9 << 28,
        (width - 1) << 13,
        0,
        0,
        0,
    ];
    bench.wave.scalars[4..12].copy_from_slice(&resource);
    bench.wave.scalars[12..16].copy_from_slice(&[clamp | clamp << 3, 0, if linear { 1 << 20 } else { 0 }, 0]);
}

fn with_dmask(mut inst: Inst, dmask: u8, flags: Flags) -> Inst {
    inst.extra = Extra::Memory(Fields { flags, dmask, ..Fields::default() });
    inst
}

#[test]
fn images_are_read_and_written_by_coordinates() {
    let (memory, mut bench) = (memory(), Bench::new());
    image(&mut bench, 8, 4, 2, false);
    bench.set(2, |lane| lane as u32 % 9);
    bench.set(3, |lane| lane as u32 / 9);
    bench.set(0, |lane| (lane as f32).to_bits());
    perform(&mut bench, &memory, &with_dmask(inst(Op::ImageStore, v(0), &[v(2), s(4)]), 1, Flags::UNORM)).unwrap();
    let load = with_dmask(inst(Op::ImageLoad, v(4), &[v(2), s(4)]), 0b1001, Flags::UNORM);
    perform(&mut bench, &memory, &load).unwrap();
    for lane in 0..64 {
        let inside = lane % 9 < 8 && lane / 9 < 4;
        let want = if inside { lane as f32 } else { 0.0 };
        assert_eq!(f32::from_bits(bench.get(4, lane)), want, "lane {lane}");
        assert_eq!(f32::from_bits(bench.get(5, lane)), if inside { 1.0 } else { 0.0 }, "the missing fourth component");
    }
    assert_eq!(f32::from_bits(word(&memory, BASE + 4 * (8 * 2 + 3))), 21.0);
    let mut size = with_dmask(inst(Op::ImageGetResinfo, v(6), &[v(2), s(4)]), 3, Flags::default());
    size.imm = 0;
    bench.run(&size);
    assert_eq!((bench.get(6, 0), bench.get(7, 0)), (8, 4));
}

#[test]
fn samples_are_nearest_or_linear_and_wrap() {
    let mut memory = memory();
    let texels: Vec<u8> = (0..16).flat_map(|n| (n as f32).to_le_bytes()).collect();
    memory.write(VirtAddr(BASE), &texels).unwrap();
    let sample = |x: f32, y: f32, clamp: u32, linear: bool| {
        let mut bench = Bench::new();
        image(&mut bench, 4, 4, clamp, linear);
        bench.set(2, |_| x.to_bits());
        bench.set(3, |_| y.to_bits());
        let inst = with_dmask(inst(Op::ImageSampleLz, v(0), &[v(2), s(4), s(12)]), 1, Flags::default());
        perform(&mut bench, &memory, &inst).unwrap();
        f32::from_bits(bench.get(0, 11))
    };
    let (repeat, mirror, edge, border) = (0, 1, 2, 6);
    assert_eq!(sample(0.3, 0.6, edge, false), 9.0, "column 1, row 2");
    assert_eq!(sample(1.3, 0.6, edge, false), 11.0);
    assert_eq!(sample(1.3, 0.6, repeat, false), 9.0);
    assert_eq!(sample(1.3, 0.6, mirror, false), 10.0);
    assert_eq!(sample(-0.1, 0.6, border, false), 0.0);
    assert_eq!(sample(0.5, 0.5, edge, true), 7.5, "between texels 5, 6, 9 and 10");
    assert_eq!(sample(0.125, 0.125, edge, true), 0.0, "the middle of a texel");
    assert_eq!(sample(0.0, 0.125, border, true), 0.0);
    assert_eq!(sample(1.0, 0.125, border, true), 1.5, "half of texel 3");
    assert_eq!(sample(1.0, 0.125, repeat, true), 1.5, "between texels 3 and 0");
}

/// Turns the image of `image` into one of another type with `depth` slices or layers.
fn make_deep(bench: &mut Bench, kind: u32, depth: u32) {
    bench.wave.scalars[7] = bench.wave.scalars[7] & 0x0fff_ffff | kind << 28;
    bench.wave.scalars[8] |= depth - 1;
    bench.wave.scalars[9] = (depth - 1) << 13;
    bench.wave.scalars[12] |= (bench.wave.scalars[12] & 7) << 6;
}

#[test]
fn slices_and_layers_follow_each_other_in_memory() {
    let mut memory = memory();
    let texels: Vec<u8> = (0..24).flat_map(|n| (n as f32).to_le_bytes()).collect();
    memory.write(VirtAddr(BASE), &texels).unwrap();
    let (volume, lines, layers) = (10, 12, 13);
    let load = |kind: u32, at: [u32; 3]| {
        let mut bench = Bench::new();
        image(&mut bench, 4, if kind == lines { 1 } else { 2 }, 2, false);
        make_deep(&mut bench, kind, 3);
        (2..5).zip(at).for_each(|(register, at)| bench.set(register, |_| at));
        let load = with_dmask(inst(Op::ImageLoad, v(0), &[v(2), s(4)]), 1, Flags::UNORM);
        perform(&mut bench, &memory, &load).unwrap();
        f32::from_bits(bench.get(0, 5))
    };
    assert_eq!(load(volume, [3, 1, 2]), 23.0);
    assert_eq!(load(layers, [1, 0, 1]), 9.0);
    assert_eq!(load(lines, [1, 2, 99]), 9.0, "the second coordinate is the layer, and there is no third");
    assert_eq!(load(volume, [3, 1, 3]), 0.0, "outside");
}

#[test]
fn samples_of_volumes_mix_eight_texels_and_those_of_arrays_stay_in_their_layer() {
    let mut memory = memory();
    let texels: Vec<u8> = (0..32).flat_map(|n| (n as f32).to_le_bytes()).collect();
    memory.write(VirtAddr(BASE), &texels).unwrap();
    let sample = |kind: u32, at: [f32; 3], clamp: u32, linear: bool| {
        let mut bench = Bench::new();
        image(&mut bench, 4, 4, clamp, linear);
        make_deep(&mut bench, kind, 2);
        (2..5).zip(at).for_each(|(register, at)| bench.set(register, |_| at.to_bits()));
        let sample = with_dmask(inst(Op::ImageSampleLz, v(0), &[v(2), s(4), s(12)]), 1, Flags::default());
        perform(&mut bench, &memory, &sample).unwrap();
        f32::from_bits(bench.get(0, 11))
    };
    let (volume, layers, edge, border) = (10, 13, 2, 6);
    assert_eq!(sample(volume, [0.5, 0.5, 0.5], edge, true), 15.5, "between texels 5, 6, 9 and 10 of both slices");
    assert_eq!(sample(volume, [0.3, 0.6, 0.7], edge, false), 25.0, "column 1, row 2, slice 1");
    assert_eq!(sample(volume, [0.3, 0.6, 1.2], border, false), 0.0);
    assert_eq!(sample(layers, [0.5, 0.5, 0.9], border, true), 23.5, "layer 1");
    assert_eq!(sample(layers, [0.5, 0.5, 7.0], border, true), 23.5, "there is none behind it");
    assert_eq!(sample(layers, [0.5, 0.5, -1.0], border, true), 7.5);
    // A product that rounding has put slightly below a whole number of texels.
    assert_eq!(sample(volume, [0.75 - f32::EPSILON, 0.1, 0.1], edge, false), 3.0);
    for nowhere in [f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        assert_eq!(sample(volume, [nowhere, 0.5, 0.5], border, false), 0.0, "{nowhere}");
        sample(volume, [nowhere; 3], edge, true);
    }
    sample(volume, [f32::NAN; 3], edge, true);
}

#[test]
fn images_that_are_not_linear_are_refused_by_name() {
    let mut bench = Bench::new();
    image(&mut bench, 4, 4, 0, false);
    bench.wave.scalars[7] |= 5 << 20;
    let load = with_dmask(inst(Op::ImageLoad, v(0), &[v(2), s(4)]), 1, Flags::UNORM);
    assert!(bench.try_run(&load).unwrap_err().to_string().contains("tiling index 13"));
}

#[test]
fn regions_do_not_overlap_and_have_ends() {
    let mut memory = memory();
    assert!(memory.map(VirtAddr(BASE + 0xfffc), Bytes(8), true).is_err());
    assert!(memory.map(VirtAddr(BASE - 4), Bytes(8), true).is_err());
    assert!(memory.map(VirtAddr(BASE + 2), Bytes(8), true).is_err());
    assert!(memory.map(VirtAddr(u64::MAX - 3), Bytes(8), true).is_err());
    assert!(memory.map(VirtAddr(1 << 40), Bytes(1 << 62), true).is_err(), "no computer has that much");
    memory.map(VirtAddr(BASE + 0x10000), Bytes(4), true).unwrap();
    assert!(memory.write(VirtAddr(BASE + 0xfffe), &[1, 2, 3, 4]).is_err(), "an access lies in one region");
    assert!(memory.unmap(VirtAddr(BASE)) && !memory.unmap(VirtAddr(BASE)));
    assert!(memory.read(VirtAddr(BASE), &mut [0]).is_err());
}

#[test]
fn the_host_reads_and_writes_any_bytes() {
    let mut memory = memory();
    for (address, length) in [(BASE, 7), (BASE + 1, 2), (BASE + 3, 9), (BASE + 4, 8)] {
        let bytes: Vec<u8> = (0..length).map(|n| (address as u8) ^ (n + 100)).collect();
        memory.write(VirtAddr(address), &bytes).unwrap();
        let mut back = vec![0; bytes.len()];
        memory.read(VirtAddr(address), &mut back).unwrap();
        assert_eq!(back, bytes, "{length} bytes at {address:#x}");
    }
    assert_eq!(word(&memory, BASE + 12), 9, "what follows is untouched");
}
