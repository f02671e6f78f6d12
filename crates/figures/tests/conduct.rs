//! An experiment from its plan to its findings: interrupted, damaged and resumed.

use engine::Monitor;
use figures::{
    Conductor, Event, Experiment, Findings, Job, Missing, Options, Plan, RunError, State, Store, conduct, recall,
};
use std::{fs, num::NonZero, path::PathBuf, sync::Mutex};

static EXPERIMENT: Experiment = Experiment {
    name: "tiny",
    about: "two threads over one",
    source: "nowhere",
    plan: |_| Plan {
        jobs: vec![job(1), job(2), Job::new("no-such-machine", "write", "")],
        native: Vec::new(),
        alone: false,
        notes: Vec::new(),
        rows: Box::new(|results| {
            let runs = results.get(&job(1)).zip(results.get(&job(2)));
            runs.map(|(one, two)| figures::Row::new("speedup", 2.0, two.speedup_over(one))).into_iter().collect()
        }),
    },
};

/// Half of the work on the GPU, half on threads of the CPU.
fn job(threads: u32) -> Job {
    let arguments = format!("--size 2048 --copies none --cpu-share 50 --chunk 256 --threads {threads}");
    Job::new("apu-c-l3", "write", &arguments).with(&["cpu.cores=2".into(), "system.slices=2".into()])
}

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("cohesim-figures-{name}-{}", std::process::id())))
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).expect("the store has been made");
        entries.map(|entry| entry.expect("it can be read").path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that failed early has no folder to remove.
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Conducts the experiment; also returns the numbers of executed runs and of stored results.
fn conducted(folder: &Folder, simulator: &[u8], threads: usize) -> (Findings, Vec<Missing>, (usize, usize)) {
    let store = Store::new(&folder.0, simulator);
    let counts = Mutex::new((0, 0));
    let tell = |event: Event| {
        let mut counts = counts.lock().expect("no thread panics while it counts");
        match event.state {
            State::Done(_) => counts.0 += 1,
            State::Kept => counts.1 += 1,
            State::Begun | State::Damaged | State::Failed(_) => {}
        }
    };
    let threads = NonZero::new(threads).expect("not none");
    let conductor = Conductor { store: Some(&store), threads, monitor: &Monitor::default(), tell: &tell };
    let (findings, missing) = conduct(&EXPERIMENT, Options::default(), &conductor).expect("the store can be written");
    (findings, missing, counts.into_inner().expect("no thread panics while it counts"))
}

#[test]
fn an_experiment_is_resumed_with_the_same_findings() {
    let folder = Folder::new("resumed");
    let (first, missing, counts) = conducted(&folder, b"a", 1);
    assert_eq!(counts, (2, 0), "{missing:?}");
    let [row] = first.rows.as_slice() else { panic!("one row: {first:?}") };
    assert!(row.measured > 0.0 && row.ratio == Some(row.measured / 2.0), "{row:?}");
    assert!(
        matches!(missing.as_slice(), [Missing { error: RunError::NoMachine(name), .. }] if name == "no-such-machine")
    );
    assert!(first.notes[0].contains("no-such-machine") && first.notes[0].contains("left out"), "{:?}", first.notes);

    let (again, _, counts) = conducted(&folder, b"a", 2);
    assert_eq!(((0, 2), &first), (counts, &again));

    // Stored results are found without running anything.
    let recalled = |simulator: &[u8]| recall(&EXPERIMENT, Options::default(), &Store::new(&folder.0, simulator));
    let kept = recalled(b"a");
    assert_eq!((&kept.findings.rows, kept.runs, kept.missing), (&first.rows, 3, 1));
    let nothing = recalled(b"another simulator");
    assert_eq!((nothing.findings.rows.len(), nothing.missing), (0, 3));

    let files = folder.files();
    assert_eq!(files.len(), 2);
    fs::write(&files[0], "{").expect("it can be damaged");
    let (repaired, _, counts) = conducted(&folder, b"a", 2);
    assert_eq!(((1, 1), &first), (counts, &repaired));

    let text = fs::read_to_string(&files[1]).expect("it is text");
    let (before, after) = text.split_once("\"region_fs\": ").expect("what was measured is in it");
    let changed = if after.starts_with('1') { "2" } else { "1" };
    fs::write(&files[1], format!("{before}\"region_fs\": {changed}{}", &after[1..])).expect("a digit can be changed");
    let (repaired, _, counts) = conducted(&folder, b"a", 2);
    assert_eq!(((1, 1), &first), (counts, &repaired));

    let (_, _, counts) = conducted(&folder, b"another simulator", 2);
    assert_eq!(counts, (2, 0));
}

#[test]
fn the_results_of_a_run_have_kernel_time_bytes_moved_and_counts() {
    let patterns = ["*.dispatcher.kernel_cycles.count", "no.such.*"];
    let job = Job::new("multi-pcie", "vecadd", "--size 1024 --no-check").with(&["gpus=1".into()]).counting(&patterns);
    let run = figures::run(&job, &Monitor::default()).expect("it ends well");
    assert!(0 < run.kernels_fs && run.kernels_fs < run.end_fs, "{run:?}");
    // Two vectors to the GPU, one back.
    assert_eq!((run.moved.get("copy"), run.moved_data()), (Some(&12288), 12288));
    assert!(run.links.values().any(|bytes| *bytes >= 8192), "{:?}", run.links);
    assert_eq!(run.counts, [(patterns[0].to_owned(), 1.0)].into());
}

#[test]
fn a_run_that_does_not_end_well_says_what_it_printed() {
    let error = figures::run(&Job::new("apu-c-l3", "write", "--size 0"), &Monitor::default()).unwrap_err();
    assert!(error.to_string().contains("must not be 0"), "{error}");
    let far = Job::new("r9nano", "write", "--size tiny").with(&["driver.policy=zero-copy".to_owned()]);
    let error = figures::run(&far, &Monitor::default()).unwrap_err();
    assert!(error.to_string().contains("zero-copy"), "{error}");
    let error = figures::run(&Job::new("apu-c-l3", "no-such-program", ""), &Monitor::default()).unwrap_err();
    assert!(matches!(error, RunError::NoProgram(_)), "{error}");
}
