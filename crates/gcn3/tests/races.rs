//! Data races in kernels are detected, and ordered accesses are not reported.

use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::{Execution, Gpu, Options, Plan, Progress, Shared},
    object::CodeObject,
};
use mem::{Bytes, VirtAddr};
use std::sync::Arc;

const RACES: &[u8] = include_bytes!("objects/races.hsaco");
const ITEMS: u32 = 512;

/// The output of a kernel, and the reported races.
fn run(name: &str, group: u32) -> (Vec<u32>, Vec<String>, u64) {
    let object = CodeObject::parse(RACES).expect("the committed code object is sound");
    let mut gpu = Gpu::new();
    let program = Arc::new(gpu.load(&object).expect("it can be loaded"));
    let buffer = |gpu: &mut Gpu, value: &dyn Fn(u32) -> u32| -> VirtAddr {
        let address = gpu.alloc(Bytes(u64::from(4 * ITEMS))).expect("there is room");
        let bytes: Vec<u8> = (0..ITEMS).flat_map(|n| value(n).to_le_bytes()).collect();
        gpu.memory.write(address, &bytes).expect("it has just been allocated");
        address
    };
    let (input, output) = (buffer(&mut gpu, &|n| n * 7 % 32), buffer(&mut gpu, &|_| 0));
    let kernel = object.kernel(name).expect("it is there");
    let mut dispatch = Dispatch::new(kernel, [ITEMS, 1, 1], [group, 1, 1], [0; 3]).expect("the grid is sound");
    let count = ArgumentValue::Bytes(ITEMS.to_le_bytes().to_vec());
    let arguments = [ArgumentValue::Pointer(input), ArgumentValue::Pointer(output), count];
    dispatch.set_arguments(&arguments).expect("they fit the kernel");
    let places = gpu.stage(&program, &dispatch, 8).expect("it can be staged");
    let plan = Plan::new(&dispatch, Options::default());
    let mut execution = Execution::new(program, dispatch, plan, places);
    execution.look_for_races();
    let mut memory = Shared { memory: &gpu.memory, alone: true };
    let ended = execution.advance(&mut memory, u64::MAX).expect("the kernel does nothing that faults");
    assert!(matches!(ended, Progress::Ended(_)));
    let mut bytes = vec![0; 4 * ITEMS as usize];
    gpu.memory.read(output, &mut bytes).expect("it is mapped");
    let words = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let (first, count) = execution.races();
    (words, first.to_vec(), count)
}

#[test]
fn kernels_whose_work_items_are_ordered_have_no_races() {
    let clean = ["counted", "sum", "shift", "any_group_says_so", "smooth", "sum_by_last", "bytes"];
    for (name, group) in clean.into_iter().map(|name| (name, 256)).chain([("one_wavefront", 64)]) {
        let (_, told, count) = run(name, group);
        assert_eq!((told, count), (Vec::new(), 0), "{name}");
    }
}

#[test]
fn kernels_with_races_are_reported() {
    let racy = [
        ("tagged", "local address"),
        ("lockstep_sum", "local address"),
        ("shift_too_soon", "local address"),
        ("used_again_too_soon", "local address"),
        ("last_group_wins", "global address"),
        ("smooth_in_place", "global address"),
    ];
    for (name, place) in racy {
        let (_, told, count) = run(name, 256);
        assert!(count > 0 && !told.is_empty(), "{name} has none");
        for race in &told {
            assert!(race.starts_with(&format!("kernel '{name}': work-item (")) && race.contains(place), "{race}");
        }
    }
}

#[test]
fn a_race_is_reported_with_both_work_items_their_instructions_and_the_address() {
    let (_, told, _) = run("last_group_wins", 256);
    let [race] = &told[..] else { panic!("one pair of instructions races: {told:?}") };
    let at = |word: &str| race.find(word).unwrap_or_else(|| panic!("{word} is not in {race}"));
    let now = "work-item (256, 0, 0) (workgroup (1, 0, 0), wavefront 0, lane 0) at +";
    let before = "work-item (0, 0, 0) (workgroup (0, 0, 0), wavefront 0, lane 0) at +";
    assert!(at(now) < at("writes global address 0x") && at("writes global address 0x") < at(before), "{race}");
    assert!(race.ends_with("wrote it: nothing orders them") && race.contains("`flat_store_dword"), "{race}");
}

#[test]
fn lanes_that_write_different_values_in_one_instruction_race_though_the_result_is_what_lockstep_gives() {
    let (words, told, _) = run("tagged", 256);
    assert!(told.iter().any(|race| race.contains("writes another value to it")), "{told:?}");
    // Lanes of a wavefront do run in lockstep here, so no count is lost.
    assert_eq!(words[..16], [32; 16]);
}

#[test]
fn looking_for_races_changes_no_result() {
    for (name, right) in [("sum", 3968), ("counted", 32), ("lockstep_sum", 3968)] {
        assert_eq!(run(name, 256).0[0], right, "{name}");
    }
}
