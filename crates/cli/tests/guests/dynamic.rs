//! Programs built by `gcc prog.c -lOpenCL`: dynamically linked with the libraries of this computer.

use std::{fs, path::Path, process::Command};

use crate::{
    inside,
    programs::{ROOT, build},
    ran,
    support::{Folder, cohesim},
};

#[test]
fn the_program_of_the_tutorial_finds_its_libraries_and_they_belong_to_the_run() {
    let folder = Folder::new("dynamic");
    let Some(program) = build("average.c", &folder, "dynamic", &["-l:libOpenCL.so.1", "-lm"]) else { return };
    let said = cohesim(&["run", &program, "--functional"]).error();
    assert!(
        said.contains("link it with -static, or show it the libraries of this computer with --host-libraries"),
        "{said}"
    );
    let expected = inside(&program, &["--host-libraries"]);
    assert_eq!(expected.code, Some(0), "{}", expected.out);
    for system in ["r9nano", "apu-c-l3"] {
        let out = folder.file(system);
        let options = ["run", &program, "--system", system, "--host-libraries", "--out", &out, "--", "500"];
        let Some(code) = ran(Command::new(env!("CARGO_BIN_EXE_cohesim")).args(options)).code else { panic!("killed") };
        assert_eq!(code, 0, "{system}");
        let run = fs::read_to_string(Path::new(&out).join("run.json")).expect("it was written");
        let run: serde_json::Value = serde_json::from_str(&run).expect("it is JSON");
        let inputs = run["program"]["inputs"].as_array().expect("a list");
        let named =
            |part: &str| inputs.iter().any(|input| input["name"].as_str().is_some_and(|name| name.contains(part)));
        assert!(named("ld-linux") && named("libc.so") && named("/cohesim/lib/libOpenCL.so.1"), "{inputs:?}");
    }
}

#[test]
fn a_root_folder_provides_the_loader() {
    let folder = Folder::new("root");
    let Some(program) = build("unprotect_handler.c", &folder, "dynamic", &[]) else { return };
    let root = folder.file("root");
    fs::create_dir_all(format!("{root}/lib64")).expect("a folder can be made");
    let said = cohesim(&["run", &program, "--functional", "--root", &root]).error();
    assert!(said.contains("it needs /lib64/ld-linux"), "{said}");
    for library in ["ld-linux-x86-64.so.2", "libc.so.6"] {
        let from = [format!("/lib64/{library}"), format!("/lib/x86_64-linux-gnu/{library}")];
        let from = from.iter().find(|path| Path::new(path).exists()).expect("gcc has linked the program with it");
        fs::copy(from, format!("{root}/lib64/{library}")).expect("it can be copied");
    }
    let libraries = ["--root", &root, "--env", "LD_LIBRARY_PATH=/lib64"];
    assert_eq!(inside(&program, &libraries), ran(&mut Command::new(&program)));
}

#[test]
fn an_ordinary_makefile_needs_no_change() {
    let folder = Folder::new("makefile");
    let source = format!("{ROOT}/tests/guests/average.c");
    let makefile =
        format!("program: program.o\n\t$(CC) -o $@ $^ -lOpenCL -lm\nprogram.o: {source}\n\t$(CC) -w -c -o $@ $<\n");
    fs::write(folder.file("Makefile"), makefile).expect("a file can be written");
    let options = cohesim(&["sdk", &folder.file("sdk"), "--pkg-config"]).result();
    assert!(options.starts_with("-static -L") && options.ends_with("-lOpenCL -pthread\n"), "{options}");
    let mut make = Command::new("make");
    make.args(["-C", &folder.file(""), &format!("CC=gcc {}", options.trim())]);
    if !make.output().is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "make or gcc failed");
        return eprintln!("make, gcc or the OpenCL headers are not installed");
    }
    let made = inside(&folder.file("program"), &[]);
    assert_eq!(made.code, Some(0), "{}", made.out);
}
