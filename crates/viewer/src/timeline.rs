//! The time line of a run: its regions, what GPUs and copies spent each of them on, curves of the whole machine, and
//! the spans of a trace if the run has one.

use crate::{
    file,
    statistics::{Region, Span, Statistics, Value, pattern},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

/// Points of a curve.
const COLUMNS: usize = 240;
/// Spans of a trace that are shown, and the largest trace that is read for them.
const SPANS: usize = 5000;
const LARGEST_TRACE: u64 = 256 << 20;

#[derive(Serialize)]
pub(crate) struct Timeline {
    start: u64,
    end: u64,
    regions: Vec<Span>,
    phases: Vec<Lane>,
    curves: Vec<Curve>,
    /// Named spans of elements, from a trace.
    spans: Vec<TraceSpan>,
}

/// How an element spent each region: shares of the region by reason.
#[derive(Serialize)]
struct Lane {
    element: String,
    reasons: Vec<String>,
    /// For each region, in their order, a share for each reason.
    shares: Vec<Vec<f64>>,
}

/// The sum of the series of equal elements.
#[derive(Serialize)]
struct Curve {
    /// The path of the elements, with `*` in place of numbers.
    name: String,
    elements: usize,
    /// The unit of the values, which are per cycle.
    unit: &'static str,
    /// Values at equal steps from `start` to `end`.
    values: Vec<f64>,
}

#[derive(Serialize)]
struct TraceSpan {
    element: String,
    name: String,
    start: u64,
    end: u64,
}

pub(crate) fn of(folder: &Path, statistics: &Statistics, clock_hz: f64) -> Timeline {
    let regions = &statistics.regions;
    let start = regions.first().map_or(0, |region| region.start);
    let end = regions.last().map_or(0, |region| region.end).max(start + 1);
    Timeline {
        start,
        end,
        regions: regions.iter().map(|one| Span { name: one.name.clone(), start: one.start, end: one.end }).collect(),
        phases: lanes(regions),
        curves: curves(regions, start, end, clock_hz),
        spans: spans(folder),
    }
}

/// Lanes of `front_end.gpuN.time.*`, and of the DMA engines' `cycles`.
fn lanes(regions: &[Region]) -> Vec<Lane> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in regions.iter().flat_map(|region| region.statistics.keys()) {
        let Some((group, reason)) = lane_of(path) else { continue };
        let reasons = found.entry(group.to_owned()).or_default();
        if !reasons.iter().any(|known| known == reason) {
            reasons.push(reason.to_owned());
        }
    }
    let lane = |(group, mut reasons): (String, Vec<String>)| {
        // Idle comes last.
        reasons.sort_by_key(|reason| (reason == "idle", reason.clone()));
        let shares = regions.iter().map(|region| {
            let count = |reason: &String| region.statistics.get(&format!("{group}.{reason}")).map_or(0, Value::count);
            let counts: Vec<u64> = reasons.iter().map(count).collect();
            let all = counts.iter().sum::<u64>().max(1);
            counts.into_iter().map(|count| count as f64 / all as f64).collect()
        });
        let element = group.strip_prefix("front_end.").unwrap_or(&group);
        let element = element.rsplit_once('.').map_or(element, |(element, _)| element).to_owned();
        Lane { element, shares: shares.collect(), reasons }
    };
    found.into_iter().map(lane).collect()
}

fn lane_of(path: &str) -> Option<(&str, &str)> {
    let (group, reason) = path.rsplit_once('.')?;
    let of_gpu = group.starts_with("front_end.gpu") && group.ends_with(".time");
    (of_gpu || group == "dma.cycles" || group == "host.dma.cycles").then_some((group, reason))
}

fn curves(regions: &[Region], start: u64, end: u64, clock_hz: f64) -> Vec<Curve> {
    let mut curves: BTreeMap<String, (Curve, Vec<String>)> = BTreeMap::new();
    for region in regions {
        for (path, value) in &region.statistics {
            let Value::Series { span_cycles, first, sums } = value else { continue };
            let (element, name) = path.rsplit_once('.').unwrap_or(("", path));
            let hertz = own_hertz(region, element).unwrap_or(clock_hz);
            let (unit, factor) = match name {
                "resident" => ("wavefronts", 1.0),
                "issued" => ("instructions a cycle", 1.0),
                // A line has 64 bytes.
                "traffic" => ("GB/s", 64.0 * hertz / 1e9),
                _ => ("a cycle", 1.0),
            };
            let made = || {
                let (name, values) = (pattern(path), vec![0.0; COLUMNS]);
                (Curve { name, elements: 0, unit, values }, Vec::new())
            };
            let (curve, known) = curves.entry(pattern(path)).or_insert_with(made);
            if !known.contains(path) {
                known.push(path.clone());
            }
            let femtoseconds = 1e15 / hertz;
            for (at, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum > 0) {
                let cycle = (first + at as u64) as f64 * *span_cycles as f64;
                let (from, until) = (cycle * femtoseconds, (cycle + *span_cycles as f64) * femtoseconds);
                // The last span of a region reaches beyond it.
                let (from, until) = (from.max(region.start as f64), until.min(region.end as f64));
                let cycles = (until - from) / femtoseconds;
                if cycles > 0.0 {
                    pour(&mut curve.values, (start as f64, end as f64), (from, until), *sum as f64 * factor / cycles);
                }
            }
        }
    }
    let finished = |(curve, known): (Curve, Vec<String>)| Curve { elements: known.len(), ..curve };
    curves.into_values().map(finished).collect()
}

/// Adds a value that lasts from one time to another to the columns that it lies in, by how much of each it fills.
fn pour(columns: &mut [f64], (start, end): (f64, f64), (from, until): (f64, f64), value: f64) {
    let width = (end - start) / columns.len() as f64;
    let first = ((from - start) / width).max(0.0) as usize;
    for (number, column) in columns.iter_mut().enumerate().skip(first) {
        let (left, right) = (start + number as f64 * width, start + (number + 1) as f64 * width);
        let inside = until.min(right) - from.max(left);
        if inside <= 0.0 {
            break;
        }
        *column += value * inside / width;
    }
}

/// The clock of an element, by a level that it measures.
fn own_hertz(region: &Region, element: &str) -> Option<f64> {
    let below = format!("{element}.");
    let length = region.end.checked_sub(region.start).filter(|length| *length > 0)?;
    let own = region.statistics.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
    own.into_iter().find_map(|(_, value)| match value {
        Value::Level { cycles, .. } if *cycles > 0 => Some(*cycles as f64 * 1e15 / length as f64),
        _ => None,
    })
}

#[derive(Deserialize)]
struct TraceFile {
    #[serde(rename = "traceEvents")]
    events: Vec<TraceEntry>,
}

#[derive(Deserialize)]
struct TraceEntry {
    #[serde(default)]
    cat: String,
    name: String,
    pid: u64,
    tid: u64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: BTreeMap<String, String>,
}

fn spans(folder: &Path) -> Vec<TraceSpan> {
    let Ok(text) = file::read(&folder.join("trace.json"), LARGEST_TRACE) else { return Vec::new() };
    let Ok(trace) = serde_json::from_slice::<TraceFile>(&text) else { return Vec::new() };
    let named = trace.events.iter().filter(|event| event.name == "thread_name");
    let names: BTreeMap<(u64, u64), &str> =
        named.filter_map(|event| Some(((event.pid, event.tid), event.args.get("name")?.as_str()))).collect();
    let spans = trace.events.iter().filter(|event| event.cat == "span").take(SPANS);
    // Times of a trace are microseconds.
    let time = |micros: f64| (micros * 1e9) as u64;
    let span = |event: &TraceEntry| TraceSpan {
        element: names.get(&(event.pid, event.tid)).copied().unwrap_or_default().to_owned(),
        name: event.name.clone(),
        start: time(event.ts),
        end: time(event.ts + event.dur),
    };
    spans.map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_poured_keeps_its_area() {
        let mut columns = [0.0; 4];
        pour(&mut columns, (0.0, 40.0), (5.0, 25.0), 2.0);
        assert_eq!(columns, [1.0, 2.0, 1.0, 0.0]);
    }

    #[test]
    fn a_series_is_spread_over_the_time_of_its_element() {
        let text = r#"{"regions":[{"name":"k","start":0,"end":8000000,"statistics":{
            "cu0.level":{"level":{"cycles":8,"area":1,"max":1}},
            "cu0.resident":{"series":{"span_cycles":4,"first":1,"sums":[8]}},
            "cu1.level":{"level":{"cycles":8,"area":1,"max":1}},
            "cu1.resident":{"series":{"span_cycles":4,"first":1,"sums":[4]}},
            "front_end.gpu0.time.kernel":{"count":3},"front_end.gpu0.time.idle":{"count":1}}}]}"#;
        let statistics: Statistics = serde_json::from_str(text).unwrap();
        let line = of(Path::new("/nowhere"), &statistics, 1e9);
        let curve = &line.curves[0];
        assert_eq!((curve.name.as_str(), curve.elements, curve.unit), ("cu*.resident", 2, "wavefronts"));
        let last = curve.values[COLUMNS - 1];
        assert!(curve.values[0] == 0.0 && (last - 3.0).abs() < 1e-9, "2 and 1 wavefronts in the second half: {last}");
        assert_eq!((line.phases[0].element.as_str(), &line.phases[0].shares[0][..]), ("gpu0", &[0.75, 0.25][..]));
        assert_eq!(line.phases[0].reasons, ["kernel", "idle"]);
    }
}
