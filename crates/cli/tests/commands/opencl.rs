//! OpenCL programs as users build and run them: linked with the library of `cohesim sdk`, run by `cohesim run`.
//!
//! Needs gcc, the OpenCL headers and clang-19 with AMD's device libraries. Without them the tests print that nothing
//! was run, or fail if `COHESIM_REQUIRE_POCL` is set, as in continuous integration.

use crate::support::{Folder, code, cohesim};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// Builds a program of `tests/guests`, linked with the library; `None` if the tools are not installed.
fn build(folder: &Folder, source: &str) -> Option<String> {
    let sdk = folder.file("sdk");
    cohesim(&["sdk", &sdk]).result();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests").join(source);
    let target = folder.file("program");
    let compiler = if source.extension().is_some_and(|ending| ending == "cpp") { "g++" } else { "gcc" };
    let output = Command::new(compiler)
        .args(["-O1", "-static", "-o", &target])
        .arg(&source)
        .args(["-L", &sdk, "-lOpenCL", "-lm", "-pthread"])
        .output();
    let why = match output {
        Ok(output) if output.status.success() => return Some(target),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("{compiler}: {error}"),
    };
    assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{why}");
    eprintln!("{} is not run: {why}", source.display());
    None
}

/// Runs a program under both memory policies; its last line must be `expected`.
fn passes(source: &str, expected: &str) {
    let folder = Folder::new(&source.replace('.', "-"));
    let Some(program) = build(&folder, source) else { return };
    for policy in ["memcpy", "shared"] {
        let out = cohesim(&["run", &program, "--functional", "--memory-policy", policy]).result();
        assert!(out.contains(expected), "{policy}: {out}");
    }
}

#[test]
fn a_program_with_shared_virtual_memory_and_a_kernel_that_plays_with_the_host() {
    passes("svm_list.c", "PASS");
}

#[test]
fn a_program_with_images_and_a_kernel_that_prints() {
    passes("image_blur.c", "blurring 60 x 34\nPASS\n");
}

#[test]
fn data_races_of_a_kernel_are_reported_and_change_the_exit_code_only() {
    let folder = Folder::new("race");
    let Some(program) = build(&folder, "race.c") else { return };
    let run = |options: &[&str], kernel: &str| {
        let arguments = [&["run", &program, "--functional"], options, &["--", kernel]].concat();
        (code(&arguments), cohesim(&arguments))
    };
    for kernel in ["lockstep", "atomic"] {
        let (code, ran) = run(&[], kernel);
        assert_eq!((code, ran.out.as_str(), ran.err.as_str()), (0, "PASS\n", ""), "{kernel}");
    }
    let (code, clean) = run(&["--check"], "atomic");
    assert_eq!((code, clean.out.as_str(), clean.err.as_str()), (0, "PASS\n", ""));
    let (code, racy) = run(&["--check"], "lockstep");
    assert_eq!((code, racy.out.as_str()), (125, "PASS\n"));
    let first = racy.err.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("cohesim: data race: kernel 'lockstep': work-item (") && first.contains("`ds_"),
        "{first}"
    );
}

#[test]
fn the_sdk_says_how_to_link() {
    let folder = Folder::new("sdk");
    let sdk = folder.file("made/here");
    let report = cohesim(&["sdk", &sdk, "--json"]).json();
    assert!(report["link"].as_str().unwrap().contains("-lOpenCL"));
    let text = std::fs::read_to_string(format!("{sdk}/OpenCL.pc")).unwrap();
    assert!(text.contains("made/here\n") && text.contains("Libs: -static -L"), "{text}");
    let link = std::fs::read_link(format!("{sdk}/libOpenCL.so")).unwrap();
    assert!(std::fs::read(Path::new(&sdk).join(link)).unwrap().starts_with(b"\x7fELF"));
    assert!(std::fs::read(format!("{sdk}/libOpenCL.a")).unwrap().starts_with(b"!<arch>\n"));
    assert!(std::fs::read_to_string(format!("{sdk}/README.md")).unwrap().contains("made/here -lOpenCL"));
}

const KERNEL: &str = "\n__kernel void k(__global int *p) { p[0] = 1; }\n";

/// A program works in a folder that is also mounted writable under another name. It replaces that folder by a link, so
/// that the folder's path leads out of everything mounted.
#[test]
fn a_kernel_can_not_read_what_its_program_was_not_shown_however_that_moves_folders() {
    let folder = Folder::new("escape");
    let Some(program) = build(&folder, "build_kernel.c") else { return };
    let (mount, work, secret) = (folder.file("mount"), folder.file("mount/work"), folder.file("outside/secret"));
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(folder.file("outside")).unwrap();
    fs::write(&secret, "SECRET-TEXT").unwrap();
    std::os::unix::fs::symlink(folder.file("outside"), folder.file("mount/link")).unwrap();
    fs::write(folder.file("mount/inside.h"), "#define INSIDE 1\n").unwrap();
    let include =
        format!("#if __has_include(\"secret\")\n__constant char text[] = {{\n#embed \"secret\"\n}};\n#endif{KERNEL}");
    let taken = |file: &str| format!("__asm__(\".section .data\\n.incbin \\\"{file}\\\"\\n.previous\");{KERNEL}");
    for (name, source) in [
        ("direct.cl", taken(&secret)),
        ("moved.cl", taken(&format!("{work}/secret"))),
        ("include.cl", include),
        ("fine.cl", format!("#include \"inside.h\"\n#if INSIDE != 1\n#error wrong\n#endif{KERNEL}")),
    ] {
        fs::write(format!("{mount}/{name}"), source).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cohesim"))
        .args(["run", &program, "--functional", "--mount", &format!("{mount}:/shown:rw"), "--"])
        .args(["rename:/shown/work:/shown/gone", "rename:/shown/link:/shown/work"])
        .args(["build:/shown/direct.cl", "build:/shown/moved.cl", "build:/shown/include.cl"])
        .args(["chdir:/shown", "build:/shown/fine.cl"])
        .current_dir(&work)
        .env("XDG_CACHE_HOME", folder.file("cache"))
        .output()
        .expect("the command was built");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert!(fs::read_to_string(format!("{work}/secret")).unwrap() == "SECRET-TEXT", "the path leads out");
    assert!(!out.contains("SECRET-TEXT"), "{out}");
    let made: Vec<&str> = out.lines().filter(|line| line.contains("built:")).collect();
    assert_eq!(made.len(), 4, "{out}");
    assert!(made[0].contains("not built") && made[1].contains("not built") && made[3] == "built:", "{out}");
}

/// The processes whose current folder is this one or below it.
fn at_work_in(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))).collect()
}

/// Waits until a condition holds, for at most a minute.
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} never came");
}

#[test]
fn signals_end_a_build_at_once_and_leave_nothing_behind() {
    let folder = Folder::new("signals");
    let Some(program) = build(&folder, "build_kernel.c") else { return };
    let (work, temporary) = (folder.file("work"), folder.file("tmp"));
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&temporary).unwrap();
    let temporary = Path::new(&temporary).canonicalize().unwrap();
    // The file includes itself twice, recursively: without a signal, compiling takes until the compiler's limit.
    fs::write(
        format!("{work}/self.h"),
        "#if __INCLUDE_LEVEL__ < 100\n#include \"self.h\"\n#include \"self.h\"\n#endif\n",
    )
    .unwrap();
    fs::write(format!("{work}/endless.cl"), format!("#include \"self.h\"{KERNEL}")).unwrap();
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(130)), ("HUP", Some(130)), ("KILL", None)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        command.args(["run", &program, "--functional", "--", "build:endless.cl"]).current_dir(&work);
        command.env("TMPDIR", &temporary).env("XDG_CACHE_HOME", folder.file("cache"));
        let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command was built");
        until("the compiler", || !at_work_in(&temporary).is_empty());
        let kill = format!("kill -{signal} {}", running.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert_eq!(running.wait().unwrap().code(), code, "{signal}");
        until("the compiler's end", || at_work_in(&temporary).is_empty());
        let left = fs::read_dir(&temporary).unwrap().count();
        assert!(signal == "KILL" || left == 0, "{signal} leaves {left} folders");
    }
}
