//! Whole programs on machines, timed.

use std::{fs, process::Command, thread, time::Duration};

use ::workloads::ALL;

use crate::{Ran, ran, support::Folder};

fn cohesim(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    command.args(arguments);
    command
}

/// A workload at its tiny size on a machine.
fn tiny(name: &str, system: &str, options: &[&str]) -> Ran {
    let start = ["run", name, "--system", system];
    ran(&mut cohesim(&[&start, options, &["--", "--size", "tiny"]].concat()))
}

#[test]
fn every_workload_is_right_and_every_read_of_it() {
    for workload in ALL {
        let Ran { code, out } = tiny(workload.name, "skeleton", &["--check"]);
        assert_eq!(code, Some(0), "{}: {out}", workload.name);
        assert!(out.contains(": right"), "{out}");
    }
}

#[test]
fn a_workload_is_right_with_explicit_copies_and_refuses_pointers_that_the_machine_can_not_follow() {
    let with = |copies| {
        ran(&mut cohesim(&[
            "run", "kmeans", "--system", "skeleton", "--check", "--", "--size", "tiny", "--copies", copies,
        ]))
    };
    let Ran { code, out } = with("explicit");
    assert!(code == Some(0) && out.contains(": right"), "{out}");
    assert_eq!(with("none").code, Some(2), "there is no fine-grained shared memory");
}

/// With these latencies, a probe arrives after the flush of its line.
#[test]
fn a_kernel_completes_in_a_hierarchy_of_memories_with_a_slow_wire_to_its_second_level_cache() {
    for latency in ["46 ns", "500 ns"] {
        let far = format!("wires.l1_l2.latency={latency}");
        let Ran { code, out } = tiny("histogram", "mini-nmoesi", &["--set", &far]);
        assert!(code == Some(0) && out.contains(": right"), "{latency}: {out}");
    }
}

/// Workloads with one launch, with many, with atomic accesses, with barriers, and with divergent control flow.
const HANDFUL: [&str; 5] = ["matmul", "bitonic-sort", "histogram", "reduction", "bfs"];

#[test]
fn threads_change_no_statistic_and_no_instruction() {
    for name in HANDFUL {
        let results = ["1", "2"].map(|threads| {
            let folder = Folder::new(&format!("threads-{threads}-{name}"));
            let out = folder.file("");
            let Ran { code, out } = tiny(name, "r9nano", &["--json", "--threads", threads, "--out", &out]);
            assert_eq!(code, Some(0), "{name}: {out}");
            let stats = fs::read(folder.file("stats.json")).expect("it has been written");
            (stats, out)
        });
        assert!(results[0] == results[1], "{name}: two threads give other results");
    }
}

#[test]
fn the_report_on_a_stuck_machine_names_the_elements_that_wait_and_what_they_wait_for() {
    let mut command = cohesim(&["run", "vecadd", "--system", "skeleton", "--set", "gpu.compute_unit.line_slots=2"]);
    let output = command.args(["--", "--size", "tiny"]).output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("the machine stopped: deadlock"), "{said}");
    assert!(said.contains("cu0.line_slots"), "{said}");
}

#[test]
fn an_interrupted_run_reports_what_is_known_so_far() {
    let mut command = cohesim(&["run", "matmul", "--system", "skeleton", "--", "--size", "512"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("the command was built");
    // If the signal came before the program starts, it would simply be killed.
    thread::sleep(Duration::from_millis(1500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    let output = child.wait_with_output().expect("it is ours");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
}

#[test]
fn a_time_limit_ends_a_kernel_too() {
    let mut command = cohesim(&["run", "matmul", "--system", "skeleton", "--max-time", "5ms", "--", "--size", "256"]);
    let output = command.output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(128 + 24), "{said}");
    assert!(said.contains("stopped after 5 ms of simulated time"), "{said}");
}

/// A driver call that allocates 16 MiB takes the kernel more than a millisecond.
#[test]
fn a_time_limit_ends_a_program_on_cores_too() {
    let program = ["--", "--size", "2048", "--copies", "none"];
    let arguments = [&["run", "needleman-wunsch", "--system", "apu-c-l3", "--max-time", "2ms"][..], &program].concat();
    let output = cohesim(&arguments).output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(128 + 24), "{said}");
    assert!(said.contains("stopped after 2 ms of simulated time"), "{said}");
}

#[test]
fn options_of_other_modes_are_refused() {
    for (arguments, message) in [
        (&["run", "vecadd", "--gpus", "4"][..], "--gpus is for functional runs"),
        (&["run", "vecadd", "--functional", "--fast-forward", "kernel:2"], "cannot be used with"),
        (&["run", "vecadd", "--fast-forward", "kernel:0"], "kernels are counted from 1"),
        (&["run", "vecadd", "--fast-forward", "half"], "write kernel:N, roi or instructions:N"),
        (&["run", "vecadd", "--warm-up", "kernels:1"], "--fast-forward"),
        (
            &["run", "vecadd", "--fast-forward", "roi", "--warm-up", "kernels:1"],
            "--warm-up kernels:1: caches can't be warmed before roi",
        ),
        (&["run", "vecadd", "--system", "r9nanno"], "did you mean 'r9nano'"),
        (&["compare", "vecadd", "--systems", "skeleton,r9nanno"], "did you mean 'r9nano'"),
        (&["run", "vecadd", "--set", "gpu.l2.siez=1MiB"], "did you mean 'size'"),
    ] {
        let output = cohesim(arguments).output().expect("the command was built");
        let said = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
        assert!(!output.status.success() && words.join(" ").contains(message), "{arguments:?}: {said}");
    }
}

#[test]
fn machines_are_compared_with_the_first() {
    let folder = Folder::new("compare");
    let out = folder.file("");
    let arguments = ["compare", "matmul", "--json", "--systems", "skeleton,r9nano", "--out", &out];
    // Large enough that r9nano's 3,600 cycles per launch cost less than its 64 compute units gain.
    let Ran { code, out } = ran(cohesim(&arguments).args(["--", "--size", "128"]));
    assert_eq!(code, Some(0), "{out}");
    let comparison: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    let runs = comparison["runs"].as_array().expect("a list");
    assert_eq!((runs[0]["system"].as_str(), runs[0]["speedup"].as_f64()), (Some("skeleton"), Some(1.0)));
    assert!(runs[1]["kernel_speedup"].as_f64() > Some(1.0), "64 compute units are faster than one: {out}");
    assert_eq!(folder.names(), ["comparison.html", "comparison.json", "r9nano", "skeleton"]);
}

/// Runs a workload that launches six kernels and reads a result after each.
fn short(system: &str, options: &[&str]) -> Ran {
    ran(&mut cohesim(&[&["run", "bfs", "--system", system], options, &["--", "--size", "256"]].concat()))
}

/// The fast-forward and the number of kernels in a run's JSON report.
fn forwarded(system: &str, options: &[&str]) -> (serde_json::Value, u64) {
    let Ran { code, out } = short(system, &[&["--json"], options].concat());
    assert_eq!(code, Some(0), "{out}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    let launches = report["summary"]["kernels"].as_array().expect("a list").iter();
    let launches = launches.map(|kernel| kernel["launches"].as_u64().expect("a count")).sum();
    assert_eq!(report["fast_forward"], report["summary"]["fast_forward"]);
    (report["fast_forward"].clone(), launches)
}

#[test]
fn a_fast_forward_is_said_in_every_report() {
    let folder = Folder::new("forwarded");
    let options = ["--fast-forward", "kernel:4", "--warm-up", "kernels:2", "--out", &folder.file("")];
    let Ran { code, out } = short("apu-c-l3", &options);
    assert_eq!(code, Some(0), "{out}");
    let said = "to kernel:4, with caches warmed by kernels:2; before it, without a timing model:";
    let text = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text(&out).contains(said), "{out}");
    let read = |name: &str| fs::read_to_string(folder.file(name)).expect("it has been written");
    assert!(text(&read("report.html")).contains(said));
    for name in ["run.json", "summary.json"] {
        let file: serde_json::Value = serde_json::from_str(&read(name)).expect("it is JSON");
        let said = &file["fast_forward"];
        assert_eq!((&said["to"], &said["warm_up"]), (&"kernel:4".into(), &"kernels:2".into()), "{name}");
        assert_eq!((&said["reached"], &said["kernels"]), (&true.into(), &1.into()), "{name}");
    }
    assert!(read("stats.json").contains("\"warm-up\""), "what warmed the caches is kept apart");
}

#[test]
fn kernels_of_a_machine_without_cores_are_forwarded_too() {
    let (none, all) = forwarded("skeleton", &[]);
    assert!(none.is_null(), "{none}");
    let (said, launches) = forwarded("skeleton", &["--fast-forward", "kernel:4"]);
    assert_eq!((&said["reached"], &said["kernels"], launches), (&true.into(), &3.into(), all - 3));
    let (said, launches) = forwarded("skeleton", &["--fast-forward", "kernel:4", "--warm-up", "kernels:2"]);
    assert_eq!((&said["kernels"], launches), (&1.into(), all - 3), "the warm-up is not measured");
    let (said, launches) = forwarded("skeleton", &["--fast-forward", "roi", "--check"]);
    assert_eq!((&said["kernels"], launches), (&0.into(), all));
}

#[test]
fn a_point_that_is_never_reached_is_said_with_the_exit_code_of_the_program() {
    for system in ["skeleton", "apu-c-l3"] {
        let arguments = ["run", "vecadd", "--system", system, "--fast-forward", "kernel:99", "--json"];
        let output = cohesim(&arguments).args(["--", "--size", "tiny"]).output().expect("the command was built");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("nothing was measured: it ended before kernel:99"), "{said}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!((output.status.code(), &report["fast_forward"]["reached"]), (Some(0), &false.into()), "{said}");
        assert_eq!(report["simulated_fs"], 0, "{system}");
    }
}

#[test]
fn machines_are_compared_from_the_point_on() {
    let arguments = ["compare", "bfs", "--systems", "skeleton,apu-c-l3", "--fast-forward", "kernel:5"];
    let Ran { code, out } = ran(cohesim(&arguments).args(["--", "--size", "256"]));
    assert_eq!(code, Some(0), "{out}");
    for system in ["skeleton", "apu-c-l3"] {
        assert!(out.contains(&format!("{system}: fast-forward to kernel:5, with cold caches")), "{out}");
    }
}
