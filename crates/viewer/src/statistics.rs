//! `stats.json` of a run: statistics by region, and their totals over the run.

use crate::file;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
    path::Path,
};

/// The file.
#[derive(Deserialize)]
pub(crate) struct Statistics {
    pub(crate) regions: Vec<Region>,
}

#[derive(Deserialize)]
pub(crate) struct Region {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) statistics: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Value {
    Count(u64),
    Histogram { count: u64, sum: u64, min: u64, max: u64 },
    Level { cycles: u64, area: u64, max: u64 },
    Matrix { rows: Vec<String>, columns: Vec<String>, counts: Vec<u64> },
    Series { span_cycles: u64, first: u64, sums: Vec<u64> },
    Energy { passive: u64, active: u64 },
}

/// A statistic of the whole run: path, kind, the number it comes down to, and the rest in words.
pub(crate) type Line = (String, &'static str, f64, String);

impl Statistics {
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&file::read(&folder.join("stats.json"), u64::MAX)?)?)
    }

    /// Over all regions. Of a series, the sum is a count.
    ///
    /// A level that was nothing in a region has no entry there. Its cycles are those of the regions that have one, so they are
    /// scaled up to the time of all regions.
    pub(crate) fn total(&self) -> BTreeMap<String, Value> {
        let mut total: BTreeMap<String, Value> = BTreeMap::new();
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        for region in &self.regions {
            for (path, value) in &region.statistics {
                if matches!(value, Value::Level { .. }) {
                    *seen.entry(path).or_default() += region.end.saturating_sub(region.start);
                }
                match total.entry(path.clone()) {
                    Entry::Vacant(free) => _ = free.insert(value.summed()),
                    Entry::Occupied(mut sum) => sum.get_mut().add(value),
                }
            }
        }
        let whole: u64 = self.regions.iter().map(|region| region.end.saturating_sub(region.start)).sum();
        for (path, there) in seen.into_iter().filter(|(_, there)| *there > 0) {
            if let Some(Value::Level { cycles, .. }) = total.get_mut(path) {
                *cycles = (u128::from(*cycles) * u128::from(whole) / u128::from(there)) as u64;
            }
        }
        total
    }
}

impl Value {
    fn summed(&self) -> Self {
        match self {
            Self::Series { sums, .. } => Self::Count(sums.iter().sum()),
            other => other.clone(),
        }
    }

    fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Count(sum), Self::Count(n)) => *sum += n,
            (Self::Count(sum), Self::Series { sums, .. }) => *sum += sums.iter().sum::<u64>(),
            (
                Self::Histogram { count, sum, min, max },
                Self::Histogram { count: more, sum: sum_more, min: least, max: most },
            ) => {
                (*count, *sum) = (*count + more, *sum + sum_more);
                (*min, *max) = ((*min).min(*least), (*max).max(*most));
            }
            (Self::Level { cycles, area, max }, Self::Level { cycles: more, area: area_more, max: most }) => {
                (*cycles, *area, *max) = (*cycles + more, *area + area_more, (*max).max(*most));
            }
            (Self::Matrix { counts, .. }, Self::Matrix { counts: more, .. }) => {
                counts.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
            }
            (Self::Energy { passive, active }, Self::Energy { passive: more, active: active_more }) => {
                (*passive, *active) = (*passive + more, *active + active_more);
            }
            // A statistic has the same kind in all regions.
            _ => {}
        }
    }

    pub(crate) fn count(&self) -> u64 {
        if let Self::Count(n) = self { *n } else { 0 }
    }

    fn line(&self, path: &str) -> Line {
        let mean = |sum: u64, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let (kind, number, words) = match self {
            Self::Count(n) => ("count", *n as f64, String::new()),
            Self::Histogram { count, sum, min, max } => {
                ("histogram", mean(*sum, *count), format!("mean of {count}; {min} to {max}"))
            }
            Self::Level { cycles, area, max } => {
                ("level", mean(*area, *cycles), format!("mean over {cycles} cycles; at most {max}"))
            }
            Self::Matrix { counts, .. } => {
                let told: Vec<String> = self.pairs().map(|(row, column, n)| format!("{row}/{column} {n}")).collect();
                ("matrix", counts.iter().sum::<u64>() as f64, told.join(", "))
            }
            Self::Series { sums, .. } => ("series", sums.iter().sum::<u64>() as f64, String::new()),
            Self::Energy { passive, active } => ("energy", (passive + active) as f64, format!("fJ; {active} active")),
        };
        (path.to_owned(), kind, number, words)
    }

    /// The entries of a matrix that are not zero.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        let (rows, columns, counts): (&[String], &[String], &[u64]) = match self {
            Self::Matrix { rows, columns, counts } => (rows, columns, counts),
            _ => (&[], &[], &[]),
        };
        let pairs = rows.iter().flat_map(move |row| columns.iter().map(move |column| (row, column)));
        pairs.zip(counts).filter(|(_, n)| **n > 0).map(|((row, column), n)| (row.as_str(), column.as_str(), *n))
    }
}

/// All statistics of a run, for a table.
pub(crate) fn lines(total: &BTreeMap<String, Value>) -> Vec<Line> {
    total.iter().map(|(path, value)| value.line(path)).collect()
}

/// The statistics of a run that `repro` has stored, for the same table.
pub(crate) fn kept_lines(kept: &serde_json::Value) -> Vec<Line> {
    let mut lines = Vec::new();
    flatten("", &kept["measured"], &mut lines);
    lines
}

fn flatten(path: &str, value: &serde_json::Value, lines: &mut Vec<Line>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, lines);
            }
        }
        other => lines.extend(other.as_f64().map(|number| (path.to_owned(), "count", number, String::new()))),
    }
}

/// A path with `*` for the numbers of elements; the 1 of `l1v` and the 2 of `l2_3` stay.
pub(crate) fn pattern(path: &str) -> String {
    let mut pattern = String::new();
    let (mut before, mut in_level) = ('.', false);
    for c in path.chars() {
        match c {
            '0'..='9' if in_level => pattern.push(c),
            '0'..='9' if pattern.ends_with('*') => {}
            '0'..='9' => pattern.push('*'),
            c => pattern.push(c),
        }
        in_level = c == 'l' && !before.is_ascii_alphabetic();
        before = c;
    }
    pattern
}

/// A part of the run that has a name.
#[derive(Serialize)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics() -> Statistics {
        let text = r#"{"time_fs":30,"regions":[
            {"name":"start","start":0,"end":10,"statistics":{"a.n":{"count":2},"a.q":{"level":{"cycles":10,"area":10,"max":3}}}},
            {"name":"k","start":10,"end":30,"statistics":{"a.n":{"count":5},"a.s":{"series":{"span_cycles":4,"first":3,"sums":[1,2]}},
                "a.m":{"matrix":{"rows":["read","write"],"columns":["hit","miss"],"counts":[3,0,0,7]}},
                "a.h":{"histogram":{"count":2,"sum":6,"min":1,"max":5,"buckets":[0,1,0,1]}}}}]}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_level_that_is_left_out_where_it_was_nothing_is_averaged_over_all_of_the_run() {
        let total = statistics().total();
        assert_eq!(total["a.n"], Value::Count(7));
        assert_eq!(total["a.q"], Value::Level { cycles: 30, area: 10, max: 3 });
        assert_eq!(total["a.s"], Value::Count(3));
    }

    #[test]
    fn every_statistic_is_a_line() {
        let lines = lines(&statistics().total());
        let told: Vec<(&str, f64, &str)> =
            lines.iter().map(|(path, _, n, words)| (path.as_str(), *n, &**words)).collect();
        assert_eq!(told[0], ("a.h", 3.0, "mean of 2; 1 to 5"));
        assert_eq!(told[1], ("a.m", 10.0, "read/hit 3, write/miss 7"));
        assert_eq!(told.len(), 5);
    }

    #[test]
    fn numbers_of_elements_become_stars() {
        assert_eq!(pattern("gpu0.array12.cu3.l1v.accesses"), "gpu*.array*.cu*.l1v.accesses");
        assert_eq!(pattern("gpu0.l2_13.accesses"), "gpu*.l2_*.accesses");
    }
}
