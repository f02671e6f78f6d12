//! Builds the OpenCL library that programs are linked with: `sdk/libOpenCL.a`, from C.

use std::{path::Path, process::Command};

use crate::tool::run;

/// Where the library lies that is committed, from the root of the workspace.
pub const COMMITTED: &str = "sdk/libOpenCL.a";

/// It must fit programs of glibc and of musl, position-independent or not: nothing that needs help of one C library.
const FLAGS: &str = "-std=c11 -O2 -Wall -Wextra -Werror -fPIE -fno-stack-protector -U_FORTIFY_SOURCE \
    -fcf-protection=none -fno-ident -c";

/// Builds the library at `target`.
pub fn build(root: &Path, scratch: &Path, target: &Path) -> Result<(), String> {
    let object = scratch.join("opencl.o");
    run(
        Command::new("gcc")
            .current_dir(root.join("sdk"))
            .args(FLAGS.split_whitespace())
            .args(["opencl.c", "-o"])
            .arg(&object),
        "gcc libc6-dev opencl-c-headers",
    )?;
    run(Command::new("ar").current_dir(scratch).arg("rcsD").arg(target).arg("opencl.o"), "binutils")
}
