//! The protocols by name: what a machine needs to be built with one, and the small systems it is checked on.

#[cfg(test)]
mod names;
mod systems;

use crate::roles::{
    BesideCpu, Boundary, Forget, Needs, OrderTables, Organisation, Parameters, Role, Seat, Seats, Sees, no_orders,
    nowhere,
};
use crate::{
    Controller, Table, adsm,
    check::{Ground, Limits, Survivor, System, Trial},
    gtsc, halcone, hmg,
    memory::{self, Memory},
    mesi, nmoesi, orders,
    vi_l1::{self, ViL1},
    wb_claims::ClaimingL2,
    wb_l2::{self, WriteBackL2},
    wt_l2::{self, WriteThroughL2},
};
use mem::{Bytes, LINE};
use std::sync::Arc;
use systems::{adsm as adsm_system, atomics, atomics_below, banks, not_coherent, one_each, vi};
pub(crate) use systems::{order, told};

/// A protocol.
pub struct Protocol {
    pub name: &'static str,
    /// Default number of caches with which it is checked: as many as a search of one or two minutes allows.
    pub caches: u8,
    pub about: &'static str,
    /// Its tables, from the core downwards.
    pub tables: &'static [&'static Table],
    /// The systems it is checked on. Together they should reach every cell of its tables.
    pub systems: &'static [Setup],
    /// Larger systems, which are not searched but explored by random walks. Some have a fixed number of caches and
    /// lines.
    pub larger: &'static [Setup],
    /// The protocol's storage cost in bits besides tags and data, if a paper states it.
    pub storage: Option<fn() -> Vec<Storage>>,
    /// Its controllers in a machine, and the tables of their orders.
    pub seats: Seats,
    pub orders: OrderTables,
    pub sees: Sees,
    pub needs: Needs,
    pub boundary: Boundary,
    /// Columns of its tables, by table and event, that only other protocols use: these have them checked.
    pub of_others: &'static [(&'static str, &'static str)],
    /// Variants of its controllers that a machine can select. They are checked on the same systems.
    pub variants: &'static [Variant],
}

/// A protocol with some other controller, under a name of its own.
pub struct Variant {
    pub name: &'static str,
    pub seats: Seats,
}

/// A protocol that a machine is built with.
#[derive(Clone, Copy)]
pub struct Choice {
    pub name: &'static str,
    pub protocol: &'static Protocol,
    pub parameters: Parameters,
    seats: Seats,
}

impl Choice {
    /// The protocol, or the variant, of that name; `None` if there is none that a machine can have.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|choice| choice.name == name)
    }

    /// All protocols and variants that a machine can select.
    pub fn all() -> impl Iterator<Item = Self> {
        let choices = ALL.iter().flat_map(|protocol| {
            let choice = |name, seats| Self { name, protocol, parameters: Parameters::default(), seats };
            let variants = protocol.variants.iter().map(move |variant| choice(variant.name, variant.seats));
            std::iter::once(choice(protocol.name, protocol.seats)).chain(variants)
        });
        choices.filter(|choice| choice.has(Role::L1))
    }

    pub fn has(&self, role: Role) -> bool {
        (self.seats)(role, &self.parameters).is_some()
    }

    /// The table of orders for a role; a bug in the machine's plan if there is none.
    pub fn orders(&self, role: Role) -> &'static Table {
        let table = (self.protocol.orders)(role, &self.parameters);
        table.unwrap_or_else(|| panic!("{} has nothing for the role {role:?}, which a plan asks for", self.name))
    }

    /// The controller for a role; a bug in the machine's plan if there is none.
    pub fn seat(&self, role: Role) -> Seat {
        let seat = (self.seats)(role, &self.parameters);
        seat.unwrap_or_else(|| panic!("{} has nothing for the role {role:?}, which a plan asks for", self.name))
    }
}

/// Bits that hardware has to keep, as bytes.
#[derive(Clone, Debug)]
pub struct Storage {
    pub what: &'static str,
    pub bytes: Bytes,
}

/// A kind of system that a protocol is checked on.
pub struct Setup {
    /// The system's name among those of its protocol.
    pub name: &'static str,
    /// Number of times its stages are repeated before the last stage of work, so that every cell is reached.
    pub rounds: u8,
    /// Builds the system with this number of caches and of lines.
    pub build: fn(caches: usize, lines: usize) -> System,
}

/// Memory performs atomic accesses where second-level caches pass them on: those of `wb_nc` and `wt_nc` do.
const ATOMICS_IN_MEMORY: &[(&str, &str)] = &[("memory", "Modify")];

/// A GPU whose second-level cache fetches the lines that it writes. Its table is also that of a cache that does not.
const FETCHES: Setup =
    Setup { name: "fetches", rounds: 1, build: |caches, lines| not_coherent(&WriteBackL2::FETCHING, &[caches], lines) };

impl Protocol {
    /// Whether a cell, or a change to one, is in a column that only other protocols use. `cell` is `wb: V on
    /// ModifyPast`, followed by the change if there is one.
    pub fn leaves_to_others(&self, cell: &str) -> bool {
        let is_at = |(table, event): &(&str, &str)| {
            cell.strip_prefix(table).and_then(|rest| rest.strip_prefix(": ")).is_some_and(|rest| {
                rest.split_once(" on ").is_some_and(|(_, rest)| rest.split(':').next() == Some(*event))
            })
        };
        self.of_others.iter().any(is_at)
    }

    /// The result of mutating the protocol's tables, without the columns that only other protocols use.
    pub fn own(&self, trial: Trial) -> Trial {
        let all = trial.survivors.len();
        let survivors: Vec<Survivor> = trial
            .survivors
            .into_iter()
            .filter(|survivor| survivor.met || !self.leaves_to_others(&survivor.name))
            .collect();
        Trial { changes: trial.changes - (all - survivors.len()), survivors }
    }
}

/// Every protocol.
pub static ALL: &[Protocol] = &[
    Protocol {
        name: "vi",
        caches: 3,
        about: "write-through L1s over one write-back L2; L1s are invalidated when a kernel starts",
        tables: &[
            &vi_l1::l1::TABLE,
            &wb_l2::wb::TABLE,
            &memory::memory::TABLE,
            &orders::orders_l1::TABLE,
            &orders::orders_l2::TABLE,
        ],
        systems: &[
            Setup { name: "one-gpu", rounds: 1, build: vi },
            Setup {
                name: "flushed",
                rounds: 1,
                build: |caches, lines| not_coherent(&WriteBackL2::ALONE, &[caches], lines),
            },
            Setup { name: "atomics", rounds: 1, build: |caches, lines| vi(caches.min(2), lines).with_atomics() },
            FETCHES,
        ],
        larger: &[Setup { name: "banks", rounds: 1, build: |_, _| banks(&WriteBackL2::ALONE) }],
        storage: None,
        seats: nowhere,
        orders: no_orders,
        sees: Sees::UntilSynchronised,
        needs: Needs { memory: &[Organisation::Host], cpu: BesideCpu::MustBeMember, peers: false },
        boundary: Boundary::COHERENT,
        of_others: &[("wb", "ModifyPast"), ("wb", "Modified"), ("memory", "Modify")],
        variants: &[],
    },
    Protocol {
        name: "wb_nc",
        caches: 3,
        about: "no coherence: a write-back L2 per GPU, flushed at a kernel's end, invalidated at its start",
        tables: &[
            &vi_l1::l1::TABLE,
            &wb_l2::wb::TABLE,
            &memory::memory::TABLE,
            &orders::orders_l1::TABLE,
            &orders::orders_l2::TABLE,
        ],
        systems: &[
            Setup {
                name: "gpus",
                rounds: 1,
                build: |caches, lines| not_coherent(&WriteBackL2::ALONE, &one_each(caches), lines),
            },
            Setup {
                name: "one-gpu",
                rounds: 1,
                build: |caches, lines| not_coherent(&WriteBackL2::ALONE, &[caches], lines),
            },
            Setup { name: "atomics", rounds: 1, build: |caches, lines| atomics(&WriteBackL2::ALONE, caches, lines) },
            FETCHES,
        ],
        larger: &[
            Setup { name: "banks", rounds: 1, build: |_, _| banks(&WriteBackL2::ALONE) },
            Setup { name: "fetches-atomics", rounds: 1, build: |_, _| atomics(&WriteBackL2::FETCHING, 2, 1) },
            Setup { name: "gpus-atomics", rounds: 1, build: |_, _| atomics_below(&WriteBackL2::SEVERAL, &[1, 1]) },
            Setup { name: "gpus-atomics-pair", rounds: 1, build: |_, _| atomics_below(&WriteBackL2::SEVERAL, &[2, 1]) },
        ],
        storage: None,
        seats: |role, parameters| match parameters.claims {
            true => over_memory(role, parameters, ClaimingL2),
            false => over_memory(role, parameters, WriteBackL2 { atomics: parameters.atomics, fetches: false }),
        },
        orders: forgetting,
        sees: Sees::UntilSynchronised,
        needs: Needs {
            memory: &[Organisation::Local, Organisation::Shared, Organisation::Host],
            cpu: BesideCpu::Memory,
            peers: false,
        },
        boundary: Boundary { stale_between_gpus: true, ..Boundary::COHERENT },
        of_others: &[],
        variants: &[Variant {
            name: "wb_fetch",
            seats: |role, parameters| {
                over_memory(role, parameters, WriteBackL2 { atomics: parameters.atomics, fetches: true })
            },
        }],
    },
    Protocol {
        name: "wt_nc",
        caches: 3,
        about: "no coherence: a write-through L2 per GPU, drained at a kernel's end, invalidated at its start",
        tables: &[
            &vi_l1::l1::TABLE,
            &wt_l2::wt::TABLE,
            &memory::memory::TABLE,
            &orders::orders_l1::TABLE,
            &orders::orders_l2::TABLE,
        ],
        systems: &[
            Setup {
                name: "gpus",
                rounds: 1,
                build: |caches, lines| not_coherent(&WriteThroughL2::ALONE, &one_each(caches), lines),
            },
            Setup {
                name: "one-gpu",
                rounds: 1,
                build: |caches, lines| not_coherent(&WriteThroughL2::ALONE, &[caches], lines),
            },
            Setup { name: "atomics", rounds: 1, build: |caches, lines| atomics(&WriteThroughL2::ALONE, caches, lines) },
        ],
        larger: &[
            Setup { name: "banks", rounds: 1, build: |_, _| banks(&WriteThroughL2::ALONE) },
            Setup { name: "gpus-atomics", rounds: 1, build: |_, _| atomics_below(&WriteThroughL2::SEVERAL, &[1, 1]) },
        ],
        storage: None,
        seats: |role, parameters| over_memory(role, parameters, WriteThroughL2 { atomics: parameters.atomics }),
        orders: forgetting,
        sees: Sees::UntilSynchronised,
        needs: Needs {
            memory: &[Organisation::Local, Organisation::Shared, Organisation::Host],
            cpu: BesideCpu::Memory,
            peers: false,
        },
        boundary: Boundary { stale_between_gpus: true, ..Boundary::COHERENT },
        of_others: &[],
        variants: &[],
    },
    Protocol {
        name: "mesi",
        caches: 3,
        about: "MESI with a directory for CPU cores and a GPU as one more core, in a shared last-level cache or at the \
                memory controller",
        tables: &[
            &mesi::l1i::l1i::TABLE,
            &mesi::l1d::l1d::TABLE,
            &mesi::l2::l2::TABLE,
            &mesi::l3::l3::TABLE,
            &mesi::l1v::l1v::TABLE,
            &mesi::gpu_l2::gpu_l2::TABLE,
            &mesi::mc::mc::TABLE,
            &memory::memory::TABLE,
            &orders::orders_l1_coherent::TABLE,
            &orders::orders_recalled::TABLE,
        ],
        systems: &[
            Setup { name: "gpu", rounds: 0, build: mesi::gpu },
            Setup { name: "gpu-alone", rounds: 0, build: mesi::gpu_alone },
            Setup { name: "cores", rounds: 0, build: mesi::cores },
            Setup { name: "fetch-apart", rounds: 0, build: mesi::fetch_apart },
            Setup { name: "fetch", rounds: 0, build: mesi::fetches },
            Setup { name: "apu", rounds: 0, build: mesi::apu },
            Setup { name: "apu-shares", rounds: 0, build: mesi::apu_shares },
            Setup { name: "apu-alone", rounds: 0, build: mesi::apu_alone },
            Setup { name: "recalled", rounds: 1, build: mesi::recalled },
            Setup { name: "no-llc", rounds: 0, build: mesi::no_llc },
            Setup { name: "fetch-no-llc", rounds: 0, build: mesi::fetch_no_llc },
            Setup { name: "gpu-no-llc", rounds: 0, build: mesi::gpu_no_llc },
            Setup {
                name: "atomics",
                rounds: 0,
                build: |caches, lines| mesi::cores(caches.min(2), lines).with_atomics(),
            },
            Setup {
                name: "gpu-atomics",
                rounds: 0,
                build: |caches, lines| mesi::gpu(caches.min(2), lines).with_atomics(),
            },
        ],
        larger: &[],
        storage: None,
        seats: mesi::seats,
        orders: mesi::orders,
        sees: Sees::Newest,
        needs: Needs {
            memory: &[Organisation::Shared, Organisation::Host],
            cpu: BesideCpu::MustBeMember,
            peers: false,
        },
        boundary: Boundary::COHERENT,
        of_others: ATOMICS_IN_MEMORY,
        variants: &[Variant { name: "mesi_alone", seats: mesi::seats_alone }],
    },
    Protocol {
        name: "nmoesi",
        caches: 2,
        about: "UMH: GPUs' memories as caches of blocks of the host's, with MOESI and stores that need not be coherent (N)",
        tables: &[
            &nmoesi::l1::nmoesi_l1::TABLE,
            &nmoesi::wt::nmoesi_wt::TABLE,
            &nmoesi::l2::nmoesi_l2::TABLE,
            &nmoesi::smd::smd::TABLE,
            &nmoesi::hmd::hmd::TABLE,
            &nmoesi::store::store::TABLE,
            &orders::orders_l1::TABLE,
            &orders::orders_passed_on::TABLE,
            &orders::orders_level::TABLE,
        ],
        systems: &[
            Setup { name: "stores", rounds: 0, build: nmoesi::stores },
            Setup { name: "l2-stores", rounds: 0, build: nmoesi::l2_stores },
            Setup { name: "beside-stores", rounds: 0, build: nmoesi::beside_stores },
            Setup { name: "n-stores", rounds: 1, build: nmoesi::n_stores },
            Setup { name: "mixed", rounds: 1, build: nmoesi::mixed },
            Setup { name: "block", rounds: 0, build: nmoesi::block },
            Setup { name: "block-home", rounds: 0, build: nmoesi::block_home },
            Setup { name: "block-apart", rounds: 0, build: nmoesi::block_apart },
            Setup { name: "cpu-lines", rounds: 0, build: nmoesi::cpu_lines },
            Setup { name: "beside-through", rounds: 1, build: nmoesi::beside_through },
            Setup { name: "block-cpu", rounds: 0, build: nmoesi::block_cpu },
            Setup { name: "l2-through", rounds: 1, build: nmoesi::l2_through },
            Setup { name: "l2-n-stores", rounds: 1, build: nmoesi::l2_n_stores },
            Setup { name: "final-flush", rounds: 1, build: nmoesi::final_flush },
            Setup { name: "claim", rounds: 1, build: nmoesi::claim },
            Setup { name: "taken-stores", rounds: 0, build: nmoesi::taken_stores },
            Setup { name: "taken-n-stores", rounds: 1, build: nmoesi::taken_n_stores },
            Setup { name: "ordered", rounds: 1, build: nmoesi::ordered },
            Setup { name: "claim-through", rounds: 1, build: nmoesi::claim_through },
            Setup { name: "claim-back", rounds: 1, build: nmoesi::claim_back },
            Setup { name: "owned-lines", rounds: 0, build: nmoesi::owned_lines },
            Setup { name: "owned-by-core", rounds: 0, build: nmoesi::owned_by_core },
            Setup { name: "owned-cores", rounds: 0, build: nmoesi::owned_cores },
            Setup { name: "owned-loads", rounds: 1, build: nmoesi::owned_loads },
            Setup { name: "atomics", rounds: 0, build: |_, lines| nmoesi::stores(2, lines).with_atomics() },
            Setup { name: "n-atomics", rounds: 1, build: |_, lines| nmoesi::n_stores(2, lines).with_atomics() },
            Setup {
                name: "through-atomics",
                rounds: 1,
                build: |caches, lines| nmoesi::l2_through(caches, lines).with_atomics(),
            },
        ],
        larger: &[
            Setup { name: "peers", rounds: 0, build: nmoesi::peers },
            Setup { name: "peers-cpu", rounds: 0, build: nmoesi::peers_cpu },
            Setup { name: "beside-n-stores", rounds: 1, build: nmoesi::beside_n_stores },
            Setup { name: "beside-mixed", rounds: 1, build: nmoesi::beside_mixed },
            Setup { name: "lone-gpu", rounds: 1, build: nmoesi::lone_gpu },
            Setup { name: "two-gpus", rounds: 1, build: nmoesi::two_gpus },
            Setup { name: "claim-owned", rounds: 1, build: nmoesi::claim_owned },
            Setup { name: "final-flush-apart", rounds: 1, build: nmoesi::final_flush_apart },
            Setup { name: "kept", rounds: 1, build: nmoesi::kept },
            Setup { name: "kept-claims", rounds: 1, build: nmoesi::kept_claims },
            Setup { name: "l2-claims", rounds: 1, build: nmoesi::l2_claims },
            Setup { name: "whole-stores", rounds: 0, build: nmoesi::whole_stores },
            Setup { name: "whole-through", rounds: 1, build: nmoesi::whole_through },
            Setup { name: "whole-coarse", rounds: 1, build: nmoesi::whole_coarse },
            Setup { name: "whole-back", rounds: 1, build: nmoesi::whole_back },
            Setup { name: "whole-mixed", rounds: 1, build: nmoesi::whole_mixed },
            Setup { name: "three-stores", rounds: 0, build: nmoesi::three_stores },
            Setup { name: "three-gpus", rounds: 1, build: nmoesi::three_gpus },
        ],
        storage: Some(nmoesi::storage),
        seats: nmoesi::seats,
        orders: nmoesi::orders,
        sees: Sees::UntilSynchronised,
        needs: Needs { memory: &[Organisation::Levels], cpu: BesideCpu::Member, peers: false },
        boundary: Boundary::COHERENT,
        of_others: &[],
        variants: &[Variant { name: "nmoesi_wb", seats: nmoesi::seats_written_back }],
    },
    Protocol {
        name: "halcone",
        caches: 3,
        about: "HALCONE: many GPUs over one memory, ordered by logical time; lines are read on leases, none is invalidated",
        tables: &[
            &halcone::halcone_l1::TABLE,
            &halcone::halcone_l2::TABLE,
            &halcone::tsu::TABLE,
            &orders::orders_l1_raised::TABLE,
            &orders::orders_l2_raised::TABLE,
            &orders::orders_home::TABLE,
        ],
        systems: &[
            Setup { name: "one-gpu", rounds: 1, build: halcone::one_gpu },
            Setup { name: "overflow", rounds: 1, build: halcone::overflow },
            Setup { name: "forget", rounds: 1, build: halcone::forget },
            Setup { name: "gpus", rounds: 1, build: halcone::gpus },
            Setup { name: "atomics", rounds: 0, build: halcone::atomics },
            Setup { name: "one-gpu-atomics", rounds: 0, build: halcone::one_gpu_atomics },
        ],
        larger: &[
            Setup { name: "three-gpus", rounds: 1, build: |_, _| halcone::gpus(3, 1) },
            Setup { name: "three-caches", rounds: 1, build: |_, _| halcone::one_gpu(3, 1) },
            Setup { name: "two-lines", rounds: 1, build: |_, _| halcone::gpus(2, 2) },
            Setup { name: "overflow-two-lines", rounds: 1, build: |_, _| halcone::overflow(2, 2) },
            Setup { name: "forget-two-lines", rounds: 1, build: |_, _| halcone::forget(2, 2) },
            Setup { name: "banks", rounds: 1, build: |_, _| halcone::banks(halcone::one_gpu(2, 2)) },
            Setup { name: "atomics-later", rounds: 1, build: |_, _| halcone::atomics_later(halcone::gpus(2, 1)) },
            Setup { name: "one-gpu-later", rounds: 1, build: |_, _| halcone::atomics_later(halcone::one_gpu(2, 1)) },
            Setup { name: "forget-banks", rounds: 1, build: |_, _| halcone::banks(halcone::forget(2, 2)) },
        ],
        storage: Some(halcone::storage),
        seats: halcone::seats,
        orders: halcone::orders,
        sees: Sees::ByTime,
        needs: Needs {
            memory: &[Organisation::Local, Organisation::Shared, Organisation::Host],
            cpu: BesideCpu::Memory,
            peers: false,
        },
        boundary: Boundary { others_wrote: Forget::Everything, ..Boundary::COHERENT },
        of_others: &[],
        variants: &[],
    },
    Protocol {
        name: "gtsc",
        caches: 2,
        about: "G-TSC: ordered by the logical time of compute units; an expired lease is renewed without data if the line was not written",
        tables: &[
            &gtsc::gtsc_l1::TABLE,
            &gtsc::gtsc_l2::TABLE,
            &gtsc::gtsc_memory::TABLE,
            &gtsc::gtsc_home::TABLE,
            &memory::memory::TABLE,
            &orders::orders_l1_told::TABLE,
            &orders::orders_l2_told::TABLE,
            &orders::orders_home::TABLE,
        ],
        systems: &[
            Setup { name: "overflow", rounds: 0, build: gtsc::overflow },
            Setup { name: "forget", rounds: 1, build: gtsc::forget },
            Setup { name: "gpus", rounds: 1, build: gtsc::gpus },
            Setup { name: "one-gpu-over", rounds: 0, build: gtsc::one_gpu_overflow },
            Setup { name: "one-gpu", rounds: 1, build: gtsc::one_gpu },
            Setup { name: "atomics", rounds: 1, build: gtsc::atomics },
            Setup { name: "one-gpu-atomics", rounds: 1, build: gtsc::one_gpu_atomics },
        ],
        larger: &[
            Setup { name: "three-gpus", rounds: 1, build: |_, _| gtsc::gpus(3, 1) },
            Setup { name: "three-caches", rounds: 1, build: |_, _| gtsc::shared_l2(3, 1) },
            Setup { name: "shared-banks", rounds: 1, build: |_, _| gtsc::banks(gtsc::shared_l2(2, 2)) },
            Setup { name: "two-lines", rounds: 1, build: |_, _| gtsc::gpus(2, 2) },
            Setup { name: "overflow-two-lines", rounds: 0, build: |_, _| gtsc::overflow(2, 2) },
            Setup { name: "one-gpu-two-lines", rounds: 1, build: |_, _| gtsc::one_gpu(2, 2) },
            Setup { name: "banks", rounds: 1, build: |_, _| gtsc::banks(gtsc::gpus(2, 2)) },
            Setup { name: "forget-banks", rounds: 1, build: |_, _| gtsc::banks(gtsc::forget(2, 2)) },
        ],
        storage: None,
        seats: gtsc::seats,
        orders: gtsc::orders,
        sees: Sees::ByTime,
        needs: Needs {
            memory: &[Organisation::Local, Organisation::Shared, Organisation::Host],
            cpu: BesideCpu::Memory,
            peers: false,
        },
        boundary: Boundary { others_wrote: Forget::Everything, ..Boundary::COHERENT },
        of_others: ATOMICS_IN_MEMORY,
        variants: &[],
    },
    Protocol {
        name: "hmg",
        caches: 2,
        about: "HMG: the L2 of one GPU is a line's home and has other L2s invalidate it, without waiting for them; scopes on loads, acquires \
                and releases",
        tables: &[
            &vi_l1::l1::TABLE,
            &hmg::hmg_l2::TABLE,
            &memory::memory::TABLE,
            &orders::orders_l1::TABLE,
            &orders::orders_l2::TABLE,
            &orders::orders_l2_homes::TABLE,
            &orders::markers::TABLE,
        ],
        systems: &[
            Setup { name: "fences", rounds: 0, build: hmg::fences },
            Setup { name: "one-gpu", rounds: 1, build: hmg::one_gpu },
            Setup { name: "gpus", rounds: 1, build: hmg::gpus },
            Setup { name: "atomics", rounds: 1, build: |caches, lines| hmg::gpus(caches.min(2), lines).with_atomics() },
            Setup {
                name: "one-gpu-atomics",
                rounds: 1,
                build: |caches, lines| hmg::one_gpu(caches.min(2), lines).with_atomics(),
            },
        ],
        larger: &[
            Setup { name: "three-gpus", rounds: 1, build: |_, _| hmg::gpus(3, 1) },
            Setup { name: "two-lines", rounds: 1, build: |_, _| hmg::gpus(2, 2) },
            Setup { name: "fences-two-lines", rounds: 1, build: |_, _| hmg::fences(2, 2) },
            Setup { name: "one-gpu-two-lines", rounds: 1, build: |_, _| hmg::one_gpu(3, 2) },
            Setup { name: "banks", rounds: 1, build: |_, _| banks(&hmg::HmgL2) },
        ],
        storage: None,
        seats: |role, parameters| over_memory(role, parameters, hmg::HmgL2),
        orders: hmg::orders,
        sees: Sees::UntilSynchronised,
        needs: Needs { memory: &[Organisation::Local, Organisation::Shared], cpu: BesideCpu::Memory, peers: true },
        boundary: Boundary { flushes: 2, ..Boundary::COHERENT },
        of_others: ATOMICS_IN_MEMORY,
        variants: &[],
    },
    Protocol {
        name: "adsm",
        caches: 3,
        about: "GMAC: objects move between host and accelerators on calls, returns and page faults; as batch-, lazy- or \
                rolling-update",
        tables: &[&adsm::batch::TABLE, &adsm::lazy::TABLE, &adsm::rolling::TABLE, &adsm::accelerator::TABLE],
        systems: &[
            Setup {
                name: "batch",
                rounds: 2,
                build: |caches, lines| adsm_system(&adsm::BATCH, adsm::batch::State::Dirty as u8, false, caches, lines),
            },
            Setup {
                name: "lazy",
                rounds: 2,
                build: |caches, lines| {
                    adsm_system(&adsm::LAZY, adsm::lazy::State::ReadOnly as u8, false, caches, lines)
                },
            },
            Setup {
                name: "rolling",
                rounds: 2,
                build: |caches, lines| {
                    adsm_system(&adsm::ROLLING, adsm::rolling::State::ReadOnly as u8, true, caches, lines)
                },
            },
        ],
        larger: &[],
        storage: None,
        seats: nowhere,
        orders: no_orders,
        sees: Sees::UntilSynchronised,
        needs: Needs { memory: &[], cpu: BesideCpu::Memory, peers: false },
        boundary: Boundary::COHERENT,
        of_others: &[],
        variants: &[],
    },
];

/// The protocol of that name.
pub fn find(name: &str) -> Option<&'static Protocol> {
    ALL.iter().find(|protocol| protocol.name == name)
}

impl Protocol {
    /// The protocol's system of that name, large or small.
    pub fn system(&self, name: &str) -> Option<&'static Setup> {
        self.systems.iter().chain(self.larger).find(|setup| setup.name == name)
    }

    /// The systems on which changes to its tables are tried: its systems with two caches and one line, which are
    /// searched with these limits, and the larger ones.
    pub fn grounds(&self, limits: Limits) -> Vec<Ground> {
        let ground = |setup: &Setup, searched| Ground {
            system: (setup.build)(2, 1),
            limits: Limits { rounds: setup.rounds, ..limits },
            searched,
        };
        let small = self.systems.iter().map(|setup| ground(setup, limits.states > 0));
        small.chain(self.larger.iter().map(|setup| ground(setup, false))).collect()
    }
}

/// The table of orders for caches without a directory: they invalidate and write back lines on command.
fn forgetting(role: Role, _: &Parameters) -> Option<&'static Table> {
    match role {
        Role::L1 => Some(&orders::orders_l1::TABLE),
        Role::L2 => Some(&orders::orders_l2::TABLE),
        _ => None,
    }
}

/// First-level caches that receive no probes, over this second-level cache and plain memory.
fn over_memory(role: Role, parameters: &Parameters, l2: impl Controller<LINE> + 'static) -> Option<Seat> {
    Some(match role {
        Role::L1 => Arc::new(ViL1 { in_order: parameters.in_order }),
        Role::L2 => Arc::new(l2),
        Role::Home => Arc::new(Memory),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;

    /// A component may therefore look such a cell up any number of times.
    #[test]
    fn a_cell_that_fetches_a_line_changes_nothing_else() {
        let mut found = 0;
        for table in ALL.iter().flat_map(|protocol| protocol.tables) {
            for (state, event, cell) in table.cells().filter(|(.., cell)| table.brings(cell)) {
                found += 1;
                let changes = !matches!(cell, crate::Cell::Go(next, actions) if *next == state && actions.len() == 1);
                assert!(!changes, "{}: {}", table.name, table.events[event as usize]);
            }
        }
        assert!(found > 0, "some tables have such cells");
    }

    #[test]
    fn every_protocol_holds_with_two_caches_on_every_network() {
        for protocol in ALL {
            // The searches of large protocols take half a minute each and are left to `cohesim check`.
            let large = !["vi", "wb_nc", "wt_nc"].contains(&protocol.name);
            for setup in protocol.systems.iter().filter(|setup| !large || !setup.name.ends_with("atomics")) {
                let system = (setup.build)(2, 1);
                for &network in system.networks() {
                    // Logical times and homes make many states: `cohesim check` looks at two stores there.
                    let values = if ["halcone", "gtsc", "hmg"].contains(&protocol.name) { 1 } else { 2 };
                    let limits = Limits { values, rounds: setup.rounds, threads: 2, ..Limits::default() };
                    let report = check(system.clone(), network, limits);
                    let trace = report.counterexample.clone().unwrap_or_default();
                    let name = format!("{}:{}", protocol.name, setup.name);
                    assert!(report.holds(), "{name} {network:?}: {:?}\n{trace}", report.properties);
                }
            }
        }
    }
}
