use adsm::{Kernel, Result, Runtime};

fn f(runtime: &Runtime, kernel: &Kernel) -> Result<()> {
    let a = runtime.alloc::<f32>(64)?;
    let call = kernel.call(1, 64).read(&a).launch()?;
    drop(a);
    call.sync()
}

fn main() {}
