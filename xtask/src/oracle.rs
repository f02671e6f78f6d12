//! Checks the workloads' kernels against their references without cohesim: PoCL runs the kernels.
//!
//! If a workload fails on the simulated GPU, this task shows whether the workload or the simulator is wrong.

use workloads::{ALL, Size, Workload};

use crate::opencl::Pocl;

/// Runs all workloads, or the named ones, on PoCL at a size: `[SIZE] [NAME]...`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let (size, names) = match arguments.split_first() {
        Some((first, rest)) if workloads::find(first).is_none() => (first.parse()?, rest),
        _ => (Size::Tiny, arguments),
    };
    let pocl = Pocl::open().map_err(|e| e.to_string())?;
    let mut wrong = Vec::new();
    let mut right = 0;
    let wanted = |w: &&Workload| names.is_empty() || names.iter().any(|n| n == w.name);
    // PoCL runs workgroups one after another, so workgroups must not wait for each other.
    for workload in ALL.iter().filter(wanted).filter(|w| !w.waits_across_workgroups()) {
        let result = pocl.build(workload.source).map_err(Into::into).and_then(|mut gpu| (workload.run)(size, &mut gpu));
        match result {
            Ok(checked) => {
                right += 1;
                println!("{:17} {:9} values, worst {:.2} ulps", workload.name, checked.values, checked.worst_ulps);
            }
            Err(error) => wrong.push(format!("{}: {error}", workload.name)),
        }
    }
    if wrong.is_empty() {
        Ok(format!("oracle: {right} workloads agree with their references on PoCL at size {size}"))
    } else {
        Err(wrong.join("\n"))
    }
}

/// PoCL for a test; `None`, with a message, if it is not installed. With `COHESIM_REQUIRE_POCL` set, as in continuous
/// integration, its absence is a failure.
#[cfg(test)]
pub fn pocl_for_test(test: &str) -> Option<Pocl> {
    use std::io::Write;

    match Pocl::open() {
        Ok(pocl) => Some(pocl),
        Err(why) if std::env::var_os("COHESIM_REQUIRE_POCL").is_some() => panic!("{test}: {why}"),
        Err(why) => {
            // Written directly to standard error: the test harness hides what a passing test prints.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_agrees_with_its_reference_on_pocl() {
        if pocl_for_test("every_workload_agrees_with_its_reference_on_pocl").is_some() {
            run(&["tiny".to_owned()]).unwrap();
        }
    }
}
