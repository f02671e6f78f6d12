use adsm::{Kernel, Result, Runtime};

fn f(runtime: &Runtime, kernel: &Kernel) -> Result<f32> {
    let mut a = runtime.alloc::<f32>(64)?;
    let call = kernel.call(1, 64).write(&mut a).launch()?;
    let early = a[0];
    call.sync()?;
    Ok(early)
}

fn main() {}
