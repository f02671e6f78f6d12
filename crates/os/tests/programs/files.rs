//! Files, and the isolation from the host's files.

use crate::support::{Folder, GUESTS, Outcome, run_program};
use mem::Bytes;
use os::End;
use std::os::unix::fs::symlink;

#[test]
fn files_behave_as_linux_has_them() {
    let (shown, writable) = (Folder::new("shown"), Folder::new("writable"));
    shown.write("text", "hello");
    let outcome = run_program(GUESTS, &["files", "/out", "/in/text"], |options| {
        options.mounts = vec![shown.mount("/in", false), writable.mount("/out", true)];
        options.folder = "/in".into();
    });
    assert_eq!(outcome.good(), "files as they should be\n");
}

fn try_to_escape(name: &str) -> (Outcome, Folder) {
    let folder = Folder::new(name);
    folder.write("secret", "secret");
    for inner in ["seen", "writable", "writable/inner"] {
        std::fs::create_dir(folder.path().join(inner)).unwrap();
    }
    folder.write("seen/file", "visible");
    folder.write("writable/file", "visible");
    let link = |to: &str, at: &str| symlink(to, folder.path().join(at)).unwrap();
    link("/etc/passwd", "seen/absolute");
    link("/etc/passwd", "writable/absolute");
    link("../../../../../../etc/passwd", "seen/relative");
    link("/etc", "seen/folder-link");
    link("..", "seen/up");
    link("loop", "seen/loop");
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("seen/fifo")).status();
    assert!(made.is_ok_and(|status| status.success()), "a fifo can be made");
    let (seen, writable) = (folder.path().join("seen"), folder.path().join("writable"));
    let outcome = run_program(GUESTS, &["escape", "/home/seen"], |options| {
        options.mounts = vec![
            os::files::Mount { host: seen, guest: Some("/home/seen".into()), writable: false },
            os::files::Mount { host: writable, guest: Some("/home/seen/writable".into()), writable: true },
        ];
        options.folder = "/home/seen".into();
    });
    (outcome, folder)
}

#[test]
fn there_is_no_way_out() {
    let (outcome, folder) = try_to_escape("escape");
    let out = outcome.good();
    assert!(out.ends_with("no way out\n"), "{out}");
    assert!(!out.contains("OPEN"), "{out}");
    assert!(out.contains("loop: Symbolic link loop"), "{out}");
    assert!(out.contains("fifo: Permission denied"), "{out}");
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["secret", "seen", "writable"], "nothing was made outside");
    assert!(folder.path().join("writable/other").is_dir(), "what may be renamed is");
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let folder = Folder::new("inside");
    folder.write("text", "hello");
    symlink("/in/text", folder.path().join("absolute")).unwrap();
    symlink("text", folder.path().join("relative")).unwrap();
    let writable = Folder::new("inside-writable");
    for name in ["/in/absolute", "/in/relative", "../in/./absolute", "/out/../in/relative"] {
        let outcome = run_program(GUESTS, &["files", "/out", name], |options| {
            options.mounts = vec![folder.mount("/in", false), writable.mount("/out", true)];
            options.folder = "/in".into();
        });
        // The guest changes nothing outside its rights, so each path is tried on the same folder.
        assert_eq!(outcome.good(), "files as they should be\n", "{name}");
    }
}

#[test]
fn no_more_is_written_than_allowed() {
    let folder = Folder::new("quota");
    folder.write("text", "hello");
    let outcome = run_program(GUESTS, &["files", "/out", "/in/text"], |options| {
        options.mounts = vec![folder.mount("/in", false), folder.mount("/out", true)];
        options.folder = "/in".into();
        options.longest_file = Bytes(1000);
    });
    assert_eq!(outcome.end, End::Exited { code: 1 }, "{}", outcome.out);
    let longest =
        std::fs::read_dir(folder.path().join("new")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert_eq!(longest.max(), Some(1000));
}

#[test]
fn what_is_read_only_stays_so_inside_what_is_not() {
    let folder = Folder::new("nested");
    std::fs::create_dir_all(folder.path().join("outer/inner")).unwrap();
    let inner = folder.path().join("outer/inner");
    let outcome = run_program(GUESTS, &["nested", "/data"], |options| {
        options.mounts = vec![
            folder.mount("/data", true),
            os::files::Mount { host: inner.clone(), guest: Some("/data/outer/inner".into()), writable: false },
        ];
        options.folder = "/data".into();
    });
    assert_eq!(outcome.good(), "still read-only\n");
    assert_eq!(std::fs::read_dir(inner).unwrap().count(), 0);
}

#[test]
fn the_kernels_own_files_are_no_door_even_where_everything_is_shown() {
    let root = os::files::Mount { host: "/".into(), guest: Some("/".into()), writable: false };
    let proc = os::files::Mount { host: "/proc".into(), guest: Some("/host".into()), writable: false };
    for path in ["/proc/self/environ", "/proc/self/mem", "/proc/1/environ", "/host/self/environ", "/host/self/mem"] {
        let outcome = run_program(GUESTS, &["open", path], |options| options.mounts = vec![root.clone(), proc.clone()]);
        assert_eq!(outcome.end, End::Exited { code: 1 }, "{path}");
    }
    let outcome = run_program(GUESTS, &["open", "/dev/null"], |options| options.mounts = vec![root.clone()]);
    assert_eq!(outcome.end, End::Exited { code: 0 });
}
