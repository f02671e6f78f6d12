use adsm::{Kernel, Result, Runtime};

#[allow(dead_code)]
fn f(runtime: &Runtime, kernel: &Kernel) -> Result<f32> {
    let a = runtime.alloc::<f32>(64)?;
    let mut b = runtime.alloc::<f32>(64)?;
    let call = kernel.call(1, 64).read(&a).write(&mut b).launch()?;
    let both_may_read = a[0];
    call.sync()?;
    b[0] = 2.0;
    Ok(both_may_read + b[0])
}

fn main() {}
