//! The elements of a machine, found by the statistics that they count.

use engine::{Statistics, Value};

/// Paths of elements, in order of number.
pub(crate) struct Elements {
    pub(crate) units: Vec<String>,
    pub(crate) caches: Vec<String>,
    pub(crate) memories: Vec<String>,
    /// Channels of DRAM.
    pub(crate) channels: Vec<String>,
}

impl Elements {
    pub(crate) fn of(statistics: &Statistics) -> Self {
        let [mut units, mut caches, mut memories, mut channels] = [const { Vec::new() }; 4];
        for (path, value) in &statistics.0 {
            let Some((element, what)) = last_part(path) else { continue };
            match what {
                "issue" => units.extend(element.strip_suffix(".cycles")),
                "accesses" if matches!(value, Value::Matrix { .. }) => caches.push(element),
                "reads" if statistics.get(&format!("{element}.writes")).is_some() => memories.push(element),
                "bus_busy_cycles" => channels.push(element),
                _ => {}
            }
        }
        let in_order = |mut paths: Vec<&str>| -> Vec<String> {
            paths.sort_by_cached_key(|path| by_number(path));
            paths.into_iter().map(str::to_owned).collect()
        };
        Self {
            units: in_order(units),
            caches: in_order(caches),
            memories: in_order(memories),
            channels: in_order(channels),
        }
    }
}

/// A path without its last part, and that part. Quicker than a search for a character: the parts are short.
#[inline]
pub(crate) fn last_part(path: &str) -> Option<(&str, &str)> {
    let dot = path.bytes().rposition(|byte| byte == b'.')?;
    Some((&path[..dot], &path[dot + 1..]))
}

/// Duration of the statistics in cycles of the element's own clock; `None` if the element has no level statistic.
pub(crate) fn own_cycles(statistics: &Statistics, element: &str) -> Option<u64> {
    let below = format!("{element}.");
    statistics.starting(&below).find_map(|(_, value)| match value {
        Value::Level { cycles, .. } => Some(*cycles),
        _ => None,
    })
}

/// Sort key that puts `cu10` after `cu9`: texts by letters, numbers by value.
pub(crate) fn by_number(path: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest[letters..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - letters);
        parts.push((rest[..letters].to_owned(), rest[letters..letters + digits].parse().unwrap_or(0)));
        rest = &rest[letters + digits..];
    }
    parts
}

/// The level of a cache: `gpu.l2_3` belongs to `l2`, `gpu.array0.cu1.l1v` to `l1v`. Caches of the IOMMU and of a DMA
/// engine are levels of their own.
pub(crate) fn level(path: &str) -> &str {
    if path.starts_with("iommu.") || path.starts_with("dma.") {
        return path;
    }
    let name = path.rsplit('.').next().unwrap_or(path);
    match name.rsplit_once('_') {
        Some((level, number)) if number.bytes().all(|c| c.is_ascii_digit()) => level,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_ordered_by_their_numbers() {
        let mut paths = ["gpu.array10.cu0", "gpu.array9.cu1", "gpu.array9.cu0"];
        paths.sort_by_key(|path| by_number(path));
        assert_eq!(paths, ["gpu.array9.cu0", "gpu.array9.cu1", "gpu.array10.cu0"]);
    }

    #[test]
    fn a_bank_belongs_to_its_level() {
        assert_eq!([level("gpu.l2_12"), level("gpu0.array3.cu1.l1v"), level("l3")], ["l2", "l1v", "l3"]);
        assert_eq!(level("iommu.l2"), "iommu.l2");
    }
}
