//! Energy by kind of element.

use engine::{Statistics, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What all elements of a kind have spent, in femtojoules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The path of the elements, with `*` in place of numbers.
    pub element: String,
    pub passive_fj: u64,
    pub active_fj: u64,
}

impl Spent {
    pub(super) fn total(&self) -> u64 {
        self.passive_fj.saturating_add(self.active_fj)
    }
}

/// Energy by kind of element, the most first.
pub(super) fn by_element(total: &Statistics) -> Vec<Spent> {
    let mut kinds: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (path, value) in &total.0 {
        let (Some(element), Value::Energy { passive, active }) = (path.strip_suffix(".energy"), value) else {
            continue;
        };
        let (of_kind_passive, of_kind_active) = kinds.entry(starred(element)).or_default();
        *of_kind_passive = of_kind_passive.saturating_add(*passive);
        *of_kind_active = of_kind_active.saturating_add(*active);
    }
    let spent = kinds.into_iter().map(|(element, (passive_fj, active_fj))| Spent { element, passive_fj, active_fj });
    let mut spent: Vec<Spent> = spent.filter(|spent| spent.total() > 0).collect();
    spent.sort_by(|a, b| b.total().cmp(&a.total()).then_with(|| a.element.cmp(&b.element)));
    spent
}

/// A path with `*` for each number at the end of a part: `gpu0.l2_3` is `gpu*.l2_*`.
fn starred(path: &str) -> String {
    let part = |part: &str| {
        let name = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_level = ["l1", "l2", "l3"].contains(&part);
        if name.len() < part.len() && !is_level { format!("{name}*") } else { part.to_owned() }
    };
    path.split('.').map(part).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_a_kind_are_added_up() {
        let spent = |passive, active| Value::Energy { passive, active };
        let total = [
            ("gpu0.l2_0.energy", spent(1, 2)),
            ("gpu0.l2_11.energy", spent(10, 20)),
            ("cpu.core3.l2.energy", spent(100, 0)),
            ("memory0.energy", spent(0, 0)),
        ];
        let total = Statistics(total.into_iter().map(|(path, value)| (path.into(), value)).collect());
        let energy = by_element(&total);
        let kinds: Vec<_> =
            energy.iter().map(|spent| (spent.element.as_str(), spent.passive_fj, spent.active_fj)).collect();
        assert_eq!(kinds, [("cpu.core*.l2", 100, 0), ("gpu*.l2_*", 11, 22)]);
    }
}
