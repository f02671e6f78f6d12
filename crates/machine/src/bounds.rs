//! Checks that concern a machine as a whole, such as the number of elements. The range of a single value is checked by
//! its type ([`crate::values`]).

use crate::{
    cpu_complex::{CpuComplex, Join},
    fabric::MOST_ENDS,
    file::{File, MachineError},
    plan::{MOST, Numbers},
    spec::{CacheSpec, Machine},
    values::Positive,
};
use interconnect::{NetworkSpec, Topology};
use mem::{Bytes, LINE};
use protocol::{Sharers, roles::BesideCpu};

/// Maximum number of caches that a directory can track.
const DIRECTORY: usize = Sharers::MOST;

/// Lines of a block that a directory can mark one by one, as a power of two.
const MOST_SINGLES_LOG2: usize = 6;

/// Maximum capacity of all caches of a machine together. The simulator allocates about 200 bytes for each 64-byte line.
const CACHES: u64 = 1 << 29;
/// Maximum number of elements that a cache or a memory can be wired to: output ports are numbered in 8 bits.
const NEIGHBOURS: usize = 250;

pub(crate) fn check(machine: &Machine, file: &File) -> Result<(), MachineError> {
    protocol(machine, file)?;
    flushes(machine, file)?;
    virtual_tags(machine, file)?;
    joins(machine, file)?;
    beside_levels(machine, file)?;
    kept_back(machine, file)?;
    caches(machine, file)?;
    neighbours(machine, file)?;
    directories(machine, file)
}

/// Checks that the machine has what its protocol needs.
fn protocol(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let name = machine.protocol.name;
    let reason = match () {
        () if is_of_cpu(machine) && machine.cpu.is_none() => {
            "mesi keeps GPUs coherent with a CPU, which this machine does not have: add one (cpu.part), or choose another protocol"
                .to_owned()
        }
        () if machine.levels.is_some() && machine.gpus > 32 => format!("{name} can tell 32 GPUs apart (gpus)"),
        () if machine.levels.is_some() && machine.compute_units() + 2 * machine.arrays > 64 => {
            format!("{name} can tell 64 first-level caches of a GPU apart (gpu.arrays, gpu.units_per_array)")
        }
        () => return Ok(()),
    };
    Err(file.wrong("", Some("protocol"), reason))
}

/// Checks that cores can flush lines out of GPUs if they have to.
fn flushes(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let buffers = machine.cpu.as_ref().is_some_and(|cpu| cpu.flushes_buffers());
    if !buffers || is_of_cpu(machine) && machine.fabric.is_none() {
        return Ok(());
    }
    let reason = "a core can flush lines out of GPUs if protocol is mesi and there is no fabric: set it to kernels";
    Err(file.wrong("system", Some("flush"), reason))
}

/// Checks that the machine supports virtual tags if it uses them.
fn virtual_tags(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let first_level = machine.names.is_some();
    if machine.fbt.is_none() && !first_level {
        return Ok(());
    }
    let name = machine.protocol.name;
    let banks = machine.banks;
    let reason = match () {
        () if first_level && name != "wb_nc" => {
            format!("virtual: of all protocols only wb_nc has first-level caches that can stand above a table of names, not {name}")
        }
        () if first_level && machine.cpu.is_some() => {
            "virtual: caches of a machine with a CPU must be physical, because no table answers the directory's probes"
                .to_owned()
        }
        () if first_level && machine.gpu_mmu.is_none_or(|mmu| mmu.shared.is_some()) => {
            "virtual: below first-level caches that alone are virtual there are the TLBs of compute units, and below these the IOMMU: say [gpu.mmu], and leave out [gpu.l2_tlb]"
                .to_owned()
        }
        () if first_level && machine.iommu().is_some_and(|iommu| iommu.tlb.is_none()) => {
            "virtual: the TLBs below first-level caches ask the TLB of the IOMMU: set system.iommu.entries to at least 1".to_owned()
        }
        () if first_level && machine.iommu().is_some_and(|iommu| iommu.faults()) => {
            "virtual: a driver that moves pages has to find their lines in a physical L2 as well, which is not built: set system.iommu.kind to flat, or gpu.l2.tags to virtual"
                .to_owned()
        }
        () if machine.cpu.is_some() && name != "mesi" => {
            format!("virtual: beside a CPU the GPU's L2 has to be a member of the CPU's directory: set protocol to mesi, not {name}")
        }
        () if machine.cpu.as_ref().is_some_and(CpuComplex::flushes) => {
            "virtual: beside a CPU caches by virtual address must be coherent with it, because orders to flush pages are physical: set system.join to l3 and system.memory to shared"
                .to_owned()
        }
        () if machine.cpu.is_none() && name != "wb_nc" => {
            format!("virtual: without a CPU only wb_nc has an L2 that tells a forward-backward table what it writes and gives up, not {name}")
        }
        () if !machine.cpu.as_ref().is_none_or(|cpu| cpu.slices.is_power_of_two() && cpu.slices * LINE <= mem::PAGE as usize) => {
            "virtual: both names of a line must have one home, so system.slices must be a power of two, and 64 at most".to_owned()
        }
        () if machine.cpu.is_some() && machine.gpus > 1 && machine.fbt.is_some_and(|fbt| fbt.spec.second_level) => {
            "virtual: with several GPUs the IOMMU does not look into their forward-backward tables: set gpu.fbt.second_level to false".to_owned()
        }
        () if machine.cpu.is_none() && machine.gpus > 1 || machine.fabric.is_some() => {
            "virtual: a forward-backward table stands between one GPU and its own memory; with several GPUs or a fabric it must be physical"
                .to_owned()
        }
        () if !banks.count.is_power_of_two() || banks.count as u64 * banks.interleave.bytes() > mem::PAGE => {
            "virtual: both names of a line must lie in one bank, so gpu.l2.banks must be a power of two, and that many times gpu.l2.interleave a page of 4 KiB at most"
                .to_owned()
        }
        () => return Ok(()),
    };
    Err(file.wrong(if first_level { "gpu.l1v" } else { "gpu.l2" }, Some("tags"), reason))
}

/// Whether GPUs take part in the protocol of the CPU's directory.
fn is_of_cpu(machine: &Machine) -> bool {
    machine.protocol.protocol.needs.cpu == BesideCpu::MustBeMember
}

/// Checks that the CPU and the GPUs agree on the level at which they join.
fn joins(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let (name, Some(complex)) = (machine.protocol.name, &machine.cpu) else { return Ok(()) };
    if is_of_cpu(machine) {
        return Ok(());
    }
    if complex.join == Join::LastLevel && machine.levels.is_some() {
        let reason = format!(
            "under {name} GPUs and the last-level cache meet in the directories of the host's memory: set it to \"memory\""
        );
        return Err(file.wrong("system", Some("join"), reason));
    }
    if complex.join == Join::LastLevel {
        let reason = format!(
            "the directory of the last-level cache speaks mesi, the GPUs {name}: join them in \"memory\", or set protocol to mesi"
        );
        return Err(file.wrong("system", Some("join"), reason));
    }
    if !machine.dispatcher.invalidate {
        let why = match complex.join {
            Join::Directories => format!("instruction caches of GPUs do not take part in {name}"),
            _ => format!("GPUs under {name} are not coherent with the CPU"),
        };
        let reason = format!("{why}, so they must invalidate their caches before a kernel: set it to true");
        return Err(file.wrong("gpu.dispatcher", Some("invalidate"), reason));
    }
    Ok(())
}

/// Checks what a CPU needs whose last-level cache is a member of the directories below the memories of GPUs.
fn beside_levels(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let (Some(levels), Some(complex)) = (&machine.levels, &machine.cpu) else { return Ok(()) };
    let name = machine.protocol.name;
    if levels.lines_log2() > MOST_SINGLES_LOG2 {
        let reason = "beside a CPU a block has 4 KiB at most: its directory marks each line that the CPU's cache has";
        return Err(file.wrong("gpu.memory", Some("block"), reason));
    }
    if !complex.shared {
        let reason = format!(
            "{name} keeps host and GPUs coherent over the same bytes, so nothing is copied: set it to \"shared\""
        );
        return Err(file.wrong("system", Some("memory"), reason));
    }
    let smds = machine.gpus * machine.banks.count / machine.zones[0].count();
    if smds + complex.slices > DIRECTORY {
        let reason = format!(
            "a directory of the host's memory tells {DIRECTORY} apart: memories of GPUs ({smds}: gpus, gpu.l2.banks) and slices"
        );
        return Err(file.wrong("system", Some("slices"), reason));
    }
    Ok(())
}

/// Checks that queues, MSHRs and ways suffice for several GPUs: lines of other GPUs never take the last entry.
fn kept_back(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let several = machine.gpus > 1;
    let peers = machine.protocol.protocol.needs.peers && several;
    let places = [
        ("write_back_queue", machine.l2.write_back_queue, several),
        ("mshrs", machine.l2.mshrs, peers),
        ("ways", file.key::<Positive>("gpu.l2", "ways")?.count(), peers),
    ];
    if let Some((key, ..)) = places.into_iter().find(|(_, value, kept_back)| *kept_back && *value < 2) {
        let reason = "must be at least 2 with several GPUs: lines of others never take the last place";
        return Err(file.wrong("gpu.l2", Some(key), reason));
    }
    Ok(())
}

/// Checks the total capacity of all caches.
fn caches(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let Machine { gpus, arrays, banks, .. } = *machine;
    let count = |count: usize| format!("of which there are {count}");
    let of_units = |cache: &CacheSpec| (cache.shape.size(), gpus * machine.compute_units());
    let of_arrays = |cache: &CacheSpec| (cache.shape.size(), gpus * arrays);
    let mut caches = vec![
        ("gpu.l1v", of_units(&machine.l1v)),
        ("gpu.l1s", of_arrays(&machine.l1s)),
        ("gpu.l1i", of_arrays(&machine.l1i)),
        ("gpu.l2", (machine.l2.shape.size(), gpus * banks.count)),
    ];
    if let Some(cpu) = &machine.cpu {
        let of_cores = |cache: &CacheSpec| (cache.shape.size(), cpu.cores);
        caches.extend([
            ("cpu.l1d", of_cores(&cpu.l1d)),
            ("cpu.l1i", of_cores(&cpu.l1i)),
            ("cpu.l2", of_cores(&cpu.l2)),
            ("cpu.l3", (cpu.l3.shape.size(), cpu.slices)),
        ]);
        caches.extend(cpu.dma.map(|dma| ("system.dma", (dma.cache.shape.size(), 2))));
        caches.extend(cpu.iommu().map(|iommu| ("system.iommu.cache", (iommu.cache.shape.size(), 2))));
    }
    let bytes = |(size, count): (Bytes, usize)| size.0.saturating_mul(count as u64);
    let total = caches.iter().fold(0, |total: u64, (_, cache)| total.saturating_add(bytes(*cache)));
    if total > CACHES
        && let Some((path, (_, number))) = caches.into_iter().max_by_key(|(_, cache)| bytes(*cache))
    {
        let all = Bytes(CACHES);
        let reason = format!("all caches of a machine can hold {all} together; these, {}, hold most", count(number));
        return Err(file.wrong(path, Some("size"), reason));
    }
    Ok(())
}

/// Checks the number of neighbours of each element.
fn neighbours(machine: &Machine, file: &File) -> Result<(), MachineError> {
    let Machine { gpus, arrays, banks, .. } = *machine;
    let direct = machine.network.is_none();
    let ways = |count: usize| if direct { count } else { 1 };
    let neighbours = [
        (
            "gpu",
            "arrays",
            ways(arrays) + gpus,
            "a bank of the L2 is wired to the arrays, memory and those of other GPUs (gpu.arrays and gpus)",
        ),
        ("gpu.l2", "banks", ways(banks.count), "an array is wired to each bank of the L2"),
        ("", "gpus", gpus, "a channel of memory is wired to each GPU"),
        (
            "gpu.l2",
            "banks",
            if machine.fabric.is_some() { arrays + 3 * banks.count + 2 * MOST_ENDS } else { 0 },
            "an end of a fabric is wired to arrays, banks of the L2 and channels of memory (gpu.arrays, gpu.l2.banks)",
        ),
    ];
    for (path, key, count, why) in neighbours {
        if count > NEIGHBOURS {
            let reason = format!("{why}: an element has {NEIGHBOURS} neighbours at most");
            return Err(file.wrong(path, Some(key), reason));
        }
    }
    Ok(())
}

/// Checks the number of elements, and the number of caches that each directory has to track.
fn directories(machine: &Machine, file: &File) -> Result<(), MachineError> {
    if Numbers::new(machine).count() > MOST {
        let reason = format!(
            "compute units, cores, caches and channels can be {MOST} together (gpus, gpu.arrays, gpu.units_per_array, \
             gpu.l2.banks, cpu.cores)"
        );
        return Err(file.wrong("gpu", Some("units_per_array"), reason));
    }
    let l2_is_directory = machine.cpu.is_some() || machine.levels.is_some();
    if l2_is_directory && machine.compute_units() + 2 * machine.arrays > DIRECTORY {
        let reason = format!("the directory of the GPU's L2 knows {DIRECTORY} first-level caches at most");
        return Err(file.wrong("gpu", Some("units_per_array"), reason));
    }
    let banks = machine.gpus * machine.banks.count;
    if machine.protocol.protocol.needs.peers && banks > DIRECTORY {
        let reason =
            format!("a home knows {DIRECTORY} banks of second-level caches at most, those of all GPUs together (gpus)");
        return Err(file.wrong("gpu.l2", Some("banks"), reason));
    }
    let Some(complex) = machine.cpu.as_ref().filter(|_| machine.fabric.is_none()) else { return Ok(()) };
    let hub = NetworkSpec { topology: Topology::Crossbar, ..complex.network };
    let reason = |error| format!("the hub joins the {banks} banks of all GPUs' L2 with the network: {error}");
    hub.fits(banks + 1).map_err(|error| file.wrong("", Some("gpus"), reason(error)))?;
    if complex.stacks() + banks > DIRECTORY {
        let reason = format!(
            "the directory knows {DIRECTORY} second-level caches at most, those of GPUs (gpus, gpu.l2.banks) included"
        );
        return Err(file.wrong("cpu", Some("cores"), reason));
    }
    Ok(())
}
