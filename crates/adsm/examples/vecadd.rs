//! c = a + b, with one pointer for CPU and device: `ADSM_DEVICE=sim cargo run -p adsm --example vecadd`.

use adsm::{KernelSource, Runtime};

const OPENCL: &str =
    "__kernel void vecadd(__global const float *a, __global const float *b, __global float *c, uint n) {
    uint i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}";

fn main() -> adsm::Result<()> {
    let n = 100_000;
    let runtime = Runtime::new()?;
    let source = KernelSource::new("vecadd").opencl(OPENCL).ptx(include_str!("../kernels/kernels.ptx"));
    let vecadd = runtime.kernel(source.native(|call| {
        let floats = |bytes: &[u8]| -> Vec<f32> {
            bytes.chunks_exact(4).map(|four| f32::from_ne_bytes([four[0], four[1], four[2], four[3]])).collect()
        };
        let (a, b) = (floats(call.memory[0]), floats(call.memory[1]));
        for ((to, a), b) in call.memory[2].chunks_exact_mut(4).zip(a).zip(b) {
            to.copy_from_slice(&(a + b).to_ne_bytes());
        }
    }));
    let (mut a, mut b, mut c) = (runtime.alloc::<f32>(n)?, runtime.alloc::<f32>(n)?, runtime.alloc::<f32>(n)?);
    for i in 0..n {
        a[i] = i as f32;
        b[i] = 2.0 * i as f32;
    }
    vecadd.call(n.div_ceil(256) as u32, 256).read(&a).read(&b).write(&mut c).value(n as u32).launch()?.sync()?;
    assert!(c.iter().enumerate().all(|(i, &sum)| sum == 3.0 * i as f32));
    println!("right; {:?}", runtime.stats());
    Ok(())
}
