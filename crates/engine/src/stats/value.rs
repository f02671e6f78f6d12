//! Statistics as the result of a run: plain values by path.

use super::{path::Path, series::Spans};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    ops::Bound,
};

/// The value of a statistic in one region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A count.
    Count(u64),
    /// A distribution of values; bucket 0 counts zeros, bucket n values of n bits.
    Histogram {
        /// Number of values.
        count: u64,
        /// Their sum.
        sum: u64,
        /// The smallest; 0 if there was none.
        min: u64,
        /// The largest.
        max: u64,
        /// The counts, up to the last that is not 0.
        buckets: Vec<u64>,
    },
    /// A level over time: its average is `area / cycles`.
    Level {
        /// Length of the region in cycles of the element's clock.
        cycles: u64,
        /// The sum of the level over those cycles.
        area: u64,
        /// The highest level.
        max: u64,
    },
    /// Counts of pairs, row by row.
    Matrix {
        /// The names of the rows.
        rows: Vec<Cow<'static, str>>,
        /// The names of the columns.
        columns: Vec<Cow<'static, str>>,
        /// The counts, row by row.
        counts: Vec<u64>,
    },
    /// A count or a level over time.
    Series(Spans),
    /// Energy in femtojoules.
    Energy {
        /// Leakage over time.
        passive: u64,
        /// Energy of events.
        active: u64,
    },
}

impl Value {
    /// Whether adding it to the same statistic of another region changes nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Value::Count(count) | Value::Histogram { count, .. } => *count == 0,
            Value::Matrix { counts, .. } => counts.iter().all(|count| *count == 0),
            Value::Energy { passive, active } => *passive == 0 && *active == 0,
            // A level of 0 still counts for its time.
            Value::Level { .. } | Value::Series(_) => false,
        }
    }

    /// Adds the value of the same statistic in a later region.
    fn add(&mut self, other: &Value) {
        match (self, other) {
            (Value::Count(a), Value::Count(b)) => *a += b,
            (Value::Series(a), Value::Series(b)) => a.join(b),
            (
                Value::Histogram { count, sum, min, max, buckets },
                Value::Histogram { count: count2, sum: sum2, min: min2, max: max2, buckets: buckets2 },
            ) => {
                *min = match (*count, count2) {
                    (0, _) => *min2,
                    (_, 0) => *min,
                    _ => (*min).min(*min2),
                };
                *max = (*max).max(*max2);
                *count += count2;
                *sum = sum.saturating_add(*sum2);
                buckets.resize(buckets.len().max(buckets2.len()), 0);
                buckets.iter_mut().zip(buckets2).for_each(|(a, b)| *a += b);
            }
            (Value::Level { cycles, area, max }, Value::Level { cycles: cycles2, area: area2, max: max2 }) => {
                *cycles += cycles2;
                *area += area2;
                *max = (*max).max(*max2);
            }
            (Value::Matrix { counts, .. }, Value::Matrix { counts: counts2, .. }) => {
                counts.iter_mut().zip(counts2).for_each(|(a, b)| *a += b);
            }
            (Value::Energy { passive, active }, Value::Energy { passive: passive2, active: active2 }) => {
                *passive += passive2;
                *active += active2;
            }
            (a, b) => unreachable!("one path, two kinds of statistic: {a:?} and {b:?}"),
        }
    }
}

/// The statistics of a region, by path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Statistics(pub BTreeMap<Path, Value>);

impl Statistics {
    /// The statistic called `path`.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.0.get(path)
    }

    /// The count called `path`; 0 if there is none.
    pub fn count(&self, path: &str) -> u64 {
        match self.0.get(path) {
            Some(Value::Count(n)) => *n,
            _ => 0,
        }
    }

    /// The sum of the values of the histogram called `path`; 0 if there is none.
    pub fn sum(&self, path: &str) -> u64 {
        match self.0.get(path) {
            Some(Value::Histogram { sum, .. }) => *sum,
            _ => 0,
        }
    }

    /// The average of the level called `path` over the region.
    pub fn average(&self, path: &str) -> Option<f64> {
        match self.0.get(path) {
            Some(Value::Level { cycles, area, .. }) if *cycles > 0 => Some(*area as f64 / *cycles as f64),
            _ => None,
        }
    }

    /// The statistics whose paths start with `start`, in order.
    pub fn starting<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a Path, &'a Value)> {
        let from = self.0.range::<str, _>((Bound::Included(start), Bound::Unbounded));
        from.take_while(move |(path, _)| path.starts_with(start))
    }

    /// The energy of everything at or below `path` (all of it, for an empty path), in femtojoules: passive and active.
    pub fn energy(&self, path: &str) -> (u64, u64) {
        let below = |name: &str| {
            path.is_empty() || name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.0.iter().filter(|(name, _)| below(name)).fold((0, 0), |(passive, active), (_, value)| match value {
            Value::Energy { passive: p, active: a } => (passive + p, active + a),
            _ => (passive, active),
        })
    }

    /// Adds the values that several partitions measured in the region.
    pub(crate) fn gather(&mut self, mut measured: Vec<(Path, Value)>) {
        measured.sort_by(|(path, _), (path2, _)| path.cmp(path2));
        measured.dedup_by(|(path, value), (before, sum)| {
            let again = path == before;
            if again {
                sum.add(value);
            }
            again
        });
        if self.0.is_empty() {
            self.0 = measured.into_iter().collect();
            return;
        }
        for (path, value) in measured {
            match self.0.entry(path) {
                Entry::Occupied(mut own) => own.get_mut().add(&value),
                Entry::Vacant(place) => _ = place.insert(value),
            }
        }
    }

    /// Adds the statistics of a later region.
    pub fn add(&mut self, other: &Statistics) {
        let mut missing = Vec::new();
        let mut own = self.0.iter_mut().peekable();
        // Both are sorted, so one pass finds all paths.
        for (path, value) in &other.0 {
            while own.next_if(|(known, _)| *known < path).is_some() {}
            match own.next_if(|(known, _)| *known == path) {
                Some((_, sum)) => sum.add(value),
                None => missing.push((path.clone(), value.clone())),
            }
        }
        self.0.extend(missing);
    }
}

/// A region of a run and what was measured in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// The name that the model gave it; the first region is called `start`.
    pub name: String,
    /// When it began.
    pub start: Time,
    /// When it ended: the first instant that is no longer part of it.
    pub end: Time,
    /// What was measured.
    pub statistics: Statistics,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Statistics {
        Statistics(of.iter().map(|(path, count)| (Path::from(*path), Value::Count(*count))).collect())
    }

    #[test]
    fn regions_are_added_whichever_paths_each_has() {
        let mut total = counts(&[("b", 1), ("c", 2), ("e", 3)]);
        total.add(&counts(&[("a", 10), ("c", 20), ("d", 30), ("f", 40)]));
        total.add(&counts(&[]));
        total.add(&counts(&[("a", 1), ("f", 1)]));
        assert_eq!(total, counts(&[("a", 11), ("b", 1), ("c", 22), ("d", 30), ("e", 3), ("f", 41)]));
    }
}
