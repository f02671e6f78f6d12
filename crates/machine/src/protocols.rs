//! The protocols that a machine can be run with: which controller stands where, and what a cache does that is no step of it.

use cache::{Acquire, Atomics};
use mem::{LINE, Stamp};
use protocol::{
    Controller,
    gtsc::{GtscL1, GtscL2, GtscMemory},
    halcone::{HalconeL1, HalconeL2, Tsu},
    hmg::HmgL2,
    memory::Memory,
    mesi::{gpu_l2::GpuL2, l1::L1V},
    vi_l1::ViL1,
    wb_l2::WriteBackL2,
    wt_l2::WriteThroughL2,
};

/// The controllers of GPUs over one memory.
#[derive(Clone, Copy)]
pub struct Roles {
    pub name: &'static str,
    /// Of all first-level caches.
    pub l1: &'static dyn Controller<LINE>,
    pub l2: L2,
    pub home: &'static dyn Controller<LINE>,
    /// Whether GPUs see what others wrote without being told to forget, or to write back, what they hold.
    pub coherent: bool,
    /// Where atomic accesses of a GPU's compute units meet.
    pub atomics: Atomics,
    pub acquire: Acquire,
    /// Whether accesses are ordered by logical time, which memory gives to writes.
    pub timed: bool,
}

/// The second-level caches.
#[derive(Clone, Copy)]
pub enum L2 {
    Alone(&'static dyn Controller<LINE>),
    /// Each is the home of some lines, so they speak to each other; for each number of them, banks counted one by one.
    Peers(&'static [HmgL2]),
}

/// Times of 16 bits run over within a few thousand accesses to a line; these have 32, and do not in any run.
static TSU: Tsu = Tsu { last: Stamp::MAX, ..Tsu::PAPER };
static GTSC_MEMORY: GtscMemory = GtscMemory { last: Stamp::MAX, ..GtscMemory::PAPER };

/// HMG's, for any number of them that a home can tell apart.
static HMG_L2: [HmgL2; 65] = {
    const NONE: HmgL2 = HmgL2 { l2s: 0 };
    let (mut all, mut number) = ([NONE; 65], 0);
    while number < all.len() {
        all[number].l2s = number as u8;
        number += 1;
    }
    all
};

/// Without logical time, atomic accesses are performed at the L2 and an acquire forgets.
const PLAIN: Roles = Roles {
    name: "",
    l1: &ViL1,
    l2: L2::Alone(&WriteBackL2),
    home: &Memory,
    coherent: false,
    atomics: Atomics::Here,
    acquire: Acquire::Forget,
    timed: false,
};

static ROLES: &[Roles] = &[
    Roles { name: "wb_nc", ..PLAIN },
    Roles { name: "wt_nc", l2: L2::Alone(&WriteThroughL2), ..PLAIN },
    Roles {
        name: "halcone",
        l1: &HalconeL1,
        l2: L2::Alone(&HalconeL2),
        home: &TSU,
        coherent: true,
        atomics: Atomics::Below,
        acquire: Acquire::Raise,
        timed: true,
    },
    Roles {
        name: "gtsc",
        l1: &GtscL1,
        l2: L2::Alone(&GtscL2),
        home: &GTSC_MEMORY,
        coherent: true,
        atomics: Atomics::Below,
        acquire: Acquire::Ask,
        timed: true,
    },
    Roles { name: "hmg", l2: L2::Peers(&HMG_L2), coherent: true, ..PLAIN },
    Roles {
        name: "mesi",
        l1: &L1V,
        l2: L2::Alone(&GpuL2),
        coherent: true,
        atomics: Atomics::Owned,
        acquire: Acquire::Coherent,
        ..PLAIN
    },
];

impl Roles {
    pub fn named(name: &str) -> Option<Self> {
        ROLES.iter().find(|roles| roles.name == name).copied()
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ROLES.iter().map(|roles| roles.name)
    }
}
