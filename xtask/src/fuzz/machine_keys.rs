//! Machines with a few randomly changed keys: each is rejected with an error that names what is wrong, or works.
//!
//! Keys and their permitted words are extracted from the loader's own errors, so a new key is tested as soon as it
//! exists. An accepted machine runs the random tester with every read checked. Some cases also run with two threads,
//! which must give equal statistics, and some run a small program.

use super::{
    case::{Case, Did, Target},
    guest::{self, Failed, Guest},
    random::Random,
};
use engine::Outcome;
use machine::{File, Machine, Options, Stress, shipped, stress};
use os::End;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use workloads::{Size, Timed};

pub const TARGET: Target = Target {
    name: "machine-keys",
    about: "shipped machines with keys changed to legal, extreme and wrong values",
    share: 6,
    chunk: 50,
    quick: 600,
    run,
};

/// A key of a machine such as `gpu.l2.ways`, its value, and the words that it permits.
#[derive(Clone)]
struct Key {
    path: String,
    value: Option<String>,
    words: Vec<String>,
}

/// Errors of a kernel that needs more resources than the machine has: not a failure.
const TOO_SMALL: [&str; 2] = ["does not fit a compute unit", "for more lines of one vector access than it has"];

fn run(case: &mut Case) -> Result<Did, String> {
    let names: Vec<&str> = shipped().collect();
    let name = case.random.pick(&names);
    let keys = keys(name);
    let mut sets = Vec::new();
    for _ in 0..=case.random.below(4) {
        let key = case.random.pick(&keys);
        sets.push(format!("{}={}", key.path, value(&key, &mut case.random)));
    }
    // Few elements are quicker to build; in some cases the other keys get minimal values.
    let mut around = if case.random.one_in(30) { Vec::new() } else { small(name) };
    if case.random.one_in(2) {
        let tight = tight(&keys, &mut case.random);
        around.extend(fitting(name, tight));
    }
    around.extend(sets);
    let sets = case.steps(around);
    let options: String = sets.iter().map(|set| format!(" --set '{set}'")).collect();
    case.note(&format!("--system {name}{options}"));
    // Changes without effect are accepted, otherwise few cases would get further.
    let (machine, idle) = match Machine::examine(name, &sets) {
        Ok(examined) => examined,
        Err(error) => return refused(&sets, &error.to_string()),
    };
    if Machine::load(name, &sets).err() != idle.first().map(|idle| idle.error.clone()) {
        return Err(format!("it is not refused by the first of {} changes without effect", idle.len()));
    }
    let has_effect = |set: &&String| !idle.iter().any(|idle| set.starts_with(&format!("{}=", idle.key)));
    let options: String = sets.iter().filter(has_effect).map(|set| format!(" --set '{set}'")).collect();
    let stress = accesses(case, &machine);
    case.note(&format!(
        "cohesim stress --as-is --system {name}{options} --operations {} --lines {} --seed {} (about)",
        stress.operations, stress.lines, stress.seed
    ));
    let (twice, program) = (case.random.one_in(8), case.random.one_in(6));
    let first = checked(&machine, stress, 1)?;
    if twice && checked(&machine, stress, 2)? != first {
        return Err("statistics in two threads differ from those in one".to_owned());
    }
    match if program { self::program(&machine) } else { Ok(()) } {
        Err(error) if !TOO_SMALL.iter().any(|reason| error.contains(reason)) => Err(error),
        _ => Ok(Did::Ran),
    }
}

/// Accepts an error only if it names a changed key.
fn refused(sets: &[String], error: &str) -> Result<Did, String> {
    let path = |set: &String| set.split('=').next().unwrap_or_default().to_owned();
    let names = |path: String| {
        let (section, key) = path.rsplit_once('.').unwrap_or(("", &path));
        error.contains(key) || !section.is_empty() && error.contains(&format!("[{section}"))
    };
    if sets.iter().map(path).any(names) {
        Ok(Did::Refused)
    } else {
        Err(format!("it is refused with an error that names none of the changed keys: {error}"))
    }
}

fn accesses(case: &mut Case, machine: &Machine) -> Stress {
    let cores = machine.cpu.as_ref().map_or(0, |cpu| 2 * cpu.cores);
    let testers = (machine.gpus * machine.compute_units() + cores).max(1) as u64;
    let round = (case.random.pick(&[200, 400, 1200]) / testers).clamp(3, 60);
    let lines = case.random.pick(&[1, 3, 8, 24, 96, 300]);
    let outstanding = case.random.pick(&[1, 4, 12]);
    Stress { operations: 2 * round * testers, seed: case.seed, lines, round, outstanding }
}

/// The statistics of a run that ended well.
fn checked(machine: &Machine, accesses: Stress, threads: usize) -> Result<String, String> {
    let run = stress(machine, accesses, &Options { threads, check: true, ..Options::default() });
    match run.outcome {
        Outcome::Finished => Ok(format!("{:?}", run.regions)),
        other => Err(format!("the random tester in {threads} threads: {other}")),
    }
}

/// A small program on the machine: a kernel and, on cores, host code.
fn program(machine: &Machine) -> Result<(), String> {
    let vecadd = workloads::find("vecadd").ok_or("vecadd is built in")?;
    if machine.cpu.is_some() || !machine.serves_rust_hosts() {
        let mut guest = Guest::new(workloads::guest().to_vec());
        guest.arguments = ["vecadd", "--size", "tiny"].map(|word| word.as_bytes().to_vec()).to_vec();
        guest.time = engine::Time::micros(10_000_000);
        guest.instructions = 20_000_000;
        return match guest::on(machine, &guest, 1) {
            Ok(ended) if ended.end == End::Exited { code: 0 } || matches!(ended.end, End::TimeLimit { .. }) => Ok(()),
            Ok(ended) => Err(format!("vecadd: {}; {}", ended.end, String::from_utf8_lossy(&ended.out))),
            Err(Failed::Refused(error)) => Err(format!("vecadd: {error}")),
            Err(Failed::Wrong(error)) => Err(format!("vecadd: {error}")),
        };
    }
    let options = Options { check: true, ..Options::default() };
    let mut gpu = Timed::new(vecadd.object, machine, &options).map_err(|error| format!("vecadd: {error}"))?;
    (vecadd.run)(Size::Tiny, &mut gpu).map_err(|error| format!("vecadd: {error}"))?;
    gpu.finish().map(|_| ()).map_err(|error| format!("vecadd: {error}"))
}

/// Changes that make a machine as small as its kind permits.
fn small(name: &str) -> Vec<String> {
    let wanted = ["gpu.arrays=2", "gpu.units_per_array=2", "cpu.cores=2", "system.slices=2", "system.channels=2"];
    let has = |set: &&&str| set.starts_with("gpu.") || name.starts_with("apu");
    fitting(name, wanted.iter().filter(has).map(|set| (*set).to_owned()).collect())
}

/// The subset of changes with which the machine is still accepted.
fn fitting(name: &str, mut sets: Vec<String>) -> Vec<String> {
    if Machine::examine(name, &sets).is_ok() {
        return sets;
    }
    let mut at = 0;
    while at < sets.len() {
        if Machine::examine(name, &sets[..=at]).is_ok() { at += 1 } else { _ = sets.remove(at) }
    }
    sets
}

/// Random short queues and small counts.
fn tight(keys: &[Key], random: &mut Random) -> Vec<String> {
    const FEW: [&str; 10] = [
        "mshrs",
        "waiting",
        "capacity",
        "outstanding",
        "misses",
        "read_queue",
        "write_queue",
        "entries",
        "walkers",
        "lookups",
    ];
    let is_few = |key: &&Key| key.value.is_some() && FEW.iter().any(|few| key.path.rsplit('.').next() == Some(*few));
    let mut sets: Vec<String> = Vec::new();
    for key in keys.iter().filter(is_few) {
        if random.one_in(2) {
            sets.push(format!("{}={}", key.path, 1 + random.below(4)));
        }
    }
    sets
}

/// A value for a key: mostly of its kind, sometimes extreme, rarely of another kind.
fn value(key: &Key, random: &mut Random) -> String {
    const WRONG: &[&str] =
        &["-1", "1.5", "true", "\"\"", "many", "[1]", "\"1 parsec\"", "{ a = 1 }", "0x10", "\"-5 ns\"", "1e9", "inf"];
    let old = key.value.as_deref().unwrap_or("1");
    if random.one_in(20) {
        return random.pick(WRONG).to_owned();
    }
    if !key.words.is_empty() && !random.one_in(8) {
        return random.pick(&key.words);
    }
    if old == "true" || old == "false" {
        return random.pick(&["true", "false"]).to_owned();
    }
    let digits = old.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(old.len());
    let unit = old[digits..].trim();
    let number = match old[..digits].parse::<u64>() {
        Ok(number) => number,
        Err(_) => return random.pick(&["1", "0", "\"none\"", "\"direct\"", "64"]).to_owned(),
    };
    // Most keys that count bytes or lines accept only powers of two.
    if number.is_power_of_two() && number > 1 && random.one_in(3) {
        let power = 1_u64 << random.below(14);
        return if unit.is_empty() { power.to_string() } else { format!("{power} {unit}") };
    }
    let new = match random.below(20) {
        0 => 0,
        1 | 2 => 1,
        3 => 2,
        4 => number.saturating_mul(2),
        5 => number / 2,
        6 => number + 1,
        7 => number.saturating_sub(1),
        8 => 1 << random.below(12),
        9 => 3 + random.below(100) as u64,
        10 => number.saturating_mul(1000),
        11 => random.pick(&[65_535, 65_536, 1 << 20, u64::from(u32::MAX), 1 << 32, i64::MAX as u64]),
        12 => (1 << (6 + random.below(20))) - 1,
        _ => 1 + random.below(64) as u64,
    };
    match unit {
        "" => new.to_string(),
        _ => format!("{new} {}", if random.one_in(8) { other(unit, random) } else { unit.to_owned() }),
    }
}

/// Another unit of the same kind.
fn other(unit: &str, random: &mut Random) -> String {
    const KINDS: [&[&str]; 4] = [
        &["B", "KiB", "MiB", "GiB"],
        &["fs", "ps", "ns", "us", "ms"],
        &["Hz", "kHz", "MHz", "GHz"],
        &["B/s", "MB/s", "GB/s"],
    ];
    KINDS.iter().find(|kind| kind.contains(&unit)).map_or_else(|| unit.to_owned(), |kind| random.pick(kind).to_owned())
}

static KNOWN: Mutex<BTreeMap<String, Vec<Key>>> = Mutex::new(BTreeMap::new());

/// Every key of a machine, including those that its file omits.
fn keys(name: &str) -> Vec<Key> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(name.to_owned()).or_insert_with(|| ask_for_keys(name)).clone()
}

fn ask_for_keys(name: &str) -> Vec<Key> {
    let file = File::load(name, &[]).expect("a shipped machine can be read");
    let path = |section: &str, key: &str| if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
    let mut keys: BTreeMap<String, Option<String>> = BTreeMap::new();
    for parameter in file.parameters().into_iter().filter(|parameter| parameter.key != "about") {
        keys.insert(path(&parameter.section, &parameter.key), Some(parameter.value));
    }
    let sections: Vec<String> =
        keys.keys().map(|key| key.rsplit_once('.').map_or("", |(section, _)| section).to_owned()).collect();
    for section in sections {
        let error = refusal(name, &path(&section, "no_such_key"), "1");
        let names = error.split("its keys: ").nth(1).unwrap_or_default();
        for key in names.split(", ").map(str::trim).filter(|key| !key.is_empty() && *key != "about") {
            keys.entry(path(&section, key)).or_insert(None);
        }
    }
    let words = |path: &str, value: &Option<String>| {
        let is_word =
            value.as_ref().is_some_and(|value| value.starts_with(|letter: char| letter.is_ascii_alphabetic()));
        let error = if is_word { refusal(name, path, "no-such-word") } else { String::new() };
        let listed = error.split("must be one of ").nth(1).unwrap_or_default().lines().next().unwrap_or_default();
        let listed = listed.split(" (").next().unwrap_or_default().to_owned();
        listed.split(", ").filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    keys.into_iter().map(|(path, value)| Key { words: words(&path, &value), path, value }).collect()
}

fn refusal(name: &str, path: &str, value: &str) -> String {
    Machine::load(name, &[format!("{path}={value}")]).err().map(|error| error.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_lists_its_keys_and_words() {
        let keys = keys("apu-c-l3");
        let key = |path: &str| keys.iter().find(|key| key.path == path).expect("it is a key");
        assert_eq!(key("gpu.l2.ways").value.as_deref(), Some("16"));
        assert_eq!(key("gpu.l1v.ports").value, None, "a key that the file leaves out");
        assert!(key("system.network.kind").words.contains(&"mesh".to_owned()));
    }

    #[test]
    fn an_error_must_name_the_key() {
        let sets = ["gpu.l2.ways=0".to_owned()];
        assert_eq!(refused(&sets, "--set gpu.l2.ways=0: [gpu.l2] ways: must be at least 1"), Ok(Did::Refused));
        assert!(refused(&sets, "something is wrong").is_err());
    }
}
