//! Runs the commands that documentation pages show, on small inputs: each must print what its page says.

use crate::{
    pages::{self, Shown, readers_own, words},
    support::{Folder, cohesim},
};
use std::{
    collections::BTreeSet,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Commands that no test runs (`written.rs` makes sure that they are understood): they serve a page, measure this
/// computer, do the runs of an experiment or of a sweep, or try thousands of changed tables.
fn takes_long(words: &[String]) -> bool {
    let has = |option: &str| words.iter().any(|word| word == option);
    matches!(words[0].as_str(), "view" | "bench" | "repro" | "sweep") || has("--live") || has("--mutants")
}

/// A command with a small input: the reader's program is one that is built in, sizes are `tiny`, random accesses are few,
/// and a search covers two caches and one store.
fn small(mut words: Vec<String>) -> Vec<String> {
    let set = |words: &mut Vec<String>, from: usize, option: &str, value: &str| {
        let at = words[from..].iter().position(|word| word == option);
        match at.map(|at| from + at) {
            Some(at) => words[at + 1] = value.to_owned(),
            None => words.extend([option.to_owned(), value.to_owned()]),
        }
    };
    for word in &mut words {
        *word = word.replace("$system", "apu-c-l3");
        if word == "DIR" {
            "/".clone_into(word);
        }
    }
    match words[0].as_str() {
        "stress" => {
            if let Some(at) = words.iter().position(|word| word == "--for") {
                words.drain(at..at + 2);
            }
            set(&mut words, 0, "--operations", "1000");
        }
        "check" => {
            set(&mut words, 0, "--caches", "2");
            set(&mut words, 0, "--values", "1");
        }
        "run" | "compare" => {
            let program = &mut words[1];
            if readers_own(program) {
                *program = "vecadd".to_owned();
                words.truncate(words.iter().position(|word| word == "--").unwrap_or(words.len()));
            }
            if !["litmus", "xtreme3"].contains(&words[1].as_str()) {
                let end = words.iter().position(|word| word == "--").unwrap_or_else(|| {
                    words.push("--".to_owned());
                    words.len() - 1
                });
                set(&mut words, end, "--size", "tiny");
            }
        }
        _ => {}
    }
    words
}

/// Whether the output is the expected one, in which a line `...` stands for any number of lines.
fn fits(expected: &[&str], output: &[&str]) -> bool {
    match expected {
        [] => output.is_empty(),
        ["...", rest @ ..] => (0..=output.len()).any(|skipped| fits(rest, &output[skipped..])),
        [line, rest @ ..] => {
            output.first().is_some_and(|first| first.trim_end() == line.trim_end()) && fits(rest, &output[1..])
        }
    }
}

/// Runs a command in the folder; returns the error, if there is one.
fn wrong(words: &[String], expected: Option<&str>, folder: &Folder) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    let output = command.args(words).current_dir(folder.file("")).output().expect("the command was built");
    let text = String::from_utf8_lossy(&output.stdout);
    // The page shows this command because the program's own check detects the missing coherence.
    let must_fail = words.iter().any(|word| word == "halcone-sm-wt-nc");
    if output.status.success() == must_fail {
        return Some(format!("{}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let expected: Vec<&str> = expected?.lines().collect();
    (!fits(&expected, &text.lines().collect::<Vec<_>>())).then(|| format!("the page shows another output than\n{text}"))
}

fn clang_is_there() -> bool {
    let there = Command::new("clang-19").arg("--version").output().is_ok();
    if !there {
        eprintln!("clang-19 is not installed: kernels of pages are not compiled");
    }
    there
}

#[test]
fn commands_that_pages_show_run_and_print_what_the_pages_say() {
    let folder = Folder::new("pages");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    for name in ["crates", "docs"] {
        symlink(root.join(name), folder.file(name)).unwrap();
    }
    let clang = clang_is_there();
    let mut seen = BTreeSet::new();
    let (mut one_by_one, mut side_by_side) = (Vec::new(), Vec::new());
    for Shown { page, command, output } in pages::commands() {
        let shown = words(&command);
        let of_kernels = ["cc", "disasm", "launch"].contains(&shown[0].as_str());
        let todo = if output.is_some() { shown.clone() } else { small(shown.clone()) };
        if takes_long(&shown) || of_kernels && !clang || !seen.insert((todo.clone(), output.clone())) {
            continue;
        }
        let mut todo = todo;
        if let Some(at) = todo.iter().position(|word| word == "--out") {
            todo[at + 1] = format!("out{}", seen.len());
        }
        let list = if of_kernels { &mut one_by_one } else { &mut side_by_side };
        list.push((page, todo, output));
    }
    // `cc` comes first: `disasm` and `launch`, in commands of other pages, use its output.
    one_by_one.sort_by_key(|(_, words, _)| words[0] != "cc");
    let mistakes = Mutex::new(Vec::new());
    let run = |(page, words, output): &(std::path::PathBuf, Vec<String>, Option<String>)| {
        let started = std::time::Instant::now();
        if let Some(mistake) = wrong(words, output.as_deref(), &folder) {
            mistakes.lock().unwrap().push(format!("{}: cohesim {}\n{mistake}", page.display(), words.join(" ")));
        }
        eprintln!("{:6.2} s  cohesim {}", started.elapsed().as_secs_f64(), words.join(" "));
    };
    one_by_one.iter().for_each(run);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(command) = side_by_side.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(command);
                }
            });
        }
    });
    assert!(side_by_side.len() > 40, "only {} commands were run", side_by_side.len());
    let mistakes = mistakes.into_inner().unwrap();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

/// Hits among the reads of vector caches, and lines that memory moved, from a run's statistics.
fn hits_and_lines(stats: &str) -> (f64, u64) {
    let (mut hits, mut reads, mut lines) = (0, 0, 0);
    for row in csv::Reader::from_path(stats).unwrap().deserialize() {
        let row: std::collections::BTreeMap<String, String> = row.unwrap();
        let (path, bucket, value) = (&row["path"], row["bucket"].as_str(), row["value"].parse::<u64>().unwrap_or(0));
        if path.ends_with(".l1v.accesses") && bucket.starts_with("read/") {
            reads += value;
            hits += if bucket == "read/hit" { value } else { 0 };
        }
        let of_memory = path.strip_prefix("memory").and_then(|rest| rest.split_once('.'));
        if of_memory.is_some_and(|(number, what)| number.parse::<u32>().is_ok() && ["reads", "writes"].contains(&what))
        {
            lines += value;
        }
    }
    (hits as f64 / reads as f64, lines)
}

#[test]
fn the_answer_that_the_page_on_data_shows_is_that_of_its_command() {
    let page = include_str!("../../../../docs/data.md");
    let folder = Folder::new("data");
    let command = "compare edge --systems r9nano,halcone-gpu --out results -- --size tiny";
    assert!(page.contains(&format!("\n    cohesim {command}\n")), "the page has another command");
    assert_eq!(wrong(&words(command), None, &folder), None);
    for system in ["r9nano", "halcone-gpu"] {
        let (hits, lines) = hits_and_lines(&folder.file(&format!("results/{system}/stats.csv")));
        let row = format!("\n| {system} | {hits:.5} | {lines} |\n");
        assert!(page.contains(&row), "the page should say{row}");
    }
}

#[test]
fn the_sweep_that_its_page_shows_has_as_many_runs_as_the_page_says() {
    let page = include_str!("../../../../docs/sweeps.md");
    let file = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let folder = Folder::new("sweeps");
    std::fs::write(folder.file("sizes.toml"), file.expect("the page shows the file of a sweep")).unwrap();
    let status = cohesim(&["sweep", "status", &folder.file("sizes.toml"), "--store", &folder.file("store")]).result();
    let runs = status.split(':').next().unwrap_or_default();
    assert!(runs.ends_with(" runs") && page.contains(&format!("sizes: {runs}.")), "{status}");
}

#[test]
fn an_output_that_differs_is_noticed() {
    assert!(fits(&["a", "...", "d"], &["a", "b", "c", "d"]));
    assert!(fits(&["a", "..."], &["a"]));
    assert!(!fits(&["a", "...", "d"], &["a", "b"]));
    assert!(!fits(&["a"], &["a", "b"]));
}

#[test]
fn small_commands_keep_what_does_not_matter_for_time() {
    let small = |command: &str| small(words(command)).join(" ");
    assert_eq!(small("run bfs --system vc-opt --check"), "run bfs --system vc-opt --check -- --size tiny");
    assert_eq!(
        small("run edge --check -- --size small --copies none"),
        "run edge --check -- --size tiny --copies none"
    );
    assert_eq!(
        small("stress --system apu-c-l3 --for 1h   # seed after seed"),
        "stress --system apu-c-l3 --operations 1000"
    );
    assert_eq!(small("run ./average --functional -- 20000"), "run vecadd --functional -- --size tiny");
}
