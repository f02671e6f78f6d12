//! Sweeps as Slurm job arrays: one array task for each run that is not done. Tasks share the store, which must lie on a
//! file system that all nodes can access.

use super::{file::Slurm, store::Store};
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use std::{fs, path::Path, process::Command};

/// Submits the runs of these numbers; returns the job's number.
pub fn submit(store: &Store, id: &str, numbers: &[usize], how: &Slurm) -> miette::Result<String> {
    let folder = store.sweep(id);
    let own = std::env::current_exe().into_diagnostic().wrap_err("can't find this program's own file")?;
    // Slurm limits the indices of array tasks (MaxArraySize), so tasks count from 0 and look up their run in a file.
    let list: String = numbers.iter().map(|number| format!("{number}\n")).collect();
    crate::files::write(&folder.join("pending"), list.as_bytes())?;
    let line = format!(
        "#!/bin/sh\nnumber=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {pending})\n\
         exec {own} sweep task {file} --number \"$number\" --store {store}\n",
        pending = quoted(&folder.join("pending")),
        own = quoted(&own),
        file = quoted(&folder.join("sweep.toml")),
        store = quoted(store.path()),
    );
    let script = folder.join("task.sh");
    crate::files::write(&script, line.as_bytes())?;
    let mut command = Command::new("sbatch");
    let at_once = how.at_once.map_or(String::new(), |most| format!("%{most}"));
    command.args(["--parsable", "--requeue", "--open-mode=append", "--job-name", &format!("cohesim-{id}")]);
    command.arg(format!("--array=0-{}{at_once}", numbers.len() - 1));
    command.arg(format!("--output={}", folder.join("task-%A_%a.log").display()));
    let options = [("partition", &how.partition), ("time", &how.time), ("mem", &how.memory)];
    command.args(options.iter().filter_map(|(name, value)| value.as_ref().map(|value| format!("--{name}={value}"))));
    let done = command
        .arg(&script)
        .output()
        .map_err(|error| miette!(help = "is Slurm installed here?", "sbatch can't be started: {error}"))?;
    if !done.status.success() {
        bail!("sbatch refuses the job: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    let job = String::from_utf8_lossy(&done.stdout).trim().split(';').next().unwrap_or_default().to_owned();
    let mut jobs = fs::read_to_string(folder.join("jobs")).unwrap_or_default();
    jobs.push_str(&format!("{job}\n"));
    crate::files::write(&folder.join("jobs"), jobs.as_bytes())?;
    Ok(job)
}

/// Cancels the jobs of a sweep, if it has any.
pub fn cancel(store: &Store, id: &str) -> miette::Result<()> {
    let Ok(jobs) = fs::read_to_string(store.sweep(id).join("jobs")) else { return Ok(()) };
    for job in jobs.lines() {
        // Cancelling a job that has ended does nothing.
        _ = Command::new("scancel").arg(job).output().into_diagnostic().wrap_err("scancel can't be started")?;
    }
    Ok(())
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
