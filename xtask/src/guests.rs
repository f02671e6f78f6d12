//! Rebuilds the committed code objects and host programs, and compares them.
//!
//! Workloads ship with compiled kernels and host programs, so that running them needs no compiler. This task checks
//! that the binaries match their sources. `guests.lock` names the tools of the committed binaries: with these tools the
//! bytes must be equal. With other tools they may differ, and the workloads' own checks decide.

use std::{
    fs,
    num::NonZero,
    path::{Path, PathBuf},
};

use workloads::{ALL, Checked, Functional, Size, Workload, WorkloadError};

use crate::{clang, host_programs, sdk};

const LOCK_HEAD: &str = "\
# The tools with which the committed code objects and program files were built: `cargo xtask guests` compares bytes
# when yours are the same, and `cargo xtask guests --update` writes them and this file anew.
";

/// `guests [--update]`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let update = match arguments {
        [] => false,
        [flag] if flag == "--update" => true,
        _ => return Err("usage: cargo xtask guests [--update]".to_owned()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let lock = root.join("guests.lock");
    let tools = [clang::tools()?, host_programs::tools()?].concat();
    let same_tools = fs::read_to_string(&lock).is_ok_and(|text| text == lock_text(&tools));
    let scratch = Scratch::new("guests")?;

    let mut different = Vec::new();
    let mut wrong = Vec::new();
    for workload in ALL {
        // The workload's folder: its name in the spelling of Rust modules.
        let module = workload.name.replace('-', "_");
        let folder = root.join("crates/workloads/src").join(&module);
        let rebuilt = scratch.0.join(format!("{module}.hsaco"));
        let source = folder.join(format!("{module}.cl"));
        if !source.exists() {
            // The workload uses the kernels of another one.
            continue;
        }
        clang::compile(&source, &rebuilt, &[])?;
        let bytes = fs::read(&rebuilt).map_err(|e| format!("{}: {e}", rebuilt.display()))?;
        let committed = folder.join(format!("{module}.hsaco"));
        if fs::read(&committed).ok().as_ref() != Some(&bytes) {
            different.push(workload.name);
            if let Err(error) = self_check(workload, &bytes) {
                wrong.push(format!("{}: {error}", workload.name));
            } else if update {
                fs::write(&committed, &bytes).map_err(|e| format!("{}: {e}", committed.display()))?;
            }
        }
    }

    if !wrong.is_empty() {
        return Err(format!("rebuilt, these give wrong results:\n{}", wrong.join("\n")));
    }

    let (probes, rebuilt) = (root.join("crates/workloads/src/probes"), scratch.0.join("probes.hsaco"));
    clang::compile(&probes.join("probes.cl"), &rebuilt, &[])?;
    if differs(&rebuilt, &probes.join("probes.hsaco"), update)? {
        different.push("the probes of machines");
    }

    let (rebuilt, committed) = (scratch.0.join("libOpenCL.a"), root.join(sdk::COMMITTED));
    sdk::build(root, &scratch.0, &rebuilt)?;
    if differs(&rebuilt, &committed, update)? {
        different.push("the OpenCL library");
    }
    let (rebuilt, committed) = (scratch.0.join("libOpenCL.so.1"), root.join(sdk::COMMITTED_SHARED));
    sdk::build_shared(root, &rebuilt)?;
    if differs(&rebuilt, &committed, update)? {
        different.push("the shared OpenCL library");
    }

    // Host programs include the code objects and the library, so they are built from the committed ones, after the
    // updates above.
    for file in host_programs::FILES {
        let rebuilt = scratch.0.join("program.elf");
        file.build(root, &rebuilt)?;
        if !differs(&rebuilt, &root.join(file.committed), false)? {
            continue;
        }
        different.push(file.what);
        let wrong = file.self_check(&fs::read(&rebuilt).map_err(|e| format!("{}: {e}", rebuilt.display()))?);
        if !wrong.is_empty() {
            return Err(format!("rebuilt, of {} these give wrong results:\n{}", file.what, wrong.join("\n")));
        }
        differs(&rebuilt, &root.join(file.committed), update)?;
    }

    let (all, files) = (ALL.len(), host_programs::FILES.len());
    if update {
        fs::write(&lock, lock_text(&tools)).map_err(|e| format!("{}: {e}", lock.display()))?;
        let different = if different.is_empty() { "nothing".to_owned() } else { different.join(", ") };
        Ok(format!("guests: rewritten: {different}"))
    } else if different.is_empty() {
        Ok(format!("guests: {all} code objects and {files} program files rebuilt, byte for byte the same"))
    } else if same_tools {
        Err(format!("rebuilt with the tools of the committed files, these differ: {}", different.join(", ")))
    } else {
        let different = different.join(", ");
        Ok(format!("guests: other tools than guests.lock's; with other bytes but right results: {different}"))
    }
}

/// Whether a rebuilt file differs from the committed one; with `update`, the committed one is replaced.
fn differs(rebuilt: &Path, committed: &Path, update: bool) -> Result<bool, String> {
    let bytes = fs::read(rebuilt).map_err(|e| format!("{}: {e}", rebuilt.display()))?;
    let different = fs::read(committed).ok().as_ref() != Some(&bytes);
    if different && update {
        fs::write(committed, &bytes).map_err(|e| format!("{}: {e}", committed.display()))?;
    }
    Ok(different)
}

/// Runs a workload with another code object than the committed one.
fn self_check(workload: &Workload, object: &[u8]) -> Result<Checked, WorkloadError> {
    (workload.run)(Size::Tiny, &mut Functional::new(object, NonZero::<usize>::MIN)?)
}

fn lock_text(tools: &[(&str, String)]) -> String {
    let lines = tools.iter().map(|(tool, version)| format!("{tool} = \"{version}\"\n"));
    LOCK_HEAD.to_owned() + &lines.collect::<String>()
}

/// A temporary folder for the duration of a task.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(task: &str) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("cohesim-{task}-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
