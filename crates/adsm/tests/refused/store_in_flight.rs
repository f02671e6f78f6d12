use adsm::{Kernel, Result, Runtime};

fn f(runtime: &Runtime, kernel: &Kernel) -> Result<()> {
    let mut a = runtime.alloc::<f32>(64)?;
    let call = kernel.call(1, 64).read(&a).launch()?;
    a[0] = 1.0;
    call.sync()
}

fn main() {}
