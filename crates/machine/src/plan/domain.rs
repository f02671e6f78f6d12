//! Coherence domains: which caches a protocol keeps coherent, and what their readers are promised.

use crate::{cpu_complex::Join, golden::Image, spec::Machine};
use protocol::roles::Sees;

/// The caches that one protocol keeps coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The name of the protocol.
    pub protocol: &'static str,
    pub members: Members,
    pub sees: Sees,
}

/// The members of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// The CPU's caches, and those of GPUs: the CPU's directory tracks them, or directories of memory track both.
    All,
    Cpu,
    Gpus,
}

impl Domain {
    /// The domains of a machine: one, or one of the CPU and one of the GPUs, which join in memory.
    pub fn all(machine: &Machine) -> Vec<Self> {
        let gpus =
            Self { protocol: machine.protocol.name, members: Members::Gpus, sees: machine.protocol.protocol.sees };
        match &machine.cpu {
            None => vec![gpus],
            Some(complex) if complex.join == Join::LastLevel => {
                vec![Self { members: Members::All, sees: Sees::Newest, ..gpus }]
            }
            Some(complex) if complex.join == Join::Directories => vec![Self { members: Members::All, ..gpus }],
            Some(_) => vec![Self { protocol: "mesi", members: Members::Cpu, sees: Sees::Newest }, gpus],
        }
    }

    /// The golden image of a machine with these domains. `sides`: the domain of each reporting element.
    pub fn image(domains: &[Self], sides: Vec<Option<crate::golden::Side>>, several_gpus: bool) -> Image {
        match domains {
            [only] => match only.sees {
                Sees::Newest => Image::coherent(),
                Sees::ByTime => Image::timed(),
                Sees::UntilSynchronised => Image::stale(),
            },
            [_, gpus, ..] => Image::two_domains(sides, gpus.sees, several_gpus),
            [] => unreachable!("a machine has caches"),
        }
    }
}
