//! Summaries, files, pages and comparisons.

use crate::sums::{Sums, machine, options, program, subject};
use machine::Options;
use report::{Comparison, Subject, Summary, write};
use std::{fs, path::PathBuf};

/// A fresh folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn where_cycles_went_adds_up_and_agrees_with_what_was_counted() {
    let (machine, program) = (machine("r9nano"), program());
    let run = Sums { count: 16384, launches: 2 }.run(&machine, &options(1));
    let summary = Summary::of(&subject(&program, &machine, &run));
    let units = summary.units.as_ref().expect("a GPU has compute units");
    assert_eq!((units.count, units.used, units.wavefronts), (64, 64, 512));
    let all: f64 = units.breakdown.iter().map(|share| share.share.mean).sum();
    assert!((all - 1.0).abs() < 1e-9, "{all}");
    assert_eq!((summary.kernels.len(), summary.kernels[0].launches), (1, 2));
    assert!(summary.kernel_fs <= summary.total_fs && summary.kernel_fs > 5_400_000_000, "{summary}");
    // Each launch reads two vectors of 64 KiB and writes one.
    let l1v = summary.caches.iter().find(|cache| cache.level == "l1v").expect("there are vector caches");
    assert_eq!((l1v.count, l1v.reads.total(), l1v.writes.total()), (64, 2 * 2048, 2 * 1024));
    let memory = summary.memory.as_ref().expect("there is memory");
    assert_eq!(
        (memory.channels, memory.bytes, memory.peak_bandwidth),
        (16, 64 * (memory.reads + memory.writes), 1024e9)
    );
    assert!(!summary.bottlenecks.is_empty() && summary.bottlenecks.len() <= 3);
    let text = summary.to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_kernel_that_is_over_soon_is_held_up_by_its_launch() {
    let (machine, program) = (machine("r9nano"), program());
    let run = Sums { count: 64, launches: 1 }.run(&machine, &options(1));
    let summary = Summary::of(&subject(&program, &machine, &run));
    let told: Vec<&str> = summary.bottlenecks.iter().map(|bottleneck| bottleneck.what.as_str()).collect();
    assert!(told.iter().any(|what| what.contains("launch")), "{told:?}");
    assert_eq!(summary.units.as_ref().map(|units| units.used), Some(1));
}

#[test]
fn files_are_the_same_for_any_number_of_threads() {
    let (machine, program) = (machine("r9nano"), program());
    let files = [1, 2].map(|threads| {
        let run = Sums { count: 4096, launches: 1 }.run(&machine, &options(threads));
        let folder = folder(&format!("threads{threads}"));
        write(&folder, &subject(&program, &machine, &run)).expect("the folder can be written to");
        ["stats.json", "stats.csv", "stats.parquet", "summary.json", "report.html", "machine.toml", "plan.json"]
            .map(|name| fs::read(folder.join(name)).expect("it has been written"))
    });
    assert!(files[0] == files[1], "some file depends on the number of threads");
}

#[test]
fn a_folder_holds_whole_files_and_a_page_that_needs_nothing_else() {
    let (machine, program) = (machine("skeleton"), program().with_input("a", b"1"));
    let options = Options { trace: Some(engine::TraceSpec::of(1000)), ..options(1) };
    let run = Sums { count: 256, launches: 2 }.run(&machine, &options);
    let arguments = ["--size <256>".to_owned()];
    let folder = folder("whole");
    write(&folder, &Subject { arguments: &arguments, ..subject(&program, &machine, &run) }).expect("it can be written");
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected = [
        "machine.toml",
        "plan.json",
        "report.html",
        "run.json",
        "stats.csv",
        "stats.json",
        "stats.parquet",
        "summary.json",
        "trace.json",
    ];
    assert_eq!(names, expected);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let page = text("report.html");
    assert!(
        !page.contains("http") && !page.contains("src=") && !page.contains("@import"),
        "the page asks for something"
    );
    assert!(page.contains("--size &lt;256&gt;"), "what the user wrote is not markup");
    let stats: serde_json::Value = serde_json::from_str(&text("stats.json")).unwrap();
    assert_eq!(stats["regions"].as_array().map(Vec::len), Some(3));
    assert_eq!(stats["time_fs"].as_u64(), Some(run.end.0));
    let trace: serde_json::Value = serde_json::from_str(&text("trace.json")).unwrap();
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 1000));
    let about: serde_json::Value = serde_json::from_str(&text("run.json")).unwrap();
    let identity = subject(&program, &machine, &run).identity();
    assert_ne!(about["identity"].as_str().unwrap(), identity.to_string(), "arguments are part of what a run is");
}

#[test]
fn machines_are_shown_side_by_side_in_a_comparison() {
    let program = program();
    let mut comparison = Comparison::new("vecadd", &[]);
    for name in ["skeleton", "r9nano"] {
        let machine = machine(name);
        let run = Sums { count: 32768, launches: 1 }.run(&machine, &options(1));
        comparison.add(Summary::of(&subject(&program, &machine, &run)));
    }
    comparison.failed("broken", "it deadlocked");
    let speedups: Vec<Option<f64>> = comparison.runs.iter().map(|run| run.kernel_speedup).collect();
    assert!(
        speedups[0] == Some(1.0) && speedups[1].is_some_and(|times| times > 1.0) && speedups[2].is_none(),
        "{speedups:?}"
    );
    let text = comparison.to_string();
    assert!(text.contains("broken: no result: it deadlocked"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(comparison.html().contains("r9nano"));
}
