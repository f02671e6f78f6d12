//! Whole programs on cores whose stores are performed late; the results must be right.

mod caches;
mod cores;
#[path = "../support/kept.rs"]
mod kept;

use cores::{Run, run};
use engine::Time;
use os::{
    End,
    forward::{FastForward, Point, WarmUp},
    opencl::PolicyKind,
};

/// Programs of `os` that check themselves.
const GUESTS: &[u8] = include_bytes!("../../../os/tests/guests/guests");
/// The built-in workloads.
const WORKLOADS: &[u8] = include_bytes!("../../../workloads/guest/workloads.elf");

#[test]
fn a_program_prints_on_one_core() {
    let ran = run(GUESTS, &["hello"], Run::on(1));
    assert!(ran.totals.page_faults > 0 && ran.totals.system_calls > 0);
    assert_eq!(ran.good(), "hello, world\n");
}

#[test]
fn floats_print_with_stores_that_are_forwarded_in_part() {
    for eager in [5, 100] {
        let how = Run { eager, ..Run::on(1) };
        assert_eq!(run(GUESTS, &["floats"], how).good(), "0.333333333333333 2.5 0x1.2688b70e62bp-1030\n");
    }
}

#[test]
fn signals_are_delivered_as_linux_does() {
    for cores in [1, 2] {
        assert_eq!(run(GUESTS, &["signals"], Run::on(cores)).good(), "signals as they should be\n");
    }
}

#[test]
fn a_handler_of_sigsegv_can_open_pages() {
    assert_eq!(run(GUESTS, &["unprotect"], Run::on(1)).good(), "192 reads and 192 writes repaired\n");
}

#[test]
fn mappings_behave_as_linux_has_them() {
    assert_eq!(run(GUESTS, &["memory"], Run::on(2)).good(), "memory as it should be\n");
}

#[test]
fn pipes_carry_bytes_between_threads() {
    for cores in [1, 3] {
        assert_eq!(run(GUESTS, &["pipes"], Run::on(cores)).good(), "through a copy\npipes as they should be\n");
    }
}

#[test]
fn a_locked_access_across_two_lines_ends_in_sigbus() {
    let ran = run(GUESTS, &["split"], Run::on(1));
    let End::Killed { signal: 7, report } = &ran.end else { panic!("{}", ran.end) };
    assert!(report.contains("a locked access must not cross the border of a line"), "{report}");
}

#[test]
fn threads_that_all_wait_are_a_deadlock_on_cores_too() {
    let ran = run(GUESTS, &["deadlock"], Run::on(2));
    assert!(matches!(ran.end, End::Deadlock { .. }), "{}", ran.end);
}

#[test]
fn a_workload_is_right_on_any_number_of_cores_and_under_either_policy() {
    for cores in 1..=4 {
        let policy = if cores % 2 == 0 { PolicyKind::Memcpy } else { PolicyKind::Shared };
        let how = Run { policy: Some(policy), seed: cores as u64, ..Run::on(cores) };
        let out = run(WORKLOADS, &["vecadd", "--size", "1024"], how).good();
        assert!(out.contains("vecadd"), "{out}");
    }
}

#[test]
fn more_threads_than_cores_take_turns() {
    let how = Run { slice: Time::micros(5), ..Run::on(2) };
    assert_eq!(run(GUESTS, &["threads"], how).good(), "sum 80000\n");
}

#[test]
fn gpus_of_the_model_find_arguments_in_pages_of_the_process() {
    let how = Run { policy: Some(PolicyKind::Shared), inside: true, eager: 10, ..Run::on(2) };
    let ran = run(WORKLOADS, &["vecadd", "--size", "1024", "--no-check"], how);
    assert!(ran.kernels > 0 && ran.totals.time > Time::micros(10));
    ran.good();
}

#[test]
fn cores_of_the_model_run_programs_too() {
    let real = |cores| Run { real: true, ..Run::on(cores) };
    assert_eq!(run(GUESTS, &["hello"], real(1)).good(), "hello, world\n");
    assert_eq!(run(GUESTS, &["memory"], real(2)).good(), "memory as it should be\n");
    assert_eq!(run(GUESTS, &["unprotect"], real(1)).good(), "192 reads and 192 writes repaired\n");
    assert_eq!(run(GUESTS, &["pipes"], real(3)).good(), "through a copy\npipes as they should be\n");
}

#[test]
fn hardware_threads_share_a_core() {
    let how = Run { real: true, threads: 2, ..Run::on(2) };
    assert_eq!(run(GUESTS, &["pipes"], how).good(), "through a copy\npipes as they should be\n");
    assert_eq!(run(GUESTS, &["memory"], how).good(), "memory as it should be\n");
    assert_eq!(run(GUESTS, &["signals"], how).good(), "signals as they should be\n");
}

#[test]
fn hardware_threads_of_a_core_may_store_equal_bytes_to_one_place() {
    let how = Run { real: true, threads: 2, ..Run::on(1) };
    assert_eq!(run(GUESTS, &["equal"], how).good(), "7 199 199 199\n");
}

#[test]
fn a_workload_is_right_on_cores_of_the_model() {
    let how = Run { real: true, policy: Some(PolicyKind::Shared), ..Run::on(3) };
    assert_eq!(run(WORKLOADS, &["vecadd", "--size", "1024"], how), run(WORKLOADS, &["vecadd", "--size", "1024"], how));
    run(WORKLOADS, &["vecadd", "--size", "1024"], how).good();
}

/// Threads wait for each other, signals are pending, pages are protected, pipes are half full.
#[test]
fn a_program_continues_timed_from_any_point() {
    for (name, cores) in [("pipes", 3), ("signals", 2), ("memory", 2), ("unprotect", 1), ("threads", 2)] {
        let plain = run(GUESTS, &[name], Run::on(cores));
        for quarter in 1..=3 {
            let point = Point::Instructions(plain.totals.instructions * quarter / 4);
            let forward = FastForward::new(point, WarmUp::Cold).ok();
            let ran = run(GUESTS, &[name], Run { forward, ..Run::on(cores) });
            assert!(ran.totals.forwarded.is_some_and(|forwarded| forwarded.reached), "{name}");
            assert!(ran.totals.time > Time::ZERO && ran.totals.time < plain.totals.time, "{name}");
            assert_eq!(ran.good(), plain.out, "{name}");
        }
    }
}

#[test]
fn a_program_that_ends_before_the_point_ends_as_it_would() {
    let forward = FastForward::new(Point::Instructions(1 << 40), WarmUp::Cold).ok();
    let ran = run(GUESTS, &["split"], Run { forward, ..Run::on(1) });
    assert_eq!((&ran.end, ran.totals.time), (&End::Exited { code: 0 }, Time::ZERO), "nothing stops the functional run");
    assert!(ran.totals.forwarded.is_some_and(|forwarded| !forwarded.reached));
    let ran = run(GUESTS, &["deadlock"], Run { forward, ..Run::on(1) });
    assert!(matches!(ran.end, End::Deadlock { .. }), "{}", ran.end);
}

#[test]
fn a_run_is_the_same_every_time_and_differs_by_its_delays() {
    let with = |seed| run(GUESTS, &["pipes"], Run { seed, ..Run::on(3) });
    assert_eq!(with(7), with(7));
    assert_ne!(with(7).totals.time, with(8).totals.time);
}
