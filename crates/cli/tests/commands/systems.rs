//! Machines as the command shows them, and reports of runs on them.

use crate::support::{Folder, cohesim, object};

#[test]
fn a_machine_is_shown_as_a_drawing_and_with_every_parameter_and_its_source() {
    let text = cohesim(&["show", "system", "r9nano", "--set", "gpu.l2.size=4MiB"]).result();
    assert!(text.contains("+- array x 16 -"), "{text}");
    let line = |key: &str| text.lines().find(|line| line.trim_start().starts_with(key)).expect("the key is shown");
    assert!(line("waves_per_simd").contains("10") && line("waves_per_simd").ends_with("[i]"), "{text}");
    assert!(text.lines().any(|line| line.contains("4MiB") && line.contains("--set gpu.l2.size=4MiB")), "{text}");
    assert!(text.contains("[m] MGPUSim"), "the sources are named");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let json = cohesim(&["show", "system", "skeleton", "--json"]).json();
    assert!(json["parameters"].as_array().is_some_and(|all| all.iter().all(|one| one["place"] != "")));
    let file = cohesim(&["show", "system", "skeleton", "--file"]).result();
    assert!(file.contains("\n[gpu.l2]\n") && file.contains("\nbanks = 1\n"), "{file}");
}

#[test]
fn a_timed_launch_prints_a_summary_and_writes_a_report() {
    let folder = Folder::new("report");
    let out = folder.file("out");
    let arguments = ["--kernel", "vecadd", "--grid", "256", "--group", "64", "--system", "skeleton", "--out", &out];
    let vecadd = object("../../../workloads/src/vecadd/vecadd.hsaco");
    let values = ["--arg", "zero:1024", "--arg", "zero:1024", "--arg", "zero:1024", "--arg", "u32:256"];
    let command: Vec<&str> = ["launch", &vecadd].into_iter().chain(arguments).chain(values).collect();
    let text = cohesim(&command).result();
    assert!(text.contains("What held it up most:") && text.contains("waited for vector memory"), "{text}");
    let json = cohesim(&command.iter().copied().chain(["--json"]).collect::<Vec<_>>()).json();
    assert_eq!(json["simulated"]["system"], "skeleton");
    let files = [
        "machine.toml",
        "plan.json",
        "report.html",
        "run.json",
        "stats.csv",
        "stats.json",
        "stats.parquet",
        "summary.json",
    ];
    let mut names: Vec<String> = std::fs::read_dir(&out)
        .expect("the folder was made")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, files);
}

#[test]
fn a_change_must_have_an_effect_on_one_of_the_machines() {
    let compare = |systems: &str| {
        cohesim(&["compare", "--systems", systems, "--set", "memory.dram.ranks=1", "vecadd", "--", "--size", "tiny"])
    };
    let said = compare("skeleton,r9nano").error();
    assert!(said.contains("memory.dram.ranks has no effect: memory.kind is"), "{said}");
    assert!(said.contains("(it has an effect on none of skeleton, r9nano)"), "{said}");
    assert!(compare("skeleton,r9nano-hbm").result().contains("r9nano-hbm"));
    let said = cohesim(&["run", "vecadd", "--system", "skeleton", "--set", "cpu.cores=2"]).error();
    assert!(said.contains("cpu.cores has no effect: the machine has no CPU"), "{said}");
}

#[test]
fn parts_are_listed_and_parameters_without_effect_are_listed_apart() {
    let text = cohesim(&["list", "parts"]).result();
    assert!(text.lines().any(|line| line.starts_with("gpu/hd7850 ") && line.contains("the GPU of UMH")), "{text}");
    let text = cohesim(&["show", "system", "r9nano", "--set", "gpu.part=hd7850"]).result();
    assert!(text.contains("+- array x 4 -"), "{text}");
    let (shown, idle) = text.split_once("Without effect: ").expect("there are such");
    assert!(!shown.contains("[memory.dram]") && idle.contains("memory.dram.ranks"), "{text}");
}

#[test]
fn every_memory_design_runs_the_same_program() {
    let json = cohesim(&["compare", "vecadd", "--designs", "--json", "--", "--size", "tiny"]).json();
    let runs = json["runs"].as_array().expect("there is a run for each design");
    let of = |design: &str| runs.iter().find(|run| run["system"] == design).expect("the design was run");
    assert_eq!(runs.len(), figures::designs::DESIGNS.len());
    for run in runs {
        assert!(run["error"].is_null(), "{run}");
        assert!(run["summary"]["total_fs"].as_u64() > Some(0), "{run}");
    }
    assert!(of("memcpy")["moved"]["copy"].as_u64() > Some(0));
    assert!(of("zero-copy")["moved"]["copy"].is_null());
    assert!(of("managed-fault")["moved"]["fault"].as_u64() > Some(0));
    assert!(of("memcpy")["summary"]["movement_calls"].as_u64() > Some(0));
    // Energy of a kind of element, beside leakage.
    let spent = |design: &str, element: &str| {
        let energy = of(design)["summary"]["energy"].as_array().expect("every design has energies");
        let kinds = energy.iter().filter(|spent| spent["element"].as_str().is_some_and(|path| path.ends_with(element)));
        kinds.map(|spent| spent["active_fj"].as_u64().expect("femtojoules")).sum::<u64>()
    };
    for run in runs {
        let design = run["system"].as_str().expect("it has a name");
        assert!(spent(design, ".cu*") > 0 && spent(design, "memory*") > 0, "{design}: {}", run["summary"]["energy"]);
    }
    assert!(spent("zero-copy", ".port") > 0 && spent("chip-l3", ".port") == 0);
}

#[test]
fn designs_that_cannot_have_as_many_gpus_are_left_out_with_the_reason() {
    let output = cohesim(&["compare", "vecadd", "--designs", "--set", "gpus=2", "--json", "--", "--size", "tiny"]);
    assert!(output.err.contains("note: virtual-caches is left out: --set gpu.l2.tags=virtual"), "{}", output.err);
    let json = output.json();
    let runs = json["runs"].as_array().expect("there are runs");
    assert_eq!(runs.len(), figures::designs::DESIGNS.len() - 1);
    assert!(runs.iter().all(|run| run["system"] != "virtual-caches" && run["error"].is_null()), "{json}");
    let said = cohesim(&["compare", "vecadd", "--designs", "--set", "gpus=0", "--", "--size", "tiny"]).error();
    assert!(said.contains("gpus"), "{said}");
    let said = cohesim(&["compare", "vecadd", "--designs", "--systems", "r9nano"]).error();
    assert!(said.contains("--systems"), "{said}");
}

/// The shared caches of HMG pass writes on to those of other GPUs. When a page moves, all of them must have written back
/// before the first one invalidates.
#[test]
fn no_shared_cache_invalidates_a_page_while_writes_to_it_are_in_flight_from_another() {
    let machine = ["--system", "halcone-rdma-wb-hmg", "--set", "gpus=4"];
    let what = ["stress", "--operations", "20k", "--lines", "4", "--seed", "25"];
    let json = cohesim(&what.into_iter().chain(machine).chain(["--json"]).collect::<Vec<_>>()).json();
    assert!(json["runs"][0]["migrations"].as_u64().is_some_and(|moved| moved > 10), "{json}");
}
