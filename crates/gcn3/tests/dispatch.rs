//! Launches: register values and argument bytes, computed by hand from the documented layouts.

mod support;

use gcn3::{
    dispatch::{Apertures, ArgumentValue, Dispatch, Places},
    object::{CodeObject, ImplicitLayout, Kernel},
};
use mem::VirtAddr;
use support::Version2;

const V4: &[u8] = include_bytes!("objects/v4.hsaco");
const V5: &[u8] = include_bytes!("objects/v5.hsaco");
const LIBCLC: &[u8] = include_bytes!("objects/libclc_O2.hsaco");

fn kernel(file: &[u8], name: &str) -> Kernel {
    CodeObject::parse(file).unwrap().kernel(name).unwrap().clone()
}

fn places() -> Places {
    Places {
        image: VirtAddr(0x10_0000),
        kernarg: VirtAddr(0x1_2000_0000),
        packet: VirtAddr(0x2_3000_0040),
        queue: VirtAddr(0x3_4000_0000),
        scratch: VirtAddr(0x5_0000_1000),
        scratch_size: 0x8_0000,
        apertures: Apertures { hidden_private_base: VirtAddr(0x5_0000_0000), ..Apertures::default() },
        ..Places::default()
    }
}

fn launch(kernel: &Kernel, grid: [u32; 3], group: [u32; 3]) -> Dispatch {
    Dispatch::new(kernel, grid, group, [0; 3]).unwrap()
}

fn refused(kernel: &Kernel, grid: [u32; 3], group: [u32; 3]) -> String {
    Dispatch::new(kernel, grid, group, [0; 3]).unwrap_err().to_string()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn scalar_registers_follow_in_the_documented_order() {
    // Version 4 saxpy: private segment buffer, dispatch pointer, kernarg pointer, work-group id x.
    let dispatch = launch(&kernel(V4, "saxpy"), [256, 1, 1], [64, 1, 1]);
    let wave = dispatch.wave_init(&places(), [3, 0, 0], 0, 0).unwrap();
    #[rustfmt::skip]
    let expected = [
        0x0000_1000,              // scratch memory, low
        0x8000_0005,              // and high, with the swizzle bit
        0x0008_0000,              // its size
        0x00e8_4fac,              // 4-byte elements, 64 work-items, thread id added
        0x3000_0040, 0x0000_0002, // dispatch packet
        0x2000_0000, 0x0000_0001, // kernarg segment
        3,                        // work-group id x
    ];
    assert_eq!(wave.sgprs[..wave.sgpr_count], expected);
    assert_eq!(wave.pc, VirtAddr(0x10_0000 + kernel(V4, "saxpy").descriptor.entry.0));
    assert_eq!(wave.exec, u64::MAX);
    assert_eq!(wave.mode, 0x3c0);
}

#[test]
fn scratch_registers_give_the_wavefront_its_slot() {
    // Version 4 anywhere: buffer, queue pointer, kernarg pointer, flat scratch init, work-group id x, wave offset.
    let old = kernel(V4, "anywhere");
    assert_eq!(old.private_size, 8);
    let dispatch = launch(&old, [64, 1, 1], [64, 1, 1]);
    assert_eq!(dispatch.scratch_per_wave(), 1024, "8 x 64 bytes, in whole KiB");
    let wave = dispatch.wave_init(&places(), [0, 0, 0], 0, 5).unwrap();
    #[rustfmt::skip]
    let expected = [
        0x0000_1000, 0x8000_0005, 0x0008_0000, 0x00e8_4fac,
        0x4000_0000, 0x0000_0003, // queue
        0x2000_0000, 0x0000_0001, // kernarg segment
        0x0000_1000, 8,           // scratch memory counted from the hidden base; bytes of a work-item
        0,                        // work-group id x
        5 * 1024,                 // the wavefront's slot
    ];
    assert_eq!(wave.sgprs[..wave.sgpr_count], expected);
    assert_eq!(wave.scratch, VirtAddr(0x5_0000_1000 + 5 * 1024));
}

#[test]
fn work_group_ids_and_work_item_ids_cover_three_dimensions() {
    let dispatch = launch(&kernel(V5, "ids"), [8, 6, 4], [4, 3, 2]);
    assert_eq!(dispatch.groups(), [2, 2, 2]);
    assert_eq!(dispatch.waves([1, 0, 1]), 1);
    let wave = dispatch.wave_init(&places(), [1, 0, 1], 0, 0).unwrap();
    // Private segment buffer, kernarg pointer, then x, y, z.
    assert_eq!(wave.sgprs[6..wave.sgpr_count], [1, 0, 1]);
    assert_eq!(wave.exec, (1 << 24) - 1, "4 x 3 x 2 work-items");
    let id = |lane: usize| [0, 1, 2].map(|axis| wave.vgprs[axis][lane]);
    assert_eq!(id(0), [0, 0, 0]);
    assert_eq!(id(3), [3, 0, 0]);
    assert_eq!(id(4), [0, 1, 0]);
    assert_eq!(id(12), [0, 0, 1]);
    assert_eq!(id(23), [3, 2, 1]);
}

#[test]
fn only_the_ids_a_kernel_asks_for_are_given() {
    let dispatch = launch(&kernel(V5, "saxpy"), [8, 8, 1], [8, 8, 1]);
    let wave = dispatch.wave_init(&places(), [0, 0, 0], 0, 0).unwrap();
    assert_eq!(wave.vgprs[0][9], 1);
    assert_eq!(wave.vgprs[1], [0; 64], "y is not asked for");
}

#[test]
fn the_last_wavefront_of_a_group_may_be_partial() {
    let dispatch = launch(&kernel(V5, "saxpy"), [200, 1, 1], [100, 1, 1]);
    assert_eq!(dispatch.waves([0, 0, 0]), 2);
    let second = dispatch.wave_init(&places(), [1, 0, 0], 1, 0).unwrap();
    assert_eq!(second.exec, (1 << 36) - 1);
    assert_eq!(second.vgprs[0][35], 99);
}

#[test]
fn the_last_group_of_a_grid_may_be_partial() {
    let dispatch = launch(&kernel(V5, "ids"), [10, 5, 1], [4, 4, 1]);
    assert!(dispatch.has_partial_groups());
    assert_eq!(dispatch.groups(), [3, 2, 1]);
    assert_eq!(dispatch.group_size([0, 0, 0]), [4, 4, 1]);
    assert_eq!(dispatch.group_size([2, 1, 0]), [2, 1, 1]);
    let corner = dispatch.wave_init(&places(), [2, 0, 0], 0, 0).unwrap();
    assert_eq!(corner.exec, 0xff, "2 x 4 work-items lie together");
    assert_eq!([corner.vgprs[0][2], corner.vgprs[1][2]], [0, 1]);
    // Version 5 counts whole groups and gives the remainder separately.
    let segment = dispatch.kernarg(&places());
    assert_eq!([word(&segment, 8), word(&segment, 12), word(&segment, 16)], [2, 1, 1]);
    assert_eq!([half(&segment, 20), half(&segment, 22), half(&segment, 24)], [4, 4, 1]);
    assert_eq!([half(&segment, 26), half(&segment, 28), half(&segment, 30)], [2, 1, 0]);
}

#[test]
fn hidden_arguments_of_version_5_are_filled_in() {
    let old = kernel(V5, "anywhere");
    let dispatch = Dispatch::new(&old, [64, 2, 1], [32, 2, 1], [7, 1 << 40, 9]).unwrap();
    let segment = dispatch.kernarg(&places());
    assert_eq!(segment.len(), 272);
    assert_eq!([word(&segment, 16), word(&segment, 20), word(&segment, 24)], [2, 1, 1], "groups");
    assert_eq!([long(&segment, 56), long(&segment, 64), long(&segment, 72)], [7, 1 << 40, 9], "offsets");
    assert_eq!(half(&segment, 80), 3, "an offset along z makes three dimensions");
    assert_eq!(word(&segment, 208), 0x2000_0001, "scratch window");
    assert_eq!(word(&segment, 212), 0x2000_0000, "LDS window");
}

#[test]
fn hidden_arguments_of_version_4_and_2_are_the_global_offsets() {
    let old = Version2 { from: V4, kernels: &["saxpy"], metadata: true, isa: Some([8, 0, 3]) }.build();
    for file in [V4, &old] {
        let dispatch = Dispatch::new(&kernel(file, "saxpy"), [64, 1, 1], [64, 1, 1], [100, 200, 300]).unwrap();
        let segment = dispatch.kernarg(&places());
        assert_eq!([long(&segment, 24), long(&segment, 32), long(&segment, 40)], [100, 200, 300]);
        assert_eq!(segment[48..], [0; 32]);
    }
}

#[test]
fn libclc_gets_mesas_words() {
    let dispatch = Dispatch::new(&kernel(LIBCLC, "three"), [8, 8, 2], [8, 8, 1], [5, 6, 7]).unwrap();
    let segment = dispatch.kernarg(&places());
    assert_eq!([16, 20, 24, 28].map(|at| word(&segment, at)), [3, 5, 6, 7]);
}

#[test]
fn arguments_are_packed_at_their_offsets() {
    let mut dispatch = launch(&kernel(V5, "saxpy"), [64, 1, 1], [64, 1, 1]);
    let arguments = [
        ArgumentValue::Pointer(VirtAddr(0x1111_2222_3333)),
        ArgumentValue::Pointer(VirtAddr(0x4444_5555_6666)),
        ArgumentValue::Bytes(1.5f32.to_le_bytes().to_vec()),
    ];
    dispatch.set_arguments(&arguments).unwrap();
    let segment = dispatch.kernarg(&places());
    assert_eq!([long(&segment, 0), long(&segment, 8)], [0x1111_2222_3333, 0x4444_5555_6666]);
    assert_eq!(word(&segment, 16), 0x3fc0_0000);
    assert_eq!(word(&segment, 24), 1, "the first hidden argument follows");
}

#[test]
fn local_memory_is_handed_out_behind_the_kernels_own() {
    let mut own = kernel(V5, "reverse");
    own.lds_size = 10;
    let mut dispatch = launch(&own, [64, 1, 1], [64, 1, 1]);
    dispatch.set_arguments(&[ArgumentValue::Pointer(VirtAddr(0)), ArgumentValue::Local(256)]).unwrap();
    let segment = dispatch.kernarg(&places());
    assert_eq!(word(&segment, 8), 12, "aligned to the element");
    assert_eq!(dispatch.lds_size(), 268);
    assert_eq!(word(&dispatch.packet(&places()), 28), 268);
    // Setting the arguments again starts over.
    dispatch.set_arguments(&[ArgumentValue::Pointer(VirtAddr(0)), ArgumentValue::Local(64)]).unwrap();
    assert_eq!(dispatch.lds_size(), 76);
    let refused = dispatch.set_arguments(&[ArgumentValue::Pointer(VirtAddr(0)), ArgumentValue::Local(65535)]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "kernel 'reverse' would need 65547 bytes of local memory in each work-group; there are 65536"
    );
}

#[test]
fn wrong_arguments_are_refused_with_what_would_be_right() {
    let mut dispatch = launch(&kernel(V5, "saxpy"), [64, 1, 1], [64, 1, 1]);
    let buffer = || ArgumentValue::Pointer(VirtAddr(0x1000));
    let float = || ArgumentValue::Bytes(vec![0; 4]);
    let mut refused = |arguments: &[ArgumentValue]| dispatch.set_arguments(arguments).unwrap_err().to_string();
    assert_eq!(
        refused(&[buffer(), buffer()]),
        "kernel 'saxpy' takes 3 arguments, but 2 were given; it takes float* x (buffer, 8 bytes); float* y (buffer, 8 \
         bytes); float a (value, 4 bytes)"
    );
    assert_eq!(
        refused(&[buffer(), float(), float()]),
        "kernel 'saxpy', argument 1 (float* y): it is a buffer, but a value was given"
    );
    assert_eq!(
        refused(&[buffer(), buffer(), ArgumentValue::Bytes(vec![0; 8])]),
        "kernel 'saxpy', argument 2 (float a): it has 4 bytes, but 8 were given"
    );
    assert_eq!(
        refused(&[buffer(), buffer(), ArgumentValue::Local(4)]),
        "kernel 'saxpy', argument 2 (float a): it is a value, but a size of local memory was given"
    );
}

#[test]
fn work_groups_larger_than_the_kernel_was_compiled_for_run_with_a_warning_if_there_are_registers() {
    let saxpy = kernel(V5, "saxpy");
    assert_eq!(launch(&saxpy, [256, 1, 1], [256, 1, 1]).warning(), None);
    let warning = launch(&saxpy, [1024, 1, 1], [1024, 1, 1]).warning().unwrap();
    assert!(warning.contains("at most 256 work-items and is launched with 1024"), "{warning}");
}

#[test]
fn impossible_grids_and_groups_are_refused() {
    let saxpy = kernel(V5, "saxpy");
    assert!(refused(&saxpy, [0, 1, 1], [1, 1, 1]).contains("along x, a grid of 0 work-items in groups of 1"));
    assert!(refused(&saxpy, [1, 1, 1], [1, 2000, 1]).contains("along y, a grid of 1 work-items in groups of 2000"));
    let mut many_registers = saxpy.clone();
    many_registers.vgprs = 129;
    assert!(
        refused(&many_registers, [512, 1, 1], [512, 1, 1])
            .contains("512 work-items is too large; the kernel was compiled for at most 256")
    );
    assert!(
        refused(&kernel(V5, "reverse"), [64, 1, 1], [32, 1, 1])
            .contains("of 32 x 1 x 1, but its source requires 64 x 1 x 1")
    );
}

#[test]
fn a_kernel_without_metadata_takes_bytes_and_no_offset() {
    let old = Version2 { from: V4, kernels: &["saxpy"], metadata: false, isa: None }.build();
    let saxpy = kernel(&old, "saxpy");
    assert!(
        Dispatch::new(&saxpy, [64, 1, 1], [64, 1, 1], [1, 0, 0])
            .unwrap_err()
            .to_string()
            .contains("launch it without one")
    );
    let mut dispatch = launch(&saxpy, [64, 1, 1], [64, 1, 1]);
    dispatch.set_raw_arguments(&[7; 20]).unwrap();
    let segment = dispatch.kernarg(&places());
    assert_eq!((segment.len(), &segment[..20], &segment[20..]), (80, &[7u8; 20][..], &[0u8; 60][..]));
    let refused = dispatch.set_raw_arguments(&[0; 81]).unwrap_err().to_string();
    assert_eq!(refused, "kernel 'saxpy': 81 bytes of arguments were given, but its kernarg segment has 80");
}

#[test]
fn the_dispatch_packet_has_the_requested_values() {
    let dispatch = launch(&kernel(V4, "anywhere"), [100, 20, 3], [10, 2, 1]);
    let packet = dispatch.packet(&places());
    assert_eq!((packet[0], half(&packet, 2)), (2, 3), "a kernel dispatch in three dimensions");
    assert_eq!([half(&packet, 4), half(&packet, 6), half(&packet, 8)], [10, 2, 1]);
    assert_eq!([word(&packet, 12), word(&packet, 16), word(&packet, 20)], [100, 20, 3]);
    assert_eq!([word(&packet, 24), word(&packet, 28)], [8, 256], "scratch and LDS");
    assert_eq!(long(&packet, 32), 0x10_0000 + kernel(V4, "anywhere").descriptor.address.0);
    assert_eq!(long(&packet, 40), 0x1_2000_0000);
}

#[test]
fn the_queue_holds_the_windows_of_flat_addresses() {
    let queue = launch(&kernel(V4, "anywhere"), [64, 1, 1], [64, 1, 1]).queue(&places());
    assert_eq!([word(&queue, 0x40), word(&queue, 0x44)], [0x2000_0000, 0x2000_0001]);
}

#[test]
fn every_register_of_the_set_up_can_be_requested() {
    let mut all = kernel(V4, "saxpy");
    let setup = &mut all.descriptor.setup;
    setup.private_segment_buffer = false;
    setup.queue_ptr = true;
    setup.dispatch_id = true;
    setup.flat_scratch_init = true;
    setup.private_segment_size = true;
    setup.grid_workgroup_count = [true; 3];
    setup.workgroup_id = [true; 3];
    setup.workgroup_info = true;
    setup.scratch_wave_offset = true;
    all.descriptor.user_sgprs = 14;
    all.private_size = 30;
    let dispatch = launch(&all, [200, 4, 6], [100, 2, 1]);
    let wave = dispatch.wave_init(&places(), [1, 0, 5], 3, 2).unwrap();
    #[rustfmt::skip]
    let expected = [
        0x3000_0040, 2,           // dispatch packet
        0x4000_0000, 3,           // queue
        0x2000_0000, 1,           // kernarg segment
        0, 0,                     // dispatch id
        0x1000, 32,               // flat scratch: offset and bytes of a work-item
        32,                       // private segment size
        2, 2, 6,                  // work-groups along each axis
        1, 0, 5,                  // this work-group
        4,                        // it has four wavefronts, and this is not the first
        2 * 2048,                 // scratch slot 2
    ];
    assert_eq!(wave.sgprs[..wave.sgpr_count], expected);
    let first = dispatch.wave_init(&places(), [1, 0, 5], 0, 0).unwrap();
    assert_eq!(first.sgprs[17], 0x8000_0004, "the first wavefront is told so");
}

#[test]
fn requests_beyond_the_sixteenth_register_are_ignored() {
    let mut all = kernel(V4, "saxpy");
    let setup = &mut all.descriptor.setup;
    setup.queue_ptr = true;
    setup.dispatch_id = true;
    setup.flat_scratch_init = true;
    setup.private_segment_size = true;
    setup.grid_workgroup_count = [true; 3];
    all.descriptor.user_sgprs = 16;
    let wave = launch(&all, [64, 1, 1], [64, 1, 1]).wave_init(&places(), [9, 0, 0], 0, 0).unwrap();
    // 4 + 2 + 2 + 2 + 2 + 2 + 1 registers; the count along x is the sixteenth.
    assert_eq!(wave.sgprs[14..wave.sgpr_count], [0, 1, 9]);
}

#[test]
fn scratch_out_of_reach_is_an_error() {
    let far = Places { scratch: VirtAddr(0x6_0000_0000), ..places() };
    let dispatch = launch(&kernel(V5, "anywhere"), [64, 1, 1], [64, 1, 1]);
    assert!(dispatch.wave_init(&places(), [0, 0, 0], 0, 1 << 22).is_err(), "slot 4 Mi of 1 KiB each");
    assert!(
        dispatch
            .wave_init(&far, [0, 0, 0], 0, 0)
            .unwrap_err()
            .to_string()
            .contains("is out of reach: registers count up to 4 GiB from 0x500000000")
    );
}

#[test]
fn a_kernel_with_an_unbounded_stack_gets_more_scratch() {
    let mut recursive = kernel(V5, "scratch");
    recursive.dynamic_stack = true;
    assert_eq!(launch(&recursive, [64, 1, 1], [64, 1, 1]).private_size(), 16384);
}

#[test]
fn more_scratch_than_the_hardware_has_is_refused() {
    let mut greedy = kernel(V5, "scratch");
    greedy.private_size = u32::MAX;
    let text = refused(&greedy, [64, 1, 1], [64, 1, 1]);
    assert!(text.contains("needs 4294967295 bytes of scratch memory per work-item; at most 131072"), "{text}");
}

#[test]
fn printf_finds_its_buffer_where_each_version_puts_it() {
    for (file, slot) in [(V4, 24 + 24), (V5, 24 + 72)] {
        let dispatch = launch(&kernel(file, "saxpy"), [64, 1, 1], [64, 1, 1]);
        assert_eq!(long(&dispatch.kernarg(&places()), slot), 0);
        let dispatch = dispatch.with_printf_buffer(VirtAddr(0x7_1234_5678));
        assert_eq!(long(&dispatch.kernarg(&places()), slot), 0x7_1234_5678);
    }
}

#[test]
fn implicit_arguments_that_old_metadata_does_not_list_are_the_global_offsets() {
    // Older compilers did not list hidden arguments, but the code reads them.
    let mut old = kernel(V4, "saxpy");
    old.arguments.retain(|argument| !argument.kind.is_hidden());
    old.kernarg_size = 20;
    old.implicit = ImplicitLayout::Unlisted { offset: 24 };
    let dispatch = Dispatch::new(&old, [64, 1, 1], [64, 1, 1], [100, 200, 300]).unwrap();
    let segment = dispatch.kernarg(&places());
    assert_eq!([long(&segment, 24), long(&segment, 32), long(&segment, 40)], [100, 200, 300]);
    let mut new = kernel(V5, "saxpy");
    new.implicit = ImplicitLayout::Unlisted { offset: 24 };
    let text = refused(&new, [64, 1, 1], [64, 1, 1]);
    assert!(text.contains("reads byte 24 of its arguments, which the metadata does not list"), "{text}");
}
