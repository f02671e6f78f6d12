//! The protocols that a machine can be run with: which controller stands where, and what a cache does that is no step of it.

use cache::{Acquire, Atomics};
use mem::LINE;
use protocol::{
    Controller, Sharers, Stamp,
    gtsc::{GtscL1, GtscL2, GtscMemory},
    halcone::{HalconeL1, HalconeL2, Tsu},
    hmg::HmgL2,
    memory::Memory,
    mesi::{gpu_l2::GpuL2, l1::L1V},
    nmoesi::{hmd::Hmd, l1, l2::L2 as NmoesiL2, smd::Smd, store::Store, wt},
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
    /// Where the memories of GPUs are levels above the host's; `home` is nowhere then.
    pub levels: Option<Levels>,
}

/// The controllers of memories that are levels of one hierarchy, for each size of a block: of 1 line, of 2, of 4 and so on.
#[derive(Clone, Copy)]
pub struct Levels {
    pub gpu: &'static [Smd; 7],
    /// Blocks go through the host's memory; or from GPU to GPU.
    pub host: [&'static [Hmd; 7]; 2],
    /// Of the bytes behind both.
    pub store: &'static dyn Controller<LINE>,
}

/// The second-level caches.
#[derive(Clone, Copy)]
pub enum L2 {
    Alone(&'static dyn Controller<LINE>),
    /// Each is the home of some lines, so they speak to each other; for each number of them, banks counted one by one.
    Peers(&'static [HmgL2]),
}

/// With logical times of so many bits. Those of 32 do not run over in any run.
static TSU: [Tsu; 33] = {
    let (mut all, mut bits) = ([Tsu::PAPER; 33], 0);
    while bits < all.len() {
        all[bits].last = last(bits);
        bits += 1;
    }
    all
};

static GTSC_MEMORY: [GtscMemory; 33] = {
    let (mut all, mut bits) = ([GtscMemory::PAPER; 33], 0);
    while bits < all.len() {
        all[bits].last = last(bits);
        bits += 1;
    }
    all
};

/// The last time of so many bits.
const fn last(bits: usize) -> Stamp {
    ((1u64 << bits) - 1) as Stamp
}

/// HMG's, for any number of them that a home can tell apart.
static HMG_L2: [HmgL2; Sharers::MOST + 1] = {
    const NONE: HmgL2 = HmgL2 { l2s: 0 };
    let (mut all, mut number) = ([NONE; Sharers::MOST + 1], 0);
    while number < all.len() {
        all[number].l2s = number as u16;
        number += 1;
    }
    all
};

static SMD: [Smd; 7] = {
    let (mut all, mut number) = ([const { Smd { lines: 1 } }; 7], 0);
    while number < all.len() {
        all[number].lines = 1 << number;
        number += 1;
    }
    all
};

static HMD: [[Hmd; 7]; 2] = [hmds(false), hmds(true)];

/// GPUs alone hold anything, and they hold blocks.
const fn hmds(peer: bool) -> [Hmd; 7] {
    let (mut all, mut number) = ([const { Hmd { lines: 1, singles: Sharers::NONE, peer: false } }; 7], 0);
    while number < all.len() {
        (all[number].lines, all[number].peer) = (1 << number, peer);
        number += 1;
    }
    all
}

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
    levels: None,
};

/// UMH, with first-level caches that write through.
const NMOESI: Roles = Roles {
    name: "nmoesi",
    l1: &wt::GPU,
    l2: L2::Alone(&NmoesiL2),
    coherent: true,
    atomics: Atomics::Owned,
    levels: Some(Levels { gpu: &SMD, host: [&HMD[0], &HMD[1]], store: &Store }),
    ..PLAIN
};

static ROLES: &[Roles] = &[
    Roles { name: "wb_nc", ..PLAIN },
    Roles { name: "wt_nc", l2: L2::Alone(&WriteThroughL2), ..PLAIN },
    Roles {
        name: "halcone",
        l1: &HalconeL1,
        l2: L2::Alone(&HalconeL2),
        home: &TSU[32],
        coherent: true,
        atomics: Atomics::Below,
        acquire: Acquire::Raise,
        timed: true,
        levels: None,
    },
    Roles {
        name: "gtsc",
        l1: &GtscL1,
        l2: L2::Alone(&GtscL2),
        home: &GTSC_MEMORY[32],
        coherent: true,
        atomics: Atomics::Below,
        acquire: Acquire::Ask,
        timed: true,
        levels: None,
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
    NMOESI,
    Roles { name: "nmoesi_wb", l1: &l1::GPU, ..NMOESI },
];

impl Roles {
    /// Logical times have at least so many bits: a lease must fit.
    pub const LEAST_TIME_BITS: usize = 5;

    /// The same with logical times of so many bits; as it is if the protocol has none.
    pub fn with_time_bits(self, bits: usize) -> Self {
        match self.name {
            "halcone" => Self { home: &TSU[bits], ..self },
            "gtsc" => Self { home: &GTSC_MEMORY[bits], ..self },
            _ => self,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        ROLES.iter().find(|roles| roles.name == name).copied()
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ROLES.iter().map(|roles| roles.name)
    }
}
