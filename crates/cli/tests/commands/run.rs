//! `cohesim run`.

use crate::support::{Folder, code, cohesim};
use std::path::Path;

/// Path of the guest programs of `os`'s tests.
fn guests() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../os/tests/guests/guests");
    path.to_str().expect("the path of the project is UTF-8").to_string()
}

#[test]
fn a_program_says_hello() {
    assert_eq!(cohesim(&["run", &guests(), "--functional", "--", "hello"]).result(), "hello, world\n");
}

#[test]
fn the_programs_exit_code_is_the_commands() {
    assert_eq!(code(&["run", &guests(), "--functional", "--", "arguments", "one", "two"]), 3);
    assert_eq!(code(&["run", &guests(), "--functional", "--", "crash"]), 128 + 11);
    let spin = ["run", &guests(), "--functional", "--max-instructions", "100000", "--", "spin"];
    assert_eq!(code(&spin), 128 + 24);
}

#[test]
fn variables_and_json() {
    let report = cohesim(&["run", &guests(), "--functional", "--json", "--env", "HOME=/nowhere", "--", "hello"]).json();
    assert_eq!((report["end"].as_str(), report["exit_code"].as_u64()), (Some("exited"), Some(0)));
    assert_eq!(report["stdout"], "hello, world\n");
    assert!(report["instructions"].as_u64() > Some(500));
}

#[test]
fn what_went_wrong_is_said() {
    let error = cohesim(&["run", &guests(), "--functional", "--", "crash"]).error();
    assert!(error.contains("killed by SIGSEGV: thread 1000 can't write address 0x10"), "{error}");
    let error = cohesim(&["run", "/bin/sh", "--functional"]).error();
    assert!(error.contains("link it with -static"), "{error}");
    let error = cohesim(&["run", &guests(), "--functional", "--mount", "/nowhere/at/all"]).error();
    assert!(error.contains("can't be shown to the guest"), "{error}");
    let error = cohesim(&["run", &guests(), "--functional", "--env", "novalue"]).error();
    assert!(error.contains("is not NAME=VALUE"), "{error}");
}

#[test]
fn a_folder_is_written_only_if_the_user_says_so() {
    let folder = Folder::new("run-mounts");
    let text = folder.file("text");
    std::fs::write(&text, "hello").expect("a file can be written");
    let out = Folder::new("run-out");
    let (host, guest) = (folder.file(""), "/in/text");
    let out_host = out.file("");
    let run = |mode: &str| {
        let (input, output) = (format!("{host}:/in"), format!("{out_host}:/out{mode}"));
        cohesim(&[
            "run",
            &guests(),
            "--functional",
            "--mount",
            &input,
            "--mount",
            &output,
            "--",
            "files",
            "/out",
            guest,
        ])
    };
    assert_eq!(run(":rw").result(), "files as they should be\n");
    let refused = run("");
    assert!(!refused.ok && refused.out.contains("mkdir"), "{}", refused.out);
    assert!(out.names().is_empty());
}

#[test]
fn a_path_that_may_not_be_written_is_named_with_the_mount_that_would_help() {
    let (shown, folder) = (Folder::new("run-refused"), Folder::new("run-refused-here"));
    let text = shown.file("text");
    std::fs::write(&text, "hello").expect("a file can be written");
    let mount = format!("{}:/data", shown.file("").trim_end_matches('/'));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cohesim"));
    let arguments = ["run", &guests(), "--functional", "--mount", &mount, "--", "files", "/data", "/data/text"];
    let output = command.args(arguments).current_dir(folder.file("")).output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = format!("show it the folder for writing with --mount {mount}:rw");
    assert!(said.contains("the program may not write '/data/") && said.contains(&expected), "{said}");
}

#[test]
fn of_what_is_printed_the_report_holds_as_much_as_the_user_says() {
    let run = cohesim(&["run", &guests(), "--functional", "--json", "--max-output", "5", "--", "hello"]);
    assert!(run.err.contains("printed 13 bytes, of which the first 5 are kept (--max-output)"), "{}", run.err);
    let report = run.json();
    assert_eq!((report["stdout"].as_str(), report["stdout_bytes"].as_u64()), (Some("hello"), Some(13)));
}

#[test]
fn a_folder_for_results_is_checked_before_the_program_runs() {
    let folder = Folder::new("run-out");
    let run = |out: &str| cohesim(&["run", "vecadd", "--system", "skeleton", "--out", out, "--", "--size", "tiny"]);
    let nowhere = run("/proc/nowhere/results");
    assert!(nowhere.out.is_empty(), "the program ran: {}", nowhere.out);
    assert!(nowhere.error().contains("results can't be written to '/proc/nowhere/results'"));
    std::fs::create_dir_all(folder.file("mine")).unwrap();
    std::fs::write(folder.file("mine/notes.txt"), "mine").unwrap();
    let refused = run(&folder.file("mine"));
    assert!(refused.out.is_empty(), "the program ran: {}", refused.out);
    assert!(refused.error().contains("which is not a result of an earlier run"));
    run(&folder.file("results")).result();
    std::fs::write(folder.file("results/trace.json"), "of an earlier run").unwrap();
    run(&folder.file("results")).result();
    assert_eq!(folder.names(), ["mine", "results"]);
    assert!(!Path::new(&folder.file("results/trace.json")).exists(), "a trace that this run did not take");
}

#[test]
fn names_of_folders_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("run-names");
    let odd = Path::new(&folder.file("x")).with_file_name(std::ffi::OsStr::from_bytes(b"odd \xff name"));
    std::fs::create_dir_all(&odd).unwrap();
    let mut mount = odd.clone().into_os_string();
    mount.push(":/shown");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_cohesim"))
        .args(["run", "vecadd", "--functional", "--mount"])
        .arg(mount)
        .args(["--", "--size", "tiny"])
        .current_dir(&odd)
        .output()
        .expect("the command was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_file_that_is_no_program_is_refused_by_machines_with_cores_too() {
    let folder = Folder::new("no-programs");
    let whole = std::fs::read(guests()).expect("the guests are there");
    let (broken, text) = (folder.file("broken"), folder.file("text"));
    std::fs::write(&broken, &whole[..3000]).expect("the folder can be written");
    std::fs::write(&text, "no program\n").expect("the folder can be written");
    for (file, why) in
        [("/bin/sh", "link it with -static"), (&broken, "this ELF file is damaged"), (&text, "not an ELF file")]
    {
        for threads in ["1", "3"] {
            let error = cohesim(&["run", file, "--system", "apu-c-l3", "--threads", threads]).error();
            assert!(error.contains("can't run '") && error.contains(why), "{error}");
        }
    }
}

/// A stack larger than memory makes every thread creation fail, except that of the first thread.
#[test]
fn threads_that_the_operating_system_refuses_are_done_without_or_missed_clearly() {
    let refused = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cohesim"));
        let output = command.args(arguments).env("RUST_MIN_STACK", (1_u64 << 62).to_string()).output();
        let output = output.expect("the command was built");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let stress = ["stress", "--system", "skeleton", "--operations", "500", "--threads", "4"];
    let (code, said) = refused(&stress);
    assert!(code == Some(0) && said.contains("every read was right"), "{said}");
    let (code, said) = refused(&["run", "vecadd", "--system", "skeleton", "--", "--size", "tiny"]);
    assert!(code == Some(1) && said.contains("no thread can be started"), "{said}");
}
