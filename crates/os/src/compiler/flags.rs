//! The clang flags that compile OpenCL C for the simulated GPU, all in one place.

use std::path::Path;

/// The clang version that cohesim is tested with.
pub const CLANG: &str = "clang-19";
/// Where Debian puts AMD's device libraries.
pub const DEVICE_LIBS: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";
/// The default version of OpenCL C.
pub const STANDARD: &str = "CL1.2";
/// The default version of code objects.
pub const CODE_OBJECT_VERSION: u8 = 5;

/// Flags that select the target processor and the code-object version.
pub fn target(code_object_version: u8) -> Vec<String> {
    ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803"]
        .into_iter()
        .map(str::to_owned)
        .chain([format!("-mcode-object-version={code_object_version}")])
        .collect()
}

/// Flags that select the language version and the device libraries.
pub fn language(standard: &str, device_libs: &Path) -> Vec<String> {
    vec![
        "-x".into(),
        "cl".into(),
        format!("-cl-std={standard}"),
        format!("--rocm-device-lib-path={}", device_libs.display()),
        "-cl-kernel-arg-info".into(),
    ]
}

/// The default optimisation level.
pub const OPTIMISATION: &str = "-O2";
