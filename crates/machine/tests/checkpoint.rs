//! Checkpoints: a run that is restored is the run that wrote the checkpoint.

#[allow(dead_code, reason = "other tests need more of it")]
mod support;

use engine::{Outcome, Run};
use machine::{
    Machine, Options,
    checkpoint::{Checkpoint, Checkpoints, Parts},
    program::Finish,
};
use os::{End, StartError};
use std::{path::PathBuf, sync::Arc};
use support::{WORKLOADS, run_in_parts};

/// A folder for one test, deleted when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cohesim-checkpoint-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is room for it");
        Self(path)
    }

    fn file(&self, kernel: u64) -> PathBuf {
        self.0.join(format!("kernel-{kernel}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn machine(name: &str, changes: &[&str]) -> Machine {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).expect("the machine is sound")
}

/// Checkpoints before these kernels, in files of this folder.
fn writes(folder: &Folder, kernels: &[u64]) -> Checkpoints {
    let before = kernels.iter().map(|kernel| (*kernel, folder.file(*kernel))).collect();
    Checkpoints { before, build: "test".into(), ..Checkpoints::default() }
}

fn restores(folder: &Folder, kernel: u64) -> Checkpoints {
    let restored = Checkpoint::read(&folder.file(kernel), "test").expect("it was written");
    Checkpoints { restored: Some(Arc::new(restored)), build: "test".into(), ..Checkpoints::default() }
}

type Ran = Result<(Finish, Run, Parts, String), StartError>;

fn ran(machine: &Machine, words: &[&str], checkpoints: Checkpoints, threads: usize) -> Ran {
    let how = Options { threads, check: true, checkpoints, ..Options::default() };
    run_in_parts(machine, WORKLOADS, words, how)
}

fn good(machine: &Machine, words: &[&str], checkpoints: Checkpoints, threads: usize) -> (Finish, Run, Parts, String) {
    let (finish, run, parts, out) = ran(machine, words, checkpoints, threads).expect("the program can be run");
    let end = (&run.outcome, &finish.end);
    assert_eq!(end, (&Outcome::Finished, &End::Exited { code: 0 }), "{} {words:?}: {out}", machine.name);
    (finish, run, parts, out)
}

/// Programs whose host reads results after each kernel, enqueues all kernels at once, uses several programs and buffers.
const PROGRAMS: [&[&str]; 3] =
    [&["bfs", "--size", "256"], &["bitonic-sort", "--size", "tiny"], &["kmeans", "--size", "tiny"]];

fn restored_is_whole(machine: &Machine, words: &[&str], kernels: &[u64]) {
    let folder = Folder::new(&format!("{}-{}", machine.name, words[0]));
    let what = format!("{} {words:?}", machine.name);
    let (_, plain, _, said) = good(machine, words, Checkpoints::default(), 1);
    let (finish, whole, parts, out) = good(machine, words, writes(&folder, kernels), 1);
    assert_eq!((&out, &parts.drained[..]), (&said, kernels), "{what}: the result does not depend on where it drained");
    // Cold caches cost misses, and on a machine with tiny caches they save evictions, which may be more.
    assert!(whole.end != plain.end, "{what}: caches were cold after each of {kernels:?}");
    for kernel in kernels {
        // The restored run writes the later checkpoints again, to other files.
        let again = Folder::new(&format!("again-{}-{}", machine.name, words[0]));
        let rest: Vec<u64> = kernels.iter().copied().filter(|other| other > kernel).collect();
        let checkpoints = Checkpoints { before: writes(&again, &rest).before, ..restores(&folder, *kernel) };
        // The whole run had one thread, so one thread writes last: checkpoints keep how often contexts ran.
        for threads in [2, 1] {
            let (ended, run, drained, rest) = good(machine, words, checkpoints.clone(), threads);
            // How often contexts ran (`Run::events`) depends on the cut into partitions, and so on the number of threads.
            let same = (&run.outcome, run.end, &run.regions) == (&whole.outcome, whole.end, &whole.regions);
            assert!(same, "{what}, from kernel {kernel}, {threads} threads: other statistics");
            assert_eq!((&ended, &drained), (&finish, &parts), "{what}, from kernel {kernel}");
            assert!(out.ends_with(&rest), "{what}: printed before the checkpoint is not printed again");
        }
        for other in rest {
            let files = [&folder, &again].map(|folder| std::fs::read(folder.file(other)).expect("it was written"));
            assert!(files[0] == files[1], "{what}: checkpoints of a restored run are those of the whole");
        }
    }
}

#[test]
fn a_restored_run_is_the_run_that_wrote_the_checkpoint() {
    for words in PROGRAMS {
        restored_is_whole(&machine("r9nano", &["gpu.arrays=1"]), words, &[2, 4]);
        restored_is_whole(&machine("skeleton", &[]), words, &[3]);
    }
}

#[test]
fn caches_of_several_gpus_write_back_before_a_checkpoint() {
    let small = ["gpus=2", "gpu.arrays=1", "gpu.units_per_array=2"];
    for name in ["multi-shared", "multi-pcie", "multi-nvlink", "halcone-sm-wt", "halcone-gtsc", "halcone-rdma-wb-hmg"] {
        restored_is_whole(&machine(name, &small), PROGRAMS[0], &[3]);
    }
}

#[test]
fn another_machine_continues_cold_and_counts_only_what_follows() {
    let folder = Folder::new("cold");
    let (made, other) =
        (machine("r9nano", &["gpu.arrays=1"]), machine("r9nano", &["gpu.arrays=2", "gpu.l2.size=256KiB"]));
    let words = PROGRAMS[0];
    let (_, whole, _, out) = good(&made, words, writes(&folder, &[4]), 1);
    let refused = ran(&other, words, restores(&folder, 4), 1).expect_err("it is another machine").to_string();
    assert!(refused.contains("with other keys") && refused.contains("--cold"), "{refused}");
    let named = ran(&machine("skeleton", &[]), words, restores(&folder, 4), 1).expect_err("it is another").to_string();
    assert!(named.contains("made on machine r9nano, and this is skeleton"), "{named}");
    let cold = Checkpoints { cold: true, ..restores(&folder, 4) };
    let (finish, run, parts, rest) = good(&other, words, cold, 1);
    assert!(out.ends_with(&rest) && run.end < whole.end && finish.totals.time < whole.end);
    assert_eq!((&parts.drained[..], parts.made_on.as_deref()), (&[4][..], Some("r9nano")));
    let launches = |run: &Run| run.regions.iter().filter(|region| region.name != "start").count();
    assert!(launches(&run) < launches(&whole), "kernels before the checkpoint are not counted");
}

#[test]
fn what_can_not_be_is_refused_with_the_reason() {
    let folder = Folder::new("refused");
    let small = machine("skeleton", &[]);
    let refused = |machine: &Machine, words: &[&str], checkpoints: Checkpoints| {
        ran(machine, words, checkpoints, 1).expect_err("it is refused").to_string()
    };
    let words = PROGRAMS[0];
    let cores = refused(&machine("apu-c-l3", &[]), words, writes(&folder, &[2]));
    assert!(cores.contains("host is outside"), "{cores}");
    let (.., parts, _) = good(&small, words, writes(&folder, &[2, 1000]), 1);
    assert_eq!(parts.drained, [2], "the program has fewer kernels");
    assert!(!folder.file(1000).exists());
    let past = Checkpoints { before: writes(&folder, &[2]).before, ..restores(&folder, 2) };
    assert!(refused(&small, words, past).contains("made before kernel 2, so none can be written before kernel 2"));
    let other = Checkpoints { program: vec![1], ..restores(&folder, 2) };
    assert!(refused(&small, words, other).contains("a different program"));
    let nowhere = Checkpoints { before: vec![(2, "/no-such-folder/file".into())], ..writes(&folder, &[]) };
    assert!(refused(&small, words, nowhere).contains("can't be written"));
}
