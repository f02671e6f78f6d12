//! `cohesim launch`: results, and errors for arguments that do not fit.

use crate::support::{Folder, cohesim, object};
use std::fs;

/// Runs a kernel of the version 5 object.
fn launch(arguments: &str) -> crate::support::Outcome {
    let file = object("v5.hsaco");
    let mut all = vec!["launch", file.as_str()];
    all.extend(arguments.split_whitespace());
    cohesim(&all)
}

const SAXPY: &str = "--kernel saxpy --grid 256 --group 64 --arg rand-f32:256:1";

#[test]
fn a_kernel_computes_and_its_result_is_printed() {
    let text = launch(&format!("{SAXPY} --arg zero:1K --arg f32:2 --dump 0:f32:0..2 --dump 1:f32:0..2")).result();
    assert_eq!(
        text,
        "saxpy: 256 work-items in groups of 64: 96 wavefront instructions\n\
         argument 0 (float* x), f32 0..2: 0.5665615 0.7457817\n\
         argument 1 (float* y), f32 0..2: 1.133123 1.4915634\n"
    );
}

#[test]
fn json_holds_the_same() {
    let value = cohesim(&[
        "--json",
        "launch",
        &object("v4.hsaco"),
        "-k",
        "variables",
        "-g",
        "8",
        "--group",
        "8",
        "-a",
        "zero:32",
        "-d",
        "0:i32:0..8",
        "--repeat",
        "2",
    ])
    .json();
    assert_eq!(value["kernel"], "variables");
    assert_eq!(value["grid"], serde_json::json!([8, 1, 1]));
    assert_eq!(value["repeat"], 2);
    assert_eq!(value["wave_instructions"], 80);
    // The first launch sets the variable that the second one reads.
    assert_eq!(value["dumps"][0]["values"], serde_json::json!([7, 8, 11, 16, 7, 8, 11, 16]));
    assert_eq!(value["dumps"][0]["type"], "i32");
}

#[test]
fn files_are_read_and_written() {
    let folder = Folder::new("launch-files");
    let bytes = |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let (x, y, data) = (folder.file("x"), folder.file("y"), folder.file("data"));
    fs::write(&x, bytes(&[1.0, 2.0, 3.0, 4.0])).unwrap();
    fs::write(&y, bytes(&[10.0, 20.0, 30.0, 40.0])).unwrap();
    let arguments = |y: &str| format!("--kernel saxpy --grid 4 --group 4 --arg in:{x} --arg {y} --arg f32:0.5");
    launch(&arguments(&format!("inout:{y}"))).result();
    assert_eq!(fs::read(&y).unwrap(), bytes(&[10.5, 21.0, 31.5, 42.0]));
    launch(&arguments(&format!("out:{data}:16"))).result();
    assert_eq!(fs::read(&data).unwrap(), bytes(&[0.5, 1.0, 1.5, 2.0]));
    assert_eq!(fs::read(&x).unwrap(), bytes(&[1.0, 2.0, 3.0, 4.0]), "what is only read stays");
    assert_eq!(folder.names(), ["data", "x", "y"]);
}

#[test]
fn local_memory_and_barriers_work() {
    let folder = Folder::new("launch-local");
    let data = folder.file("data");
    let words = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    fs::write(&data, words(&(0..128).collect::<Vec<u32>>())).unwrap();
    launch(&format!("--kernel reverse --grid 128 --group 64 --arg inout:{data} --arg local:256")).result();
    let expected: Vec<u32> = (0..64).rev().chain((64..128).rev()).collect();
    assert_eq!(fs::read(&data).unwrap(), words(&expected));
}

#[test]
fn three_dimensions_offsets_and_partial_groups_are_the_same_in_every_version() {
    let mut results = Vec::new();
    for version in ["v2.hsaco", "v4.hsaco", "v5.hsaco", "kernels.o"] {
        for threads in ["1", "3"] {
            let file = object(version);
            let run = cohesim(&[
                "--json",
                "launch",
                &file,
                "--kernel",
                "ids",
                "--grid",
                "10,5,3",
                "--group",
                "4,4,2",
                "--offset",
                "100,200,300",
                "--arg",
                "zero:4800",
                "--dump",
                "0:i32",
                "--threads",
                threads,
            ]);
            results.push(run.json()["dumps"][0]["values"].clone());
        }
    }
    for result in &results {
        assert_eq!(*result, results[0]);
    }
    // The corner: ids, sizes of its 2 x 1 x 1 group, of 3 x 2 x 2 groups, its place there, the full size, dimensions.
    let corner: Vec<i64> = results[0].as_array().unwrap()[1192..].iter().map(|value| value.as_i64().unwrap()).collect();
    assert_eq!(corner, [109, 204, 302, 10102, 20203, 1, 4, 3]);
}

#[test]
fn kernels_built_with_libclc_get_the_right_ids() {
    let file = object("libclc_O2.hsaco");
    let text = cohesim(&[
        "launch",
        &file,
        "--kernel",
        "one",
        "--grid",
        "8,2",
        "--group",
        "4,1",
        "--offset",
        "3",
        "--arg",
        "zero:64",
        "--dump",
        "0:i32:0..12",
    ])
    .result();
    assert!(text.ends_with("i32 0..12: 0 0 0 3 4 5 6 7 8 9 10 0\n"), "{text}");
}

#[test]
fn the_only_kernel_needs_no_name_but_several_do() {
    let error = launch("--grid 1 --group 1").error();
    assert!(error.contains("holds several kernels; choose one with --kernel: saxpy, reverse, ids"), "{error}");
}

#[test]
fn a_kernel_that_is_not_there_is_named_with_those_that_are() {
    let error = launch("--kernel saxy --grid 1 --group 1").error();
    assert!(
        error.contains("the code object holds no kernel named 'saxy'; it holds 'saxpy', 'reverse', 'ids'"),
        "{error}"
    );
}

#[test]
fn the_number_of_arguments_is_checked() {
    let error = launch(SAXPY).error();
    assert!(error.contains("kernel 'saxpy' takes 3 arguments, but 1 were given"), "{error}");
    assert!(error.contains("help: it takes: --arg in:|out:|inout:|zero:|rand-f32:.. (float* x)"), "{error}");
    assert!(error.contains("--arg f32:.. (float a)"), "{error}");
}

#[test]
fn kinds_and_sizes_of_arguments_are_checked() {
    let error = |arguments: &str| launch(&format!("{SAXPY} {arguments}")).error();
    let text = error("--arg f32:0 --arg f32:2");
    assert!(
        text.contains("argument 1 ('f32:0') does not fit 'float* y' of kernel 'saxpy': it is a buffer, not a value"),
        "{text}"
    );
    let text = error("--arg zero:1024 --arg i32:2");
    assert!(
        text.contains(
            "argument 2 ('i32:2') does not fit 'float a' of kernel 'saxpy': it is made of f32, but i32 was given"
        ),
        "{text}"
    );
    let text = error("--arg zero:1024 --arg f64:2");
    assert!(text.contains("it is made of f32, but f64 was given: write f32:.."), "{text}");
    let text = error("--arg zero:1024 --arg local:4");
    assert!(text.contains("it is a value, not local memory: write f32:NUMBER"), "{text}");
    let text = error("--arg zero:1024 --arg number:4");
    assert!(text.contains("argument 2 ('number:4'): 'number' is not a kind; write i8,"), "{text}");
    let text = error("--arg in:/nowhere/x --arg f32:2");
    assert!(text.contains("argument 1: can't read '/nowhere/x'"), "{text}");
}

#[test]
fn dumps_are_checked_before_anything_runs() {
    let folder = Folder::new("launch-dump");
    let out = folder.file("y");
    let error = launch(&format!("{SAXPY} --arg out:{out}:1024 --arg f32:2 --dump 2:f32:0..1")).error();
    assert!(error.contains("--dump 2: argument 2 is not a buffer"), "{error}");
    let error = launch(&format!("{SAXPY} --arg out:{out}:1024 --arg f32:2 --dump 9:f32:0..1")).error();
    assert!(error.contains("there are 3 arguments, counted from 0"), "{error}");
    let error = launch(&format!("{SAXPY} --arg out:{out}:1024 --arg f32:2 --dump 1:f32:250..300")).error();
    assert!(error.contains("elements 250..300 were requested, but the buffer has 256 of f32"), "{error}");
    assert_eq!(folder.names(), [] as [&str; 0], "a launch that fails writes nothing");
}

#[test]
fn grids_and_groups_are_checked() {
    let rest = "--arg zero:1024 --arg zero:1024 --arg f32:2";
    let error = launch(&format!("--kernel saxpy --grid 256 --group 2048 {rest}")).error();
    assert!(error.contains("groups at most 1024"), "{error}");
    let error = launch(&format!("--kernel saxpy --grid 1,2,3,4 --group 1 {rest}")).error();
    assert!(error.contains("'1,2,3,4' is not X, X,Y or X,Y,Z"), "{error}");
    let error = launch("--kernel reverse --grid 64 --group 32 --arg zero:256 --arg local:256").error();
    assert!(error.contains("but its source requires 64 x 1 x 1 (reqd_work_group_size)"), "{error}");
}

#[test]
fn running_over_the_end_of_a_buffer_names_the_place() {
    let error = launch(&format!("{SAXPY} --arg zero:64 --arg f32:2")).error();
    assert!(error.contains("the launch failed"), "{error}");
    assert!(error.contains("kernel 'saxpy', workgroup (0, 0, 0), wavefront 0, lane 16"), "{error}");
    assert!(error.contains("`flat_load_dword v3, v[0:1]`"), "{error}");
}

#[test]
fn files_that_are_no_gfx803_code_objects_are_refused() {
    let command = env!("CARGO_BIN_EXE_cohesim");
    let error = cohesim(&["launch", command, "--grid", "1", "--group", "1"]).error();
    assert!(error.contains("can't use '"), "{error}");
    assert!(error.contains("this is an ELF file for x86-64, not a code object"), "{error}");
    let source = object("kernels.cl");
    let error = cohesim(&["launch", &source, "--grid", "1", "--group", "1"]).error();
    assert!(
        error.contains("this is text, not a code object; compile OpenCL C with `cohesim cc FILE.cl -o FILE.hsaco`"),
        "{error}"
    );
    let error = cohesim(&["launch", "/nowhere/x.hsaco", "--grid", "1", "--group", "1"]).error();
    assert!(error.contains("can't read '/nowhere/x.hsaco'"), "{error}");
}

#[test]
fn an_endless_kernel_can_be_given_up() {
    for system in ["", "--system skeleton"] {
        let endless = "--kernel scratch --grid 64 --group 64 --arg zero:1K --arg i32:1000000000 --limit 10000";
        let error = launch(&format!("{endless} {system}")).error();
        assert!(error.contains("no end after 10000 wavefront instructions"), "{error}");
    }
}

#[test]
fn more_threads_than_there_can_be_are_as_good_as_those_there_are() {
    let one = launch(&format!("{SAXPY} --arg zero:1024 --arg f32:2 --threads 1")).result();
    assert_eq!(launch(&format!("{SAXPY} --arg zero:1024 --arg f32:2 --threads 100000")).result(), one);
}

#[test]
fn local_memory_has_an_end() {
    let error = launch("--kernel reverse --grid 64 --group 64 --arg zero:256 --arg local:60K --lds 8192").error();
    assert!(error.contains("would need 69632 bytes of local memory"), "{error}");
}
