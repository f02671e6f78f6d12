//! Sums of statistics, chosen by patterns of their names.

use engine::{Statistics, Value};
use std::{borrow::Cow, collections::BTreeMap};

/// The sum of all numbers whose names match, of each pattern that one matches; of those called `max`, the largest.
pub(crate) fn sums(patterns: &[String], total: &Statistics) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    if patterns.is_empty() {
        return sums;
    }
    for (path, value) in &total.0 {
        for (own, number) in numbers(value) {
            let name = if own.is_empty() { Cow::from(path.as_str()) } else { format!("{path}.{own}").into() };
            for pattern in patterns.iter().filter(|pattern| matches(pattern, &name)) {
                let kept = sums.entry(pattern.clone()).or_insert(0.0);
                *kept = if own == "max" { f64::max(*kept, number as f64) } else { *kept + number as f64 };
            }
        }
    }
    sums
}

/// The numbers of a statistic that can be added up, each with its name below the statistic's.
fn numbers(value: &Value) -> Vec<(Cow<'_, str>, u64)> {
    match value {
        Value::Count(n) => vec![("".into(), *n)],
        Value::Histogram { count, sum, max, buckets, .. } => {
            let buckets = buckets.iter().enumerate().map(|(bits, n)| (format!("n{bits}").into(), *n));
            [("count".into(), *count), ("sum".into(), *sum), ("max".into(), *max)].into_iter().chain(buckets).collect()
        }
        Value::Level { cycles, area, max } => {
            vec![("cycles".into(), *cycles), ("area".into(), *area), ("max".into(), *max)]
        }
        Value::Matrix { rows, columns, counts } => {
            let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| format!("{row}/{column}").into()));
            pairs.zip(counts.iter().copied()).collect()
        }
        Value::Series(spans) => vec![("".into(), spans.by_cycle().map(|(_, n)| n).sum())],
        Value::Energy { passive, active } => vec![("passive".into(), *passive), ("active".into(), *active)],
    }
}

/// Whether a name matches a pattern, in which `*` stands for any number of characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The first place of each part leaves most for those behind it.
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let cases = [
            ("gpu0.l2.hits", "gpu0.l2.hits", true),
            ("gpu0.l2.hits", "gpu0.l2.hits_late", false),
            ("gpu*.l2*.hits", "gpu3.l2b1.hits", true),
            ("gpu*.l2*.hits", "gpu3.l1.hits", false),
            ("*.hits", "hits", false),
            ("*hits", "hits", true),
            ("a*b*a", "aba", true),
            ("a*ba", "aba", true),
            ("ab*ba", "aba", false),
            ("*", "anything", true),
            ("a**b", "ab", true),
            ("*x*x*", "x", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn numbers_of_statistics_are_added_up_by_pattern() {
        let matrix = Value::Matrix {
            rows: vec!["line".into(), "write".into()],
            columns: vec!["messages".into(), "bytes".into()],
            counts: vec![1, 64, 2, 128],
        };
        let histogram = Value::Histogram { count: 2, sum: 7, min: 3, max: 4, buckets: vec![0, 0, 1, 1] };
        let statistics = [
            ("gpu0.hits", Value::Count(3)),
            ("gpu1.hits", Value::Count(4)),
            ("fabric.port", matrix),
            ("gpu0.waits", histogram),
            ("gpu0.pages", Value::Level { cycles: 10, area: 70, max: 9 }),
            ("gpu1.pages", Value::Level { cycles: 10, area: 20, max: 5 }),
        ];
        let total = Statistics(statistics.map(|(path, value)| (path.into(), value)).into());
        let patterns =
            ["gpu*.hits", "fabric.*/bytes", "*.waits.sum", "*.waits.n3", "*.pages.max", "*.pages.area", "*.misses"]
                .map(str::to_owned);
        let expected = [
            ("gpu*.hits", 7.0),
            ("fabric.*/bytes", 192.0),
            ("*.waits.sum", 7.0),
            ("*.waits.n3", 1.0),
            ("*.pages.max", 9.0),
            ("*.pages.area", 90.0),
        ];
        assert_eq!(sums(&patterns, &total), expected.map(|(pattern, sum)| (pattern.to_owned(), sum)).into());
    }
}
