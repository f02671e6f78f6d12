//! HALCONE's systems (`[halcone 4.1]`), small ones.

use std::process::Command;

use crate::{Ran, ran};

/// A program on one of the systems, with keys of it changed and every read checked.
fn command(system: &str, changes: &[&str], program: &str, size: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    command.args(["run", program, "--system", system, "--check"]);
    changes.iter().for_each(|change| _ = command.args(["--set", change]));
    command.args(["--", "--size", size]);
    command
}

fn on(system: &str, changes: &[&str], program: &str, size: &str) -> Ran {
    ran(&mut command(system, changes, program, size))
}

/// Compute units of two GPUs write what those of the other read before and after a barrier inside a kernel (`[halcone 4.3.2]`). Over RDMA
/// without coherence each line is read from its owner's L2.
#[test]
fn xtreme3_reads_stale_data_where_nothing_keeps_second_level_caches_coherent() {
    let systems = [
        ("halcone-rdma-wb-nc", false),
        ("halcone-rdma-wb-hmg", false),
        ("halcone-sm-wb-nc", true),
        ("halcone-sm-wt-nc", true),
        ("halcone-sm-wt", false),
        ("halcone-gtsc", false),
    ];
    for (system, stale) in systems {
        let Ran { code, out } = on(system, &["gpus=2", "gpu.arrays=2"], "xtreme3", "512x4x2");
        let (expected, said) = if stale { (1, "128 of 512 values are wrong") } else { (0, ": right") };
        assert!(code == Some(expected) && out.contains(said), "{system}: {out}");
    }
}

/// Over slow wires it takes long until a home's notice that it has dropped its lines arrives; meanwhile another GPU
/// could write to them.
#[test]
fn gpus_under_hmg_forget_what_the_host_has_changed_before_a_kernel_begins_on_any_of_them() {
    let small = ["gpu.arrays=1", "gpu.l2.banks=1", "fabric.bandwidth=200 MB/s"];
    let Ran { code, out } = on("halcone-rdma-wb-hmg", &small, "bitonic-sort", "4096");
    assert!(code == Some(0) && out.contains(": right"), "{out}");
}

/// A barrier of the whole grid would wait forever for workgroups that find no place.
#[test]
fn more_workgroups_than_can_be_resident_are_refused_where_a_grid_has_barriers() {
    let one_unit = ["gpus=1", "gpu.arrays=1", "gpu.units_per_array=1"];
    let output = command("halcone-sm-wt", &one_unit, "xtreme1", "1000x9x1").output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("9 workgroups wait for each other"), "{said}");
    let Ran { code, out } = on("halcone-sm-wt", &one_unit, "xtreme1", "1000x8x1");
    assert!(code == Some(0) && out.contains(": right"), "{out}");
}
