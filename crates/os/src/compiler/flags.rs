//! How clang is told to compile OpenCL C for the simulated GPU: the one place where these flags stand.

use std::path::Path;

/// The compiler that is tested with.
pub const CLANG: &str = "clang-19";
/// Where Debian puts AMD's device libraries.
pub const DEVICE_LIBS: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";
/// The version of OpenCL C, unless the program says another.
pub const STANDARD: &str = "CL1.2";
/// The version of code objects, unless the user says another.
pub const CODE_OBJECT_VERSION: u8 = 5;

/// The processor, and the convention of the code object.
pub fn target(code_object_version: u8) -> Vec<String> {
    ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803"]
        .into_iter()
        .map(str::to_owned)
        .chain([format!("-mcode-object-version={code_object_version}")])
        .collect()
}

/// The language, and what kernels may count on.
pub fn language(standard: &str, device_libs: &Path) -> Vec<String> {
    vec![
        "-x".into(),
        "cl".into(),
        format!("-cl-std={standard}"),
        format!("--rocm-device-lib-path={}", device_libs.display()),
        "-cl-kernel-arg-info".into(),
    ]
}

/// What a kernel is optimised with, unless the program says otherwise.
pub const OPTIMISATION: &str = "-O2";
