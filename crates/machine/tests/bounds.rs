//! Every number of every machine file set to absurd values: the file is rejected, or the machine can be built.

use machine::{File, Machine, Options, Stress, shipped, stress};

/// The unit of a value that is a number; `None` if it is not a number.
fn unit(value: &str) -> Option<&str> {
    let end = value.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(value.len());
    let unit = value[end..].trim();
    (end > 0 && ["", "B", "KiB", "MiB", "GiB", "Hz", "GHz", "MHz", "ns", "us", "ms", "GB/s"].contains(&unit))
        .then_some(unit)
}

/// The changes that set each number of a machine to 0, 1, and numbers that are far too large.
fn changes(name: &str) -> Vec<String> {
    let parameters = File::load(name, &[]).unwrap().parameters();
    let numbers = parameters.iter().filter_map(|parameter| Some((parameter, unit(&parameter.value)?)));
    let keys = numbers.map(|(parameter, unit)| match parameter.section.as_str() {
        "" => (parameter.key.clone(), unit.to_owned()),
        section => (format!("{section}.{}", parameter.key), unit.to_owned()),
    });
    keys.flat_map(|(key, unit)| [0, 1, 1 << 31, i64::MAX].map(|value| format!("{key}={value}{unit}"))).collect()
}

#[test]
fn every_number_of_every_machine_is_bounded() {
    for name in shipped() {
        let meant = |change: &String| change.contains("9223372036854775807") && !change.contains("jitter_seed");
        let huge: Vec<String> = changes(name).into_iter().filter(meant).collect();
        assert!(huge.len() > 60, "{name} has {} numbers", huge.len());
        for change in huge {
            let loaded = Machine::load(name, std::slice::from_ref(&change));
            let refused = loaded.err().unwrap_or_else(|| panic!("{name} is built with {change}")).to_string();
            assert!(refused.starts_with(&format!("--set {change}: ")), "{refused}");
        }
    }
}

#[test]
fn a_machine_whose_numbers_are_accepted_can_be_built() {
    let nothing = Stress { operations: 0, seed: 1, lines: 1, round: 1, outstanding: 1 };
    // One machine per family; the larger ones differ only in numbers.
    for name in ["skeleton", "mini-halcone", "mini-nmoesi", "apu-c-l3"] {
        let mut built = 0;
        for change in changes(name) {
            let mut changes = vec![change.clone()];
            if name == "apu-c-l3" && !change.starts_with("cpu.cores") {
                changes.push("cpu.cores=2".to_owned());
            }
            let Ok(machine) = Machine::load(name, &changes) else { continue };
            let run = stress(&machine, nothing, &Options::default());
            assert_eq!(run.outcome.to_string(), "finished", "{name} with {change}");
            built += 1;
        }
        assert!(built > 50, "{name}: only {built} of the changes are accepted");
    }
}
