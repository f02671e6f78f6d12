//! A test of the commands in the documentation: this program must accept each of them, and the machines, programs and
//! experiments that they name must exist.

#[path = "../tests/pages/mod.rs"]
mod pages;

use super::Cli;
use clap::{Parser, error::ErrorKind};
use machine::{Machine, shipped};
use pages::{readers_own, words};

/// Values of an option, up to `--`.
fn values<'a>(words: &'a [String], option: &'a str) -> impl Iterator<Item = &'a str> {
    let own = words.iter().position(|word| word == "--").map_or(words, |end| &words[..end]);
    own.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1].as_str())
}

/// The error in a command, if there is one.
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
    let commands = pages::commands();
    let mistakes: Vec<String> = (commands.iter())
        .filter_map(|shown| {
            let mistake = wrong(&words(&shown.command))?;
            Some(format!("{}: {}\n  {mistake}", shown.page.display(), shown.command))
        })
        .collect();
    assert!(commands.len() > 60, "only {} commands were found", commands.len());
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
