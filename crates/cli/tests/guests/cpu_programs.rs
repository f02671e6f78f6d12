//! The built-in programs that use no GPU: OpenMP versions of workloads, and litmus tests.

use ::workloads::CPU_PROGRAMS;

use crate::{Ran, inside};

/// The names of the OpenMP programs.
fn openmp() -> Vec<&'static str> {
    let names: Vec<_> = CPU_PROGRAMS.iter().map(|program| program.name).filter(|name| name.ends_with("-omp")).collect();
    assert!(names.len() >= 6, "{names:?}");
    names
}

fn tiny(name: &str, arguments: &[&str]) -> Ran {
    inside(name, &[&["--", "--size", "tiny"], arguments].concat())
}

#[test]
fn every_openmp_program_is_right_with_any_number_of_threads() {
    for name in openmp() {
        for threads in ["1", "2", "5", "8"] {
            let Ran { code, out } = tiny(name, &["--threads", threads]);
            assert_eq!(code, Some(0), "{name} on {threads} threads: {out}");
            assert!(out.starts_with(&format!("{name} size ")) && out.contains(": right"), "{out}");
        }
    }
}

#[test]
fn an_openmp_program_computes_the_same_from_the_same_inputs_as_its_workload() {
    let told = |name: &str| {
        let Ran { code, out } = tiny(name, &["--break"]);
        assert_eq!(code, Some(1), "{name}: {out}");
        out.split(": wrong: ").nth(1).unwrap_or_else(|| panic!("{out}")).to_owned()
    };
    for name in openmp() {
        assert_eq!(told(name), told(name.trim_end_matches("-omp")), "{name}");
    }
}

#[test]
fn the_default_size_of_an_openmp_program_is_fit_for_a_timed_cpu() {
    for name in openmp() {
        let report: serde_json::Value = serde_json::from_str(&inside(name, &["--json"]).out).expect("it is JSON");
        let instructions = report["instructions"].as_u64().expect("instructions are counted");
        assert!((500_000..5_000_000).contains(&instructions), "{name} takes {instructions} instructions");
        assert_eq!(report["threads"], 4, "{name} runs on four threads unless told otherwise");
    }
}

#[test]
fn two_runs_of_an_openmp_program_are_the_same_to_the_last_instruction() {
    let run = || inside("bfs-omp", &["--json", "--", "--size", "tiny", "--threads", "4"]);
    assert_eq!(run(), run());
}

#[test]
fn no_litmus_test_sees_what_total_store_order_forbids() {
    let Ran { code, out } = inside("litmus", &["--", "all", "--runs", "200", "--seed", "3"]);
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(out.matches(": right: ").count(), 10, "{out}");
}

#[test]
fn the_relaxed_outcome_is_missed_where_instructions_are_whole() {
    // In functional runs, threads take turns: every run is an interleaving.
    let Ran { code, out } = inside("litmus", &["--", "SB", "--runs", "200", "--expect-relaxed"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.ends_with("SB: wrong: the relaxed outcome was not seen\n"), "{out}");
}

#[test]
fn a_forbidden_outcome_fails_a_litmus_test_and_a_relaxed_one_does_not() {
    for (test, code) in
        [("MP", 1), ("LB", 1), ("IRIW", 1), ("2+2W", 1), ("S", 1), ("SB+mfence", 1), ("SB", 0), ("R", 0)]
    {
        let ran = inside("litmus", &["--", test, "--runs", "20", "--break"]);
        assert_eq!(ran.code, Some(code), "{test}: {}", ran.out);
    }
}
