//! Whole kernels, compiled by clang (sources next to the object), launched on the functional GPU.

use super::support::Numbers;
use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    error::{ExecError, Fault},
    functional::{Gpu, LaunchError, Options, Program, Run},
    object::CodeObject,
};
use mem::{Bytes, VirtAddr};

const OBJECT: &[u8] = include_bytes!("kernels/kernels.hsaco");

struct Device {
    object: CodeObject,
    program: Program,
    gpu: Gpu,
    options: Options,
}

impl Device {
    fn new(threads: usize) -> Self {
        let object = CodeObject::parse(OBJECT).unwrap();
        let mut gpu = Gpu::new();
        let program = gpu.load(&object).unwrap();
        Self { object, program, gpu, options: Options { threads, limit: None } }
    }

    fn buffer(&mut self, bytes: &[u8]) -> VirtAddr {
        let address = self.gpu.alloc(Bytes(bytes.len() as u64)).unwrap();
        self.gpu.memory.write(address, bytes).unwrap();
        address
    }

    fn words(&mut self, words: &[u32]) -> VirtAddr {
        self.buffer(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }

    fn longs(&mut self, longs: &[u64]) -> VirtAddr {
        self.buffer(&longs.iter().flat_map(|long| long.to_le_bytes()).collect::<Vec<u8>>())
    }

    fn floats(&mut self, floats: &[f32]) -> VirtAddr {
        self.words(&floats.iter().map(|float| float.to_bits()).collect::<Vec<u32>>())
    }

    fn read(&self, address: VirtAddr, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.gpu.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn read_longs(&self, address: VirtAddr, count: usize) -> Vec<u64> {
        self.read(address, 2 * count).chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect()
    }

    fn launch(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        group: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Run, LaunchError> {
        self.launch_at(kernel, grid, group, [0; 3], arguments)
    }

    fn launch_at(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        group: [u32; 3],
        offset: [u64; 3],
        arguments: &[Argument],
    ) -> Result<Run, LaunchError> {
        let mut dispatch = Dispatch::new(self.object.kernel(kernel)?, grid, group, offset)?;
        let values: Vec<ArgumentValue> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::At(address) => ArgumentValue::Pointer(*address),
                Argument::Number(number) => ArgumentValue::Bytes(number.to_le_bytes().to_vec()),
            })
            .collect();
        dispatch.set_arguments(&values)?;
        self.gpu.launch(&self.program, &dispatch, self.options)
    }
}

enum Argument {
    At(VirtAddr),
    Number(u32),
}
use Argument::{At, Number};

fn error(result: Result<Run, LaunchError>) -> Box<ExecError> {
    match result.unwrap_err() {
        LaunchError::Exec(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn vectors_are_added_by_partial_workgroups_and_wavefronts() {
    let mut device = Device::new(1);
    let a: Vec<f32> = (0..1000).map(|n| n as f32 * 0.5).collect();
    let b: Vec<f32> = (0..1000).map(|n| 1000.0 - n as f32).collect();
    let (pa, pb, pc) = (device.floats(&a), device.floats(&b), device.words(&[0; 1000]));
    let run = device.launch("vecadd", [950, 1, 1], [100, 1, 1], &[At(pa), At(pb), At(pc), Number(930)]).unwrap();
    assert_eq!(run.wavefronts, 9 * 2 + 1);
    for (n, bits) in device.read(pc, 1000).into_iter().enumerate() {
        assert_eq!(f32::from_bits(bits), if n < 930 { a[n] + b[n] } else { 0.0 }, "element {n}");
    }
}

#[test]
fn a_tiled_matmul_gives_the_same_bits_on_any_number_of_threads() {
    let n = 64;
    let mut numbers = Numbers(7);
    let mut matrix = || (0..n * n).map(|_| (numbers.next() % 1000) as f32 * 0.01 - 5.0).collect::<Vec<f32>>();
    let (a, b) = (matrix(), matrix());
    let mut results = [1, 3].map(|threads| {
        let mut device = Device::new(threads);
        let (pa, pb, pc) = (device.floats(&a), device.floats(&b), device.words(&vec![0; n * n]));
        let arguments = [At(pa), At(pb), At(pc), Number(n as u32)];
        let run = device.launch("matmul", [n as u32, n as u32, 1], [16, 16, 1], &arguments).unwrap();
        (run, device.read(pc, n * n))
    });
    assert_eq!(results[0], results[1]);
    for (place, bits) in std::mem::take(&mut results[0].1).into_iter().enumerate() {
        let (y, x) = (place / n, place % n);
        let want = (0..n).fold(0f32, |sum, k| sum + a[y * n + k] * b[k * n + x]);
        assert_eq!(f32::from_bits(bits), want, "row {y}, column {x}");
    }
}

#[test]
fn lanes_that_loop_longer_do_not_disturb_the_others() {
    let mut device = Device::new(1);
    let input: Vec<u32> = (1..=256).collect();
    let (pi, po) = (device.words(&input), device.words(&[0; 256]));
    device.launch("collatz", [256, 1, 1], [256, 1, 1], &[At(pi), At(po)]).unwrap();
    for (start, steps) in input.into_iter().zip(device.read(po, 256)) {
        let (mut x, mut want) = (start, 0);
        while x != 1 {
            x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
            want += 1;
        }
        assert_eq!(steps, want, "from {start}");
    }
}

#[test]
fn compiled_divisions_are_right() {
    let mut device = Device::new(1);
    let mut numbers = Numbers(3);
    let count = 1024;
    let float = |bits: u64| f32::from_bits((bits as u32 & 0x87ff_ffff) | 0x3800_0000);
    let floats: [Vec<f32>; 2] = std::array::from_fn(|_| (0..count).map(|_| float(numbers.next())).collect());
    let doubles: [Vec<u64>; 2] =
        std::array::from_fn(|_| (0..count).map(|_| numbers.next() & 0x8fff_ffff_ffff_ffff | 0x3000 << 48).collect());
    let longs: [Vec<u64>; 2] = [0, 20].map(|shift| (0..count).map(|_| (numbers.next() >> shift) | 1).collect());
    let [a, b] = [0, 1].map(|n| device.floats(&floats[n]));
    let [c, d] = [0, 1].map(|n| device.longs(&doubles[n]));
    let [e, f] = [0, 1].map(|n| device.longs(&longs[n]));
    let q = device.words(&vec![0; count]);
    let [r, s] = [0, 1].map(|_| device.longs(&vec![0; count]));
    let arguments = [At(a), At(b), At(q), At(c), At(d), At(r), At(e), At(f), At(s)];
    device.launch("divide", [count as u32, 1, 1], [64, 1, 1], &arguments).unwrap();
    let (q, r, s) = (device.read(q, count), device.read_longs(r, count), device.read_longs(s, count));
    for n in 0..count {
        let want = floats[0][n] / floats[1][n];
        let distance = (f32::from_bits(q[n]).to_bits() as i32).wrapping_sub(want.to_bits() as i32).abs();
        assert!(distance <= 2, "OpenCL allows 2.5 units in the last place: {} / {}", floats[0][n], floats[1][n]);
        let (x, y) = (f64::from_bits(doubles[0][n]), f64::from_bits(doubles[1][n]));
        assert_eq!(f64::from_bits(r[n]), x / y, "{x:e} / {y:e}");
        let (x, y) = (longs[0][n] as i64, longs[1][n] as i64);
        assert_eq!(s[n] as i64, (x / y).wrapping_add(x % y), "{x} / {y}");
    }
}

#[test]
fn a_generic_pointer_reaches_global_local_and_private_memory() {
    for which in 0..3 {
        let mut device = Device::new(2);
        let (out, data) = (device.words(&[0; 256]), device.words(&[10, 20, 30, 40, 50, 60, 70, 80]));
        device.launch("anywhere", [256, 1, 1], [64, 1, 1], &[At(out), At(data), Number(which)]).unwrap();
        for (n, sum) in device.read(out, 256).into_iter().enumerate() {
            let want = [360, 28, 28 * (n as u32 % 64)][which as usize];
            assert_eq!(sum, want, "memory {which}, work-item {n}");
        }
    }
}

#[test]
fn a_barrier_waits_for_the_wavefronts_that_are_left() {
    let mut device = Device::new(1);
    let out = device.words(&[0; 256]);
    device.launch("early", [256, 1, 1], [256, 1, 1], &[At(out)]).unwrap();
    let got = device.read(out, 128);
    // words[127 - l] holds what work-item 127 - l read: words[255 - (127 - l)] = 128 + l + 1.
    assert!((0..128).all(|l| got[l] == 129 + l as u32), "{got:?}");
}

#[test]
fn counts_are_right_on_any_number_of_threads() {
    let input: Vec<u8> = (0..4096u32).map(|n| ((n * n) >> 4) as u8).collect();
    for threads in [1, 4] {
        let mut device = Device::new(threads);
        let (counts, total) = (device.words(&[0; 16]), device.longs(&[0]));
        let data = device.buffer(&input);
        device.launch("count", [4096, 1, 1], [128, 1, 1], &[At(counts), At(total), At(data)]).unwrap();
        let want: Vec<u32> = (0..16).map(|n| input.iter().filter(|x| **x & 15 == n).count() as u32).collect();
        assert_eq!(device.read(counts, 16), want);
        let sum: u64 = input.iter().map(|x| u64::from(*x) << 30).sum();
        assert_eq!(device.read_longs(total, 1), [sum]);
    }
}

#[test]
fn work_items_know_their_places_in_three_dimensions() {
    let mut device = Device::new(1);
    let out = device.words(&[0; 10 * 6 * 4]);
    device.launch_at("ids", [10, 6, 4], [4, 3, 2], [5, 0, 0], &[At(out)]).unwrap();
    let got = device.read(out, 10 * 6 * 4);
    for (z, y, x) in (0..4).flat_map(|z| (0..6).flat_map(move |y| (0..10).map(move |x| (z, y, x)))) {
        let size = if x < 8 { 4 } else { 2 };
        let want = (x + 5) | (y % 3) << 8 | (z / 2) << 16 | size << 24;
        assert_eq!(got[((z * 6 + y) * 10 + x) as usize], want, "({x}, {y}, {z})");
    }
}

#[test]
fn an_endless_loop_ends_at_the_limit_and_says_where() {
    let mut device = Device::new(2);
    device.options.limit = Some(10_000);
    let out = device.words(&[0; 64]);
    let error = error(device.launch("forever", [256, 1, 1], [64, 1, 1], &[At(out)]));
    assert_eq!((error.fault.clone(), error.kernel.as_str()), (Fault::Limit(10_000), "forever"));
    assert_eq!(error.workgroup, [0, 0, 0], "the first workgroup that fails is told, whatever the threads");
}

#[test]
fn after_a_failure_no_further_workgroup_is_dealt_however_many_there_are() {
    let mut device = Device::new(2);
    let out = device.words(&[0; 256]);
    let grid = [256, u32::MAX, u32::MAX];
    let error = error(device.launch("wild", grid, [128, 1, 1], &[At(out)]));
    assert_eq!(error.workgroup, [0, 0, 0]);
    assert!(matches!(error.fault, Fault::Unmapped { .. }), "{error}");
}

#[test]
fn workgroups_may_wait_for_later_ones() {
    let mut device = Device::new(1);
    let (flag, out) = (device.words(&[0; 2]), device.words(&[0; 64]));
    device.launch("handshake", [128, 1, 1], [64, 1, 1], &[At(flag), At(out)]).unwrap();
    assert_eq!(device.read(out, 64), [77; 64]);
}

#[test]
fn a_wild_store_is_an_error_with_kernel_place_wavefront_and_lane() {
    let mut device = Device::new(1);
    let out = device.words(&[0; 256]);
    let error = error(device.launch("wild", [256, 1, 1], [128, 1, 1], &[At(out)]));
    assert!(matches!(error.fault, Fault::Unmapped { lane: Some(6), .. }), "{error}");
    assert_eq!((error.workgroup, error.wavefront), ([0, 0, 0], 1));
    let text = error.to_string();
    for part in ["wild", "wavefront 1", "lane 6", "flat_store_dword", &format!("{:#x}", error.pc)] {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
}

#[test]
fn packed_structures_are_read_from_odd_addresses() {
    let mut device = Device::new(1);
    let bytes: Vec<u8> = (0..64 * 5).map(|n| (n * 7) as u8).collect();
    let (data, out) = (device.buffer(&bytes), device.words(&[0; 64]));
    device.launch("packed_structs", [64, 1, 1], [64, 1, 1], &[At(data), At(out)]).unwrap();
    for (n, value) in device.read(out, 64).into_iter().enumerate() {
        assert_eq!(value, u32::from_le_bytes(bytes[5 * n + 1..5 * n + 5].try_into().unwrap()), "record {n}");
    }
}
