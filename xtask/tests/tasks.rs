//! Tests of the command line of `xtask`.

use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("it was built with this test")
}

#[test]
fn cases_run_in_workers_and_are_counted() {
    let output = xtask(&["fuzz", "--target", "code-object", "--seed", "5", "--cases", "3"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("fuzz: 3 cases without a failure, 0 failed"), "{text}");
    let row = text.lines().find(|line| line.starts_with("code-object")).expect("the target has a row");
    assert_eq!(row.split_whitespace().last(), Some("8"), "the next seed: {row}");
}

#[test]
fn a_target_that_does_not_exist_is_answered_with_those_that_do() {
    let output = xtask(&["fuzz", "--target", "nothing", "--cases", "1"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("machine-keys, elf, code-object"));
}
