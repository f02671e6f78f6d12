//! Tries every combination of host, GPUs, memory, fabric, protocol and translation: each must be rejected with a clear
//! error, or work.
//!
//! The errors of all rejected combinations are kept in `tests/compose.txt`. Accepted combinations are stressed with the
//! smallest caches and queues, with every read checked, and run a tiny program, with one thread and with two, whose
//! statistics must be equal. Without `--all`, only enough combinations run to cover every pair of choices that occurs
//! in an accepted one.

use crate::{
    cover::{self, Combination, pairwise},
    diff_programs,
    guests::Scratch,
};
use machine::Machine;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const USAGE: &str = "usage: cargo xtask compose [--all] [--update] [--cohesim PATH] [--only TEXT]";

/// Dimensions, each with its choices.
type Dimensions = &'static [(&'static str, &'static [&'static str])];

const PROTOCOLS: &[&str] =
    &["wb_nc", "wb_fetch", "wt_nc", "halcone", "gtsc", "hmg", "mesi", "mesi_alone", "nmoesi", "nmoesi_wb"];

/// Machines without a fabric between chips, and machines with one. A dimension missing from a set has the first choice
/// of the other set.
const SETS: [Dimensions; 2] = [
    &[
        ("host", &["outside", "l3", "memory"]),
        ("gpus", &["1", "2", "3"]),
        ("memory", &["fixed-100", "hbm", "levels"]),
        ("network", &["direct", "crossbar", "ring", "mesh", "bus"]),
        ("protocol", PROTOCOLS),
        ("translation", &["none", "iommu"]),
    ],
    &[
        ("host", &["outside", "l3", "memory"]),
        ("gpus", &["1", "3"]),
        ("memory", &["local-l1", "local-l2", "common", "stacks", "host"]),
        ("fabric", &["none", "pcie3", "pcie4", "nvlink", "switch-complex", "bounded-switch"]),
        ("protocol", PROTOCOLS),
    ],
];

/// A machine: the index of its set, and one choice per dimension.
type Chosen = (usize, Combination);

/// `compose [--all] [--update] [--cohesim PATH] [--only TEXT]`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let (mut all, mut update, mut cohesim, mut only) = (false, false, None, "");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--all" => all = true,
            "--update" => update = true,
            "--cohesim" => cohesim = Some(PathBuf::from(rest.next().ok_or(USAGE)?)),
            "--only" => only = rest.next().ok_or(USAGE)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let (mut legal, mut refused) = (Vec::new(), BTreeMap::new());
    let of_set = |set: usize| {
        let choices: Vec<usize> = SETS[set].iter().map(|(_, choices)| choices.len()).collect();
        cover::combinations(&choices).into_iter().map(move |combination| (set, combination))
    };
    let combinations: Vec<Chosen> = (0..SETS.len()).flat_map(of_set).collect();
    let count = combinations.len();
    let scratch = Scratch::new("compose")?;
    for combination in combinations {
        let path = write(&combination, &scratch.0)?;
        match Machine::load(&path, &[]) {
            Ok(_) => legal.push(combination),
            // The file's path is not part of the error.
            Err(error) => _ = refused.insert(named(&combination), error.to_string().replace(&path, "composed")),
        }
    }
    compare(&root.join("tests/compose.txt"), &refused, update)?;
    let (of, kinds) = (legal.len(), refused.len());
    let of_set =
        |set: usize| legal.iter().filter(move |(of, _)| *of == set).map(|(_, combination)| combination.clone());
    let cover = |set: usize| pairwise(&of_set(set).collect::<Vec<_>>()).into_iter().map(move |found| (set, found));
    let mut chosen = if all { legal } else { (0..SETS.len()).flat_map(cover).collect() };
    chosen.retain(|combination| named(combination).contains(only));
    let cohesim = cohesim.map_or_else(|| diff_programs::build(root), Ok)?;
    let cohesim = cohesim.canonicalize().map_err(|error| format!("{}: {error}", cohesim.display()))?;
    let wrong = cover::each(&chosen, |combination| try_one(&cohesim, combination, &scratch.0).err());
    if !wrong.is_empty() {
        return Err(format!("{} machines do not work:\n{}", wrong.len(), wrong.join("\n")));
    }
    let tried = chosen.len();
    Ok(format!(
        "compose: of {count} combinations {kinds} are refused, with an error that names a key, and {of} are legal; {tried} of these were stressed, every read checked, and ran a program, with one thread and with two alike"
    ))
}

fn choice((set, combination): &Chosen, dimension: &str) -> &'static str {
    let known = SETS[*set].iter().zip(combination).find(|((name, _), _)| *name == dimension);
    let first = || SETS.iter().flat_map(|set| set.iter()).find(|(name, _)| *name == dimension);
    let chosen = known.map(|((_, choices), choice)| choices[*choice]);
    chosen.or_else(|| first().map(|(_, choices)| choices[0])).expect("a dimension has this name")
}

fn named((set, combination): &Chosen) -> String {
    let choices = SETS[*set].iter().zip(combination).map(|((_, choices), choice)| choices[*choice]);
    choices.collect::<Vec<_>>().join(" ")
}

/// Writes the machine file of a combination, and returns its path.
fn write(combination: &Chosen, folder: &Path) -> Result<String, String> {
    let path = folder.join(named(combination).replace(' ', "_") + ".toml");
    fs::write(&path, machine(combination)).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

/// The machine file of a combination, made from parts.
fn machine(combination: &Chosen) -> String {
    let of = |dimension| choice(combination, dimension);
    let (outside, levels) = (of("host") == "outside", of("memory") == "levels");
    let memory = if of("memory") == "hbm" { "hbm" } else { "fixed-100" };
    let mut text = format!(
        r#"about = "a combination: {}"
protocol = "{}"
gpus = {}
wires.part = "r9nano"
partitions = {{ arrays = 1, l2 = 1 }}

[gpu]
part = "r9nano"
arrays = 2
units_per_array = 1

[gpu.l2]
size = "64 KiB"
banks = 2
interleave = "4 KiB"

[gpu.network]
kind = "{}"

[memory]
part = "{memory}"
"#,
        named(combination),
        of("protocol"),
        of("gpus"),
        of("network"),
    );
    text += &on_fabric(combination, outside);
    if levels {
        text += r#"
[gpu.memory]
part = "umh-level"
size = "64 KiB"
ways = 4
block = "256 B"

[wires.gpu_host]
latency = "100 ns"
capacity = 16
"#;
    }
    text += match (of("translation"), outside) {
        ("none", true) => "",
        ("none", false) => "\n[gpu.mmu]\nkind = \"none\"\n",
        _ => {
            "\n[gpu.mmu]\nkind = \"iommu\"\nentries = 16\nways = 4\nlookups = 1\nmisses = 4\nwaiting = 16\nshootdown = 25\n"
        }
    };
    text += match (of("translation"), outside) {
        ("iommu", true) => {
            "\n[system.iommu]\nkind = \"flat\"\nlatency = \"6 ns\"\ncapacity = 16\nentries = 64\nways = 4\nlookups = 1\nmisses = 8\nwalkers = 2\nflat = 100\nshootdown = 25\n"
        }
        _ => "",
    };
    if !outside {
        let join = of("host");
        let copies = if ["local-l1", "local-l2", "common"].contains(&of("memory")) { "dma" } else { "core" };
        text += &format!(
            r#"
[cpu]
part = "m2s-core"
cores = 2

[system]
part = "m2s-ring"
slices = 2
channels = 2
join = "{join}"
memory = "shared"
copies = "{copies}"
"#
        );
    }
    text
}

/// The sections of a fabric, and of memories on it.
fn on_fabric(combination: &Chosen, outside: bool) -> String {
    let of = |dimension| choice(combination, dimension);
    let remote = |from: &str| match of("gpus") {
        "1" => String::new(),
        _ => format!("\n[remote]\nfrom = \"{from}\"\n"),
    };
    let local = "\n[gpu.memory]\npart = \"fixed-100\"\nrole = \"local\"\nsize = \"1 GiB\"\n".to_owned();
    let dealt = "stacks = 2\nchannels = 2\n";
    let memory = match of("memory") {
        "local-l1" => local + &remote("l1"),
        "local-l2" => local + &remote("l2"),
        "common" => {
            format!("\n[gpu.memory]\npart = \"fixed-100\"\nrole = \"shared\"\nsize = \"1 GiB\"\n{dealt}")
        }
        "stacks" => format!("behind = \"fabric\"\n{dealt}"),
        // Beside a CPU, this memory is behind the CPU's system agent.
        "host" if outside => "behind = \"host\"\nchannels = 2\n".to_owned(),
        _ => String::new(),
    };
    let fabric = match of("fabric") {
        "none" => String::new(),
        "bounded-switch" => "\n[fabric]\npart = \"switch-complex\"\ntotal = \"300 GB/s\"\n".to_owned(),
        part => format!("\n[fabric]\npart = \"{part}\"\n"),
    };
    memory + &fabric
}

/// Compares the errors with the recorded ones, or with `update` records them.
fn compare(file: &Path, refused: &BTreeMap<String, String>, update: bool) -> Result<(), String> {
    let one_line = |error: &String| error.split_whitespace().collect::<Vec<_>>().join(" ");
    let head = "# Combinations that are refused, and why; `cargo xtask compose --update` writes this file anew.\n";
    let lines = refused.iter().map(|(name, error)| format!("{name} | {}\n", one_line(error)));
    let text = head.to_owned() + &lines.collect::<String>();
    if update {
        return fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()));
    }
    let kept = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let known: BTreeSet<&str> = kept.lines().collect();
    let found: BTreeSet<&str> = text.lines().collect();
    let different: Vec<String> = found
        .difference(&known)
        .map(|line| format!("  now:    {line}"))
        .chain(known.difference(&found).map(|line| format!("  before: {line}")))
        .collect();
    match different.is_empty() {
        true => Ok(()),
        false => Err(format!("other combinations are refused, or for other reasons:\n{}", different.join("\n"))),
    }
}

fn try_one(cohesim: &Path, combination: &Chosen, scratch: &Path) -> Result<(), String> {
    let (name, path) = (named(combination), write(combination, scratch)?);
    let run = |command: &mut Command| -> Result<Vec<u8>, String> {
        let told = command.current_dir("/tmp").output().map_err(|error| format!("{}: {error}", cohesim.display()))?;
        let failed = || format!("{name}: {command:?}: {}\n{}", told.status, String::from_utf8_lossy(&told.stderr));
        if told.status.success() { Ok(told.stdout) } else { Err(failed()) }
    };
    let stress = |threads: &str| {
        let mut command = Command::new(cohesim);
        command.args(["stress", "--json", "--operations", "2k", "--threads", threads, "--system", &path]);
        let told: serde_json::Value = serde_json::from_slice(&run(&mut command)?).map_err(|error| error.to_string())?;
        Ok::<_, String>(told["runs"][0]["statistics_sha256"].as_str().unwrap_or_default().to_owned())
    };
    if stress("1")? != stress("2")? {
        return Err(format!("{name}: statistics of stress differ between one thread and two"));
    }
    let program = |threads: &str| {
        let out = scratch.join(format!("{} {threads}", name.replace(' ', "_")));
        let mut command = Command::new(cohesim);
        command.args(["run", "histogram", "--check", "--threads", threads, "--system", &path, "--out"]).arg(&out);
        run(command.args(["--", "--size", "tiny"]))?;
        fs::read(out.join("stats.json")).map_err(|error| format!("{}: {error}", out.display()))
    };
    match program("1")? == program("2")? {
        true => Ok(()),
        false => Err(format!("{name}: statistics of a program differ between one thread and two")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_that_a_machine_can_have_is_among_them() {
        let mut all: Vec<&str> = protocol::catalogue::Choice::all().map(|choice| choice.name).collect();
        let mut composed = PROTOCOLS.to_vec();
        all.sort_unstable();
        composed.sort_unstable();
        assert_eq!(composed, all);
    }
}
