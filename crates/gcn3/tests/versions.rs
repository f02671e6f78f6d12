//! The kernels of objects of every version compute equal results.

mod support;

use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::{Gpu, Options},
    object::{CodeObject, Kernel},
};
use mem::{Bytes, VirtAddr};
use support::Version2;

const V4: &[u8] = include_bytes!("objects/v4.hsaco");
const V5: &[u8] = include_bytes!("objects/v5.hsaco");
const UNLINKED: &[u8] = include_bytes!("objects/kernels.o");

/// Objects of versions 2, 3, 4 and 5, and a relocatable one.
fn objects() -> Vec<(&'static str, CodeObject)> {
    let names = ["saxpy", "reverse", "ids", "scratch", "anywhere"];
    let old = Version2 { from: V4, kernels: &names, metadata: true, isa: Some([8, 0, 3]) }.build();
    let mut third = V4.to_vec();
    third[8] = 1;
    let files: [(&str, &[u8]); 5] =
        [("version 2", &old), ("version 3", &third), ("version 4", V4), ("version 5", V5), ("unlinked", UNLINKED)];
    files.map(|(name, file)| (name, CodeObject::parse(file).unwrap())).into()
}

/// Runs a kernel on one buffer of words, its first argument; returns the buffer.
fn run(
    object: &CodeObject,
    kernel: &Kernel,
    geometry: ([u32; 3], [u32; 3], [u64; 3]),
    buffer: &[u32],
    rest: &[ArgumentValue],
) -> Vec<u32> {
    let mut gpu = Gpu::new();
    let program = gpu.load(object).unwrap();
    let address = gpu.alloc(Bytes(4 * buffer.len() as u64)).unwrap();
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_le_bytes()).collect();
    gpu.memory.write(address, &bytes).unwrap();
    let (grid, group, offset) = geometry;
    let mut dispatch = Dispatch::new(kernel, grid, group, offset).unwrap();
    let arguments: Vec<ArgumentValue> = [ArgumentValue::Pointer(address)].iter().chain(rest).cloned().collect();
    if kernel.described {
        dispatch.set_arguments(&arguments).unwrap();
    } else {
        dispatch.set_raw_arguments(&raw(&arguments)).unwrap();
    }
    gpu.launch(&program, &dispatch, Options::default()).unwrap();
    let mut bytes = vec![0; bytes.len()];
    gpu.memory.read(address, &mut bytes).unwrap();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn raw(arguments: &[ArgumentValue]) -> Vec<u8> {
    let bytes = arguments.iter().map(|argument| match argument {
        ArgumentValue::Pointer(VirtAddr(address)) => address.to_le_bytes().to_vec(),
        ArgumentValue::Bytes(bytes) => bytes.clone(),
        ArgumentValue::Local(_) => panic!("local memory needs a description"),
    });
    bytes.collect::<Vec<_>>().concat()
}

fn line(items: u32, group: u32) -> ([u32; 3], [u32; 3], [u64; 3]) {
    ([items, 1, 1], [group, 1, 1], [0; 3])
}

#[test]
fn ids_offsets_and_partial_groups_agree_with_opencl() {
    let (grid, group, offset) = ([10, 5, 3], [4, 4, 2], [100, 200, 300]);
    let mut expected = Vec::new();
    for z in 0..3u32 {
        for y in 0..5u32 {
            for x in 0..10u32 {
                let at = [x, y, z];
                let three = |f: &dyn Fn(usize) -> u32| f(0) + 100 * f(1) + 10000 * f(2);
                // The last group along an axis has the remaining work-items.
                let left = |axis: usize| (grid[axis] - at[axis] / group[axis] * group[axis]).min(group[axis]);
                expected.extend([100 + x, 200 + y, 300 + z]);
                expected.push(three(&left));
                expected.push(three(&|axis| grid[axis].div_ceil(group[axis])));
                expected.push(three(&|axis| at[axis] % group[axis]));
                expected.extend([group[0], 3]);
            }
        }
    }
    for (name, object) in objects() {
        let kernel = object.kernel("ids").unwrap();
        let result = run(&object, kernel, (grid, group, offset), &vec![0; expected.len()], &[]);
        assert!(result == expected, "{name}: {result:?}");
    }
}

#[test]
fn local_memory_given_as_an_argument_is_shared_by_the_group() {
    let input: Vec<u32> = (0..128).collect();
    let expected: Vec<u32> = (0..64).rev().chain((64..128).rev()).collect();
    for (name, object) in objects() {
        let kernel = object.kernel("reverse").unwrap();
        assert_eq!(run(&object, kernel, line(128, 64), &input, &[ArgumentValue::Local(256)]), expected, "{name}");
    }
}

#[test]
fn scratch_memory_belongs_to_the_work_item() {
    let input: Vec<u32> = (0..64).map(|i| i * 37 % 101).chain([0; 256]).collect();
    let mut own: Vec<u32> = input[..64].to_vec();
    for i in 0..100u32 {
        let at = own[(i & 63) as usize] & 63;
        own[at as usize] += i;
    }
    let expected: Vec<u32> = input[..64].iter().copied().chain((0..256).map(|i| own[i & 63])).collect();
    for (name, object) in objects() {
        let kernel = object.kernel("scratch").unwrap();
        let count = ArgumentValue::Bytes(100i32.to_le_bytes().to_vec());
        assert_eq!(run(&object, kernel, line(256, 128), &input, &[count]), expected, "{name}");
    }
}

#[test]
fn a_flat_pointer_reaches_global_local_and_scratch_memory() {
    let input: Vec<u32> = (500..564).chain([0; 64]).collect();
    for (name, object) in objects() {
        let kernel = object.kernel("anywhere").unwrap();
        for (which, first) in [(0i32, 500), (1, 1000), (2, 2000)] {
            let which = ArgumentValue::Bytes(which.to_le_bytes().to_vec());
            let result = run(&object, kernel, line(64, 64), &input, &[which]);
            assert_eq!(result[64..], (first..first + 64).collect::<Vec<u32>>(), "{name}");
        }
    }
}

#[test]
fn variables_are_found_and_hold_their_values() {
    for (name, object) in objects().into_iter().skip(1) {
        let kernel = object.kernel("variables").unwrap();
        assert_eq!(run(&object, kernel, line(8, 8), &[0; 8], &[]), [5, 6, 9, 14, 5, 6, 9, 14], "{name}");
    }
}

#[test]
fn an_old_object_without_metadata_runs_on_plain_bytes() {
    let old = Version2 { from: V4, kernels: &["scratch", "ids"], metadata: false, isa: None }.build();
    let object = CodeObject::parse(&old).unwrap();
    let kernel = object.kernel("scratch").unwrap();
    assert!(!kernel.described);
    let count = ArgumentValue::Bytes(0i32.to_le_bytes().to_vec());
    let input: Vec<u32> = (0..64).chain([0; 64]).collect();
    assert_eq!(run(&object, kernel, line(64, 64), &input, &[count])[64..], (0..64).collect::<Vec<u32>>());
}
