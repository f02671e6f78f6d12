//! The most that the numbers of a machine file can be.
//!
//! Every number is bounded, so that a slip of the keyboard is told as such and does not take all memory of the computer, or all
//! time. The bounds lie far above what hardware has. What a section needs besides, such as powers of two, it checks itself.

use crate::{
    file::{File, MachineError},
    spec::{CacheSpec, Machine},
};
use mem::Bytes;
use toml::Value;

/// Of counts and cycles about which nothing else is said.
const USUAL: u64 = 1 << 20;
/// Of cycles that pass by themselves.
const PASSING: u64 = 1 << 32;
/// Of what is searched, or kept for each thread or lane.
const SHORT: u64 = 1 << 14;
/// Of what is done at once.
const WIDE: u64 = 1 << 10;

/// Bytes that all caches of a machine can hold together: the simulator has all of them in memory, some 200 bytes for each line of 64.
const CACHES: u64 = 1 << 29;
/// Elements that a cache or a memory can be wired to. Ways out have a number of 8 bits.
const NEIGHBOURS: usize = 250;

/// The most that a key can be.
fn most(section: &str, key: &str) -> u64 {
    match (section, key) {
        // What is written as a size is checked as one.
        (_, "size" | "interleave" | "line" | "block" | "lds" | "instruction_buffer") => u64::MAX,
        ("cpu.core", "jitter_seed") => u64::MAX,
        ("cpu.kernel", _) | ("gpu.dispatcher", "first_launch" | "launch") => PASSING,
        ("cpu.core", "counters" | "penalty") => USUAL,
        ("cpu.core", "btb_sets" | "return_stack") => SHORT,
        ("cpu.core", "jitter") => SHORT,
        ("cpu.core", key) if key.ends_with("_width") || key == "line_buffers" => WIDE,
        ("cpu.core", "btb_ways") => WIDE,
        ("cpu.core", _) => SHORT,
        (_, "ways" | "walkers" | "page_walk_cache" | "lookups" | "ports") => WIDE,
        (section, "entries" | "misses" | "waiting") if section.ends_with("mmu") => SHORT,
        _ => USUAL,
    }
}

/// What is wrong with a number, if it is too large.
pub(crate) fn too_large(section: &str, key: &str, value: &Value) -> Option<String> {
    let (number, most) = (u64::try_from(value.as_integer()?).ok()?, most(section, key));
    (number > most).then(|| format!("can be {most} at most"))
}

/// Checks what is bounded for the machine as a whole.
pub(crate) fn check(machine: &Machine, file: &File) -> Result<(), MachineError> {
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
    if let Some(cpu) = &machine.complex {
        let of_cores = |cache: &CacheSpec| (cache.shape.size(), cpu.cores);
        caches.extend([
            ("cpu.l1d", of_cores(&cpu.l1d)),
            ("cpu.l1i", of_cores(&cpu.l1i)),
            ("cpu.l2", of_cores(&cpu.l2)),
            ("cpu.l3", (cpu.l3.shape.size(), cpu.slices)),
        ]);
        caches.extend(cpu.dma.map(|dma| ("system.dma", (dma.cache.shape.size(), 2))));
        caches.extend(cpu.gpu_mmu.map(|mmu| ("system.iommu.cache", (mmu.iommu.cache.shape.size(), 2))));
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
    ];
    for (path, key, count, why) in neighbours {
        if count > NEIGHBOURS {
            let reason = format!("{why}: an element has {NEIGHBOURS} neighbours at most");
            return Err(file.wrong(path, Some(key), reason));
        }
    }
    Ok(())
}
