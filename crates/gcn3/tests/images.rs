//! Images as compiled kernels use them: a pointer to a descriptor of eight words (and a few more for the libraries).

use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::{Gpu, Options},
    object::CodeObject,
};
use mem::{Bytes, VirtAddr};

const IMAGES: &[u8] = include_bytes!("objects/images.hsaco");

/// A GPU with one code object, and images of four floats per texel.
struct Bench {
    gpu: Gpu,
    object: CodeObject,
}

/// An image: the addresses of its texels and its descriptor.
#[derive(Clone, Copy)]
struct Image {
    texels: VirtAddr,
    description: VirtAddr,
    count: usize,
}

impl Bench {
    fn new() -> Bench {
        Bench { gpu: Gpu::new(), object: CodeObject::parse(IMAGES).unwrap() }
    }

    fn words(&mut self, words: &[u32]) -> VirtAddr {
        let address = self.gpu.alloc(Bytes(4 * words.len() as u64)).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.gpu.memory.write(address, &bytes).unwrap();
        address
    }

    fn floats(&self, address: VirtAddr, count: usize) -> Vec<f32> {
        let mut bytes = vec![0; 4 * count];
        self.gpu.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    /// An image with a row pitch of `pitch` texels; all four components of a texel have its value in the list.
    fn image(&mut self, width: u32, height: u32, pitch: u32, texels: &[f32]) -> Image {
        let words: Vec<u32> = texels.iter().flat_map(|texel| [texel.to_bits(); 4]).collect();
        let base = self.words(&words);
        let description = [
            (base.0 >> 8) as u32,
            (base.0 >> 40) as u32 | 14 << 20 | 7 << 26, // four 32-bit floats
            (width - 1) | (height - 1) << 14,
            4 | 5 << 3 | 6 << 6 | 7 << 9 | 8 << 20 | 9 << 28, // in their order, linear, two dimensions
            (pitch - 1) << 13,
            0,
            0,
            0,
            0,
            0,
            width, // the device libraries look the width up here
            0,
        ];
        Image { texels: base, description: self.words(&description), count: words.len() }
    }

    fn run(&mut self, kernel: &str, grid: [u32; 3], arguments: &[ArgumentValue]) {
        let program = self.gpu.load(&self.object).unwrap();
        let mut dispatch = Dispatch::new(self.object.kernel(kernel).unwrap(), grid, [1, 1, 1], [0; 3]).unwrap();
        dispatch.set_arguments(arguments).unwrap();
        self.gpu.launch(&program, &dispatch, Options::default()).unwrap();
    }
}

/// The words of a sampler: the handling of coordinates outside, whether they are normalised, and the filter.
fn sampler(clamp: u32, normalised: bool, linear: bool) -> [u32; 4] {
    let filter = u32::from(linear);
    [clamp | clamp << 3 | clamp << 6 | u32::from(!normalised) << 15, 0xfff000, filter << 20 | filter << 22, 0]
}

const REPEAT: u32 = 0;
const EDGE: u32 = 2;
const BORDER: u32 = 6;

#[test]
fn texels_are_read_and_written_by_whole_coordinates() {
    let mut bench = Bench::new();
    let texels: Vec<f32> = (0..3 * 8).map(|n| n as f32).collect();
    let from = bench.image(5, 3, 8, &texels);
    let to = bench.image(5, 3, 6, &[-1.0; 18]);
    let pointer = |image: Image| ArgumentValue::Pointer(image.description);
    // Two columns more than the image has: writes outside have no effect.
    bench.run("twice", [7, 3, 1], &[pointer(from), pointer(to)]);
    let result = bench.floats(to.texels, to.count);
    for y in 0..3i32 {
        for x in 0..6i32 {
            let (left, above) = ((x - 1).clamp(0, 4), (y - 1).clamp(0, 2));
            let expected = if x < 5 { 2.0 * (8 * above + left) as f32 } else { -1.0 };
            let at = 4 * (6 * y + x) as usize;
            assert_eq!(result[at..at + 4], [expected; 4], "texel {x}, {y}");
        }
    }
}

#[test]
fn samplers_filter_and_treat_what_lies_outside() {
    let sampled = |words: [u32; 4], step: f32| {
        let mut bench = Bench::new();
        let image = bench.image(4, 1, 4, &[10.0, 20.0, 30.0, 40.0]);
        let sampler = bench.words(&words);
        let out = bench.words(&[0; 4 * 8]);
        let arguments = [
            ArgumentValue::Pointer(image.description),
            ArgumentValue::Pointer(sampler),
            ArgumentValue::Bytes(step.to_le_bytes().to_vec()),
            ArgumentValue::Pointer(out),
        ];
        bench.run("sample", [8, 1, 1], &arguments);
        bench.floats(out, 4 * 8).chunks(4).map(|texel| texel[0]).collect::<Vec<f32>>()
    };
    // At -2, -1, 0, .. 5: texel n covers n to n + 1.
    assert_eq!(sampled(sampler(EDGE, false, false), 1.0), [10.0, 10.0, 10.0, 20.0, 30.0, 40.0, 40.0, 40.0]);
    assert_eq!(sampled(sampler(BORDER, false, false), 1.0), [0.0, 0.0, 10.0, 20.0, 30.0, 40.0, 0.0, 0.0]);
    // Halfway between the centres of two texels.
    assert_eq!(sampled(sampler(EDGE, false, true), 1.0), [10.0, 10.0, 10.0, 15.0, 25.0, 35.0, 40.0, 40.0]);
    // At -0.5, -0.25, 0, .. 1.25 of the width.
    assert_eq!(sampled(sampler(REPEAT, true, false), 0.25), [30.0, 40.0, 10.0, 20.0, 30.0, 40.0, 10.0, 20.0]);
}

#[test]
fn images_know_their_size() {
    let mut bench = Bench::new();
    let image = bench.image(5, 3, 8, &[0.0; 24]);
    let out = bench.words(&[0; 2]);
    bench.run("size", [1, 1, 1], &[ArgumentValue::Pointer(image.description), ArgumentValue::Pointer(out)]);
    let size: Vec<u32> = bench.floats(out, 2).into_iter().map(f32::to_bits).collect();
    assert_eq!(size, [5, 3]);
}
