//! Every memory design of the five papers on comparable hardware, for `cohesim compare PROGRAM --designs`.
//!
//! All have the GPU of `[halcone Table 2]` (32 compute units at 1 GHz, 2 MiB of L2), two channels of HBM behind each
//! bank of its L2 if the design gives a GPU memory of its own, and a host with two channels of DDR4. If GPU and host
//! are separate chips, PCI Express 4.0 connects them, or HALCONE's switch complex if they share a memory. The designs
//! differ in which memories hold copies of the data, and in when and by what these are moved.

/// A memory design: a shipped machine and the changes that make it comparable with the others.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    pub name: &'static str,
    /// The key of the paper in `docs/papers.md`.
    pub paper: &'static str,
    pub about: &'static str,
    /// The shipped machine that it is made from.
    pub system: &'static str,
    /// Changes to that machine, as `--set` takes them.
    pub changes: &'static [&'static str],
}

const PCIE: &str = "multi-pcie";
const SHARED: &str = "multi-shared";
/// Energies: the host's memory is DDR4 (and that of GPUs' own HBM), or all memory is HBM. Lines of DDR4 are charged as DDR3.
const DDR: &str = "energy.part=45nm-ddr3";
const HBM: &str = "energy.part=28nm-hbm";

/// The design with copies comes first, because the others are measured against it.
pub const DESIGNS: [Design; 18] = [
    Design {
        name: "memcpy",
        paper: "umh",
        about: "buffers lie in the GPU's memory; calls copy them",
        system: PCIE,
        changes: &["driver.policy=memcpy", DDR],
    },
    Design {
        name: "zero-copy",
        paper: "umh",
        about: "buffers lie in the host's memory; the GPU fetches lines over the fabric",
        system: PCIE,
        changes: &["driver.policy=zero-copy", DDR],
    },
    Design {
        name: "managed-eager",
        paper: "umh",
        about: "software unified memory of CUDA 6 and 7: all data move at launches and synchronisation",
        system: PCIE,
        changes: &["driver.policy=managed-eager", DDR],
    },
    Design {
        name: "managed-fault",
        paper: "halcone",
        about: "software unified memory with page faults of GPUs: a page moves to where it is accessed",
        system: PCIE,
        changes: &["driver.policy=managed-fault", DDR],
    },
    Design {
        name: "adsm-batch",
        paper: "gmac",
        about: "host and GPU have a copy each; all objects move at each launch and return",
        system: PCIE,
        changes: &["driver.policy=adsm-batch", DDR],
    },
    Design {
        name: "adsm-lazy",
        paper: "gmac",
        about: "host and GPU have a copy each; only objects that were changed or are accessed move",
        system: PCIE,
        changes: &["driver.policy=adsm-lazy", DDR],
    },
    Design {
        name: "adsm-rolling",
        paper: "gmac",
        about: "host and GPU have a copy each; objects move by blocks, which are sent while the host continues",
        system: PCIE,
        changes: &["driver.policy=adsm-rolling", DDR],
    },
    Design {
        name: "umh",
        paper: "umh",
        about: "the GPU's memory is a cache of the host's, coherent by NMOESI",
        system: "umh-pcie",
        changes: &["gpu.part=halcone", "gpu.l2.interleave=4 KiB", "gpu.memory.kind=hbm", "fabric.part=pcie4", DDR],
    },
    Design {
        name: "rdma",
        paper: "halcone",
        about: "copies, dealt by pages; L1s fetch lines of other GPUs from their L2s",
        system: PCIE,
        changes: &["driver.policy=memcpy", "driver.spread=pages", DDR],
    },
    Design {
        name: "hmg",
        paper: "halcone",
        about: "copies, dealt by pages; L2s hold lines of other GPUs, coherent by HMG",
        system: PCIE,
        changes: &["driver.policy=memcpy", "driver.spread=pages", "protocol=hmg", "remote.from=l2", DDR],
    },
    Design {
        name: "shared-wb",
        paper: "halcone",
        about: "one memory behind a switch for GPUs and host; write-back L2s, no coherence",
        system: SHARED,
        changes: &["driver.policy=shared", "memory.shared_with_host=true", HBM],
    },
    Design {
        name: "shared-wt",
        paper: "halcone",
        about: "one memory behind a switch for GPUs and host; write-through L2s, no coherence",
        system: SHARED,
        changes: &["driver.policy=shared", "memory.shared_with_host=true", HBM, "protocol=wt_nc"],
    },
    Design {
        name: "halcone",
        paper: "halcone",
        about: "one memory behind a switch, coherent by leases of logical time that caches keep",
        system: SHARED,
        changes: &["driver.policy=shared", "memory.shared_with_host=true", HBM, "protocol=halcone"],
    },
    Design {
        name: "g-tsc",
        paper: "halcone",
        about: "one memory behind a switch, coherent by logical times that requests carry",
        system: SHARED,
        changes: &["driver.policy=shared", "memory.shared_with_host=true", HBM, "protocol=gtsc"],
    },
    Design {
        name: "virtual-caches",
        paper: "vcache",
        about: "caches with virtual tags over a forward-backward table",
        system: "vc-opt",
        changes: &["gpu.part=halcone", "gpu.l2.tags=virtual", "gpu.fbt.part=virtual-cache", "memory.part=hbm", HBM],
    },
    Design {
        name: "chip-nc",
        paper: "giles",
        about: "CPU and GPU on one chip, copies within one memory, no coherence (NC-MC)",
        system: "apu-nc-mc",
        changes: &["gpu.part=halcone", "wires.part=r9nano", "memory.part=ddr4-2400", "system.channels=2", DDR],
    },
    Design {
        name: "chip-memory",
        paper: "giles",
        about: "CPU and GPU on one chip with shared memory, coherent at the memory controller (C-MC)",
        system: "apu-c-mc",
        changes: &["gpu.part=halcone", "wires.part=r9nano", "memory.part=ddr4-2400", "system.channels=2", DDR],
    },
    Design {
        name: "chip-l3",
        paper: "giles",
        about: "CPU and GPU on one chip, coherent in the shared last-level cache (C-L3)",
        system: "apu-c-l3",
        changes: &["gpu.part=halcone", "wires.part=r9nano", "memory.part=ddr4-2400", "system.channels=2", DDR],
    },
];
