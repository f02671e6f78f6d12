//! Builds the OpenCL libraries that programs link with, from C: `sdk/libOpenCL.a` and `sdk/libOpenCL.so.1`.

use std::{path::Path, process::Command};

use crate::tool::run;

/// Paths of the committed libraries, from the root of the workspace.
pub const COMMITTED: &str = "sdk/libOpenCL.a";
pub const COMMITTED_SHARED: &str = "sdk/libOpenCL.so.1";

/// The libraries must work with glibc and with musl, so they use nothing that is specific to one C library.
const FLAGS: &str = "-std=c11 -O2 -Wall -Wextra -Werror -fno-stack-protector -U_FORTIFY_SOURCE -fcf-protection=none \
    -fno-ident";

/// The shared library is linked with no C library: it uses the program's.
const SHARED: &str = "-fPIC -shared -nostdlib -Wl,-soname,libOpenCL.so.1 -Wl,--version-script=libOpenCL.map \
    -Wl,--build-id=none -Wl,--hash-style=both -Wl,-z,now";

const PACKAGES: &str = "gcc libc6-dev opencl-c-headers";

/// Builds the static library at `target`, for position-independent and other programs.
pub fn build(root: &Path, scratch: &Path, target: &Path) -> Result<(), String> {
    let object = scratch.join("opencl.o");
    compile(root, "-fPIE -c", &object)?;
    run(Command::new("ar").current_dir(scratch).arg("rcsD").arg(target).arg("opencl.o"), "binutils")
}

/// Builds the shared library at `target`.
pub fn build_shared(root: &Path, target: &Path) -> Result<(), String> {
    compile(root, SHARED, target)?;
    run(Command::new("objcopy").args(["--strip-all", "--remove-section=.comment"]).arg(target), "binutils")
}

fn compile(root: &Path, flags: &str, target: &Path) -> Result<(), String> {
    let mut gcc = Command::new("gcc");
    gcc.current_dir(root.join("sdk")).args(FLAGS.split_whitespace()).args(flags.split_whitespace());
    run(gcc.args(["opencl.c", "-o"]).arg(target), PACKAGES)
}
