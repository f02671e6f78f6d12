//! `cohesim cc`: compiles OpenCL C to a gfx803 code object with the installed clang.

use crate::{
    files::{Partial, read_code_object},
    ui::Ui,
};
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use os::compiler::flags;
use serde::Serialize;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Compile OpenCL C for the simulated GPU.
#[derive(clap::Args)]
pub struct Cc {
    /// OpenCL C source.
    file: PathBuf,
    /// The code object to write [default: FILE with the ending .hsaco].
    #[arg(short, long, value_name = "FILE.hsaco")]
    output: Option<PathBuf>,
    /// Define a macro, as for clang.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Search a folder for included files, as for clang.
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Version of OpenCL C.
    #[arg(long, value_name = "VERSION", default_value = flags::STANDARD)]
    std: String,
    /// Code object version: 4 or 5.
    #[arg(long, value_name = "N", default_value_t = flags::CODE_OBJECT_VERSION, value_parser = clap::value_parser!(u8).range(4..=5))]
    code_object_version: u8,
    /// The compiler.
    #[arg(long, value_name = "PROGRAM", default_value = flags::CLANG)]
    clang: PathBuf,
    /// AMD's device libraries.
    #[arg(long, value_name = "FOLDER", default_value = flags::DEVICE_LIBS)]
    device_libs: PathBuf,
    /// Further options for the compiler, after `--`.
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

#[derive(Serialize)]
struct CompiledObject<'a> {
    output: &'a Path,
    kernels: Vec<String>,
    log: &'a str,
}

impl Cc {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let target = self.output.clone().unwrap_or_else(|| self.file.with_extension("hsaco"));
        if !self.file.is_file() {
            bail!("there is no file '{}' to compile", self.file.display());
        }
        if target == self.file {
            bail!("the output would overwrite the source '{}'; name another with -o", target.display());
        }
        if !self.device_libs.join("ocml.bc").is_file() {
            return Err(miette!(
                help = "on Debian: apt install rocm-device-libs (or name their folder with --device-libs)",
                "AMD's device libraries are not in '{}'",
                self.device_libs.display()
            ));
        }
        let partial = Partial::beside(&target);
        let output = self.compile(partial.path())?;
        let log = String::from_utf8_lossy(&output.stderr);
        eprint!("{log}");
        if !output.status.success() {
            return Err(self.failure(&log, output.status));
        }
        let object = read_code_object(partial.path())?;
        partial.finish().wrap_err_with(|| format!("can't write '{}'", target.display()))?;
        let kernels: Vec<String> = object.kernels().iter().map(|kernel| kernel.name.clone()).collect();
        ui.print(&format!("{}: {}\n", target.display(), kernels.join(", ")))?;
        ui.report(&CompiledObject { output: &target, kernels, log: &log })
    }

    fn compile(&self, target: &Path) -> miette::Result<Output> {
        let mut clang = Command::new(&self.clang);
        clang
            .args(flags::language(&self.std, &self.device_libs))
            .args(flags::target(self.code_object_version))
            .arg(flags::OPTIMISATION)
            .args(self.define.iter().map(|define| format!("-D{define}")));
        for folder in &self.include {
            clang.arg("-I").arg(folder);
        }
        clang.args(&self.options).arg(&self.file).arg("-o").arg(target);
        match clang.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(miette!(
                help = "on Debian: apt install clang-19 lld-19 rocm-device-libs (or name another clang with --clang)",
                "the compiler '{}' is not installed",
                self.clang.display()
            )),
            other => other.into_diagnostic().wrap_err_with(|| format!("can't start '{}'", self.clang.display())),
        }
    }

    fn failure(&self, log: &str, status: std::process::ExitStatus) -> miette::Report {
        let what = format!("'{}' was not compiled ({status})", self.file.display());
        // clang names the linker that it could not start.
        let linker_missing = log.lines().any(|line| line.contains("lld") && line.contains("unable to execute"));
        if linker_missing {
            miette!(help = "on Debian: apt install lld-19", "{what}: the linker is not installed")
        } else {
            miette!(help = "the compiler's messages are above", "{what}")
        }
    }
}
