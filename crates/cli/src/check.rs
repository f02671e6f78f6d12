//! `cohesim check PROTOCOL|all`: searches all interleavings of a small system for forbidden states.

mod mutants;
mod search;

use miette::miette;
use protocol::{
    catalogue::{self, Protocol, Setup},
    check::Limits,
};

use crate::ui::Ui;

/// Check a coherence protocol: every interleaving of messages on small systems.
#[derive(clap::Args)]
pub struct Check {
    /// The protocol (see `cohesim list protocols`), `NAME:SYSTEM` for one of its systems (`adsm:lazy`), or `all`.
    #[arg(required_unless_present = "mutants", default_value = "all", hide_default_value = true)]
    protocol: String,
    /// Number of caches (for ADSM: accelerators) [default: 3; 2 for the largest protocols and with --mutants].
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=6))]
    caches: Option<u8>,
    /// Number of lines (for ADSM at least one for each accelerator).
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    lines: u8,
    /// Number of stores; each writes a different value.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=7))]
    values: u8,
    /// Give up beyond this many states [default: 50 million; with --mutants 20 thousand for each change].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    max_states: Option<u32>,
    /// Change every cell of the tables in turn, and list the changes that the checker does not detect. Random walks
    /// over the protocol's systems, the larger ones included, come first, then searches.
    #[arg(long)]
    mutants: bool,
    /// With --mutants: number of random walks for each system.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    walks: u32,
}

/// A protocol, and the selected systems of it.
struct Chosen {
    protocol: &'static Protocol,
    systems: &'static [Setup],
}

impl Check {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let chosen = choose(&self.protocol)?;
        if self.mutants { self.try_mutants(&chosen, ui) } else { self.check(&chosen, ui) }
    }

    fn limits(&self, setup: &Setup) -> Limits {
        let states = self.max_states.unwrap_or(if self.mutants { 20_000 } else { 50_000_000 });
        Limits { values: self.values, rounds: setup.rounds, states: states as usize, threads: 1 }
    }
}

/// One thread per core; results do not depend on the number.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn choose(name: &str) -> miette::Result<Vec<Chosen>> {
    if name == "all" {
        return Ok(catalogue::ALL.iter().map(|protocol| Chosen { protocol, systems: protocol.systems }).collect());
    }
    let (name, system) = name.split_once(':').map_or((name, None), |(name, system)| (name, Some(system)));
    let protocol = catalogue::find(name).ok_or_else(|| {
        miette!("there is no protocol '{name}': `cohesim list protocols` lists them; 'all' selects every one")
    })?;
    let systems = match system {
        None => protocol.systems,
        Some(system) => std::slice::from_ref(protocol.system(system).ok_or_else(|| {
            let names: Vec<_> = protocol.systems.iter().chain(protocol.larger).map(|setup| setup.name).collect();
            miette!("{name} has no system '{system}': it is checked on {}", names.join(", "))
        })?),
    };
    Ok(vec![Chosen { protocol, systems }])
}
