//! A test of the commands that pages of the documentation show: this program must understand each of them, and the
//! machines, programs and experiments that they name must exist.

use super::Cli;
use clap::{Parser, error::ErrorKind};
use machine::{Machine, shipped};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// How pages call the command.
const CALLS: [&str; 4] = ["cohesim ", "$cohesim ", "target/release/cohesim ", "cargo run --release -- "];

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "target" && !name.starts_with('.') => pages(&path, found),
            false if name.ends_with(".md") => found.push(path),
            _ => {}
        }
    }
}

/// Commands of a page's indented lines, with lines that end in `\` put together.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(rest) =
            line.strip_prefix("    ").and_then(|line| CALLS.iter().find_map(|call| line.strip_prefix(call)))
        else {
            continue;
        };
        let mut command = rest.to_owned();
        while command.trim_end().ends_with('\\') {
            command = command.trim_end().trim_end_matches('\\').to_owned() + lines.next().unwrap_or_default().trim();
        }
        commands.push(command);
    }
    commands
}

/// The words of a command as a shell makes them, up to a comment, a pipe or a redirection.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#' | '|' | '>' | ';' | '&') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Values of an option, up to `--`.
fn values<'a>(words: &'a [String], option: &'a str) -> impl Iterator<Item = &'a str> {
    let own = words.iter().position(|word| word == "--").map_or(words, |end| &words[..end]);
    own.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1].as_str())
}

/// Whether the word stands for something that a reader has: a file, a folder, a variable, or a name in capitals.
fn readers_own(word: &str) -> bool {
    word.contains(['/', '.', '$', '<']) || word.chars().all(|letter| letter.is_ascii_uppercase())
}

/// What is wrong with a command, if anything.
fn wrong(words: &[String]) -> Option<String> {
    let line = std::iter::once("cohesim").chain(words.iter().map(String::as_str));
    match Cli::try_parse_from(line) {
        Err(error) if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Some(error.to_string());
        }
        _ => {}
    }
    let sets: Vec<String> = values(words, "--set").map(str::to_owned).collect();
    let systems = values(words, "--system").chain(values(words, "--systems").flat_map(|names| names.split(',')));
    for system in systems.filter(|system| !readers_own(system)) {
        if !shipped().any(|name| name == system) {
            return Some(format!("there is no machine '{system}'"));
        }
        if sets.iter().any(|set| set.ends_with("=NAME")) {
            continue;
        }
        if let Err(error) = Machine::examine(system, &sets) {
            return Some(error.to_string());
        }
    }
    let [command, name, ..] = words else { return None };
    let known = match command.as_str() {
        "run" | "compare" => {
            let names = workloads::ALL.iter().map(|workload| workload.name);
            names.chain(workloads::CPU_PROGRAMS.iter().map(|program| program.name)).any(|known| known == name)
        }
        "repro" => figures::find(name).is_some(),
        _ => true,
    };
    (!known && !readers_own(name)).then(|| format!("{command}: there is no '{name}'"))
}

#[test]
fn commands_that_pages_show_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    pages(&root, &mut found);
    let (mut count, mut mistakes) = (0, Vec::new());
    for page in found {
        let text = fs::read_to_string(&page).expect("the page can be read");
        for command in commands(&text) {
            count += 1;
            let mistake = wrong(&words(&command));
            mistakes.extend(mistake.map(|mistake| format!("{}: {command}\n  {mistake}", page.display())));
        }
    }
    assert!(count > 60, "only {count} commands were found");
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn a_command_that_is_not_understood_is_noticed() {
    let says = |command: &str| wrong(&words(command)).unwrap_or_default();
    assert!(says("run matmul --sytem r9nano").contains("--sytem"));
    assert!(says("run matmul --system r9nono -- --size 64").contains("there is no machine 'r9nono'"));
    assert!(says("run matmul --system r9nano --set gpu.l2.sise=1MiB").contains("sise"));
    assert!(says("run matmull --system r9nano").contains("there is no 'matmull'"));
    assert!(says("repro halcone-fig77").contains("there is no 'halcone-fig77'"));
    assert_eq!(says("run matmul --set 'memory.kind=hbm' --system r9nano -- --size 64   # with \"HBM\""), "");
}
