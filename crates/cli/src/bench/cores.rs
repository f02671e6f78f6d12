//! The rows of `cohesim bench machine` for a CPU: a program of microbenchmarks that runs on the machine's first core.

use crate::{
    guest::{GuestOptions, On, Output},
    progress::Progress,
    ui::Ui,
};
use clap::{Args, FromArgMatches};
use machine::{Implied, Machine, Options, implied};
use miette::{IntoDiagnostic, miette};
use std::collections::BTreeMap;
use workloads::Probe;

/// Measures the first core of a machine and its caches; in cycles of the core.
pub fn of_cores(machine: &Machine, ui: &Ui) -> miette::Result<Vec<Probe>> {
    let Some(cpu) = &machine.cpu else { return Ok(Vec::new()) };
    let matches =
        GuestOptions::augment_args(clap::Command::new("guest")).try_get_matches_from(["guest", "core-probes"]);
    let guest = GuestOptions::from_arg_matches(&matches.into_diagnostic()?).into_diagnostic()?;
    let options = Options::default();
    let progress = Progress::start("core-probes", &options.monitor, None, ui);
    let ran = guest.run(On::Machine(machine, &options), Output::Kept, &options.monitor, &progress)?;
    if ran.end.exit_code() != 0 {
        return Err(miette!("the probes of a core failed: {}", ran.end));
    }
    let picoseconds = parse(&ran.output.text)?;
    let cycles = |picoseconds: u64| picoseconds as f64 * cpu.clock.0 as f64 / 1e12;
    let rows = implied(machine).into_iter();
    let rows = rows.filter_map(|Implied { probe, what, cycles: implied }| {
        let measured = cycles(*picoseconds.get(probe)?);
        Some(Probe { what, unit: "cycles", implied: implied.unwrap_or(f64::NAN), measured })
    });
    Ok(rows.collect())
}

/// The lines of the program: a probe's name, and the picoseconds of a step.
fn parse(output: &str) -> miette::Result<BTreeMap<&str, u64>> {
    let line = |line: &'_ str| -> Option<(usize, u64)> {
        let (name, value) = line.split_once(' ')?;
        Some((name.len(), value.trim().parse().ok()?))
    };
    let parsed = output.lines().map(|text| line(text).map(|(end, value)| (&text[..end], value)));
    parsed.collect::<Option<_>>().ok_or_else(|| miette!("the probes of a core printed something else: {output}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_and_a_number() {
        assert_eq!(parse("l1 1000\nl2 4250\n").unwrap(), BTreeMap::from([("l1", 1000), ("l2", 4250)]));
        assert!(parse("l1 1000\nnothing\n").is_err());
    }
}
