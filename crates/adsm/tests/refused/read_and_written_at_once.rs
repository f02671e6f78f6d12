use adsm::{Kernel, Result, Runtime};

fn f(runtime: &Runtime, kernel: &Kernel) -> Result<()> {
    let mut a = runtime.alloc::<f32>(64)?;
    kernel.call(1, 64).read(&a).write(&mut a).launch()?.sync()
}

fn main() {}
