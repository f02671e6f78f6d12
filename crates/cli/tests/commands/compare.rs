//! `cohesim compare` is interrupted and continues.

use crate::support::Folder;
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

/// A comparison of two machines, one after the other, in a folder.
fn compare(out: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    command.args(["compare", "matmul", "--systems", "r9nano,skeleton", "--jobs", "1", "--out", out]);
    command.args(["--", "--size", "192", "--no-check"]);
    command
}

#[test]
fn an_interrupted_comparison_continues_and_equals_one_that_was_not_interrupted() {
    let folder = Folder::new("interrupted");
    let (broken, whole) = (folder.file("broken"), folder.file("whole"));
    let mut first = compare(&broken).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("cohesim starts");
    let mut told = BufReader::new(first.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("1 of 2 machines are done") {
        line.clear();
        assert!(told.read_line(&mut line).expect("it is text") > 0, "the comparison ends before it is interrupted");
    }
    let signalled = Command::new("kill").args(["-INT", &first.id().to_string()]).status().expect("there is a kill");
    assert!(signalled.success());
    let mut rest = String::new();
    told.read_to_string(&mut rest).expect("it is text");
    assert!(!first.wait().expect("it ends").success());
    let said: Vec<&str> = rest.split_whitespace().filter(|word| *word != "│").collect();
    assert!(said.join(" ").contains("interrupted after 1 of 2 machines: the same command continues"), "{rest}");
    let unfinished = format!("{broken}/unfinished.toml");
    let before = fs::read_to_string(format!("{broken}/r9nano/run.json")).expect("what was done is kept");

    let second = compare(&broken).output().expect("cohesim starts");
    assert!(second.status.success() && String::from_utf8_lossy(&second.stderr).contains("r9nano: kept from before"));
    assert_eq!(
        fs::read_to_string(format!("{broken}/r9nano/run.json")).expect("it is kept"),
        before,
        "it is not run again"
    );
    assert!(fs::metadata(unfinished).is_err());
    let undisturbed = compare(&whole).output().expect("cohesim starts");
    assert!(undisturbed.stdout == second.stdout && !second.stdout.is_empty());
    for name in ["comparison.json", "comparison.html", "r9nano/stats.json", "skeleton/stats.json"] {
        let [broken, whole] =
            [&broken, &whole].map(|folder| fs::read(format!("{folder}/{name}")).expect("it was written"));
        assert!(broken == whole, "{name} differs");
    }
}
