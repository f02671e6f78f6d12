//! What happened when: curves of the whole machine, and a map of how full each compute unit was.
//!
//! Series have spans that are powers of two of cycles, on one grid, so the coarsest of them is a grid for all.

use super::{STRING, escaped};
use crate::{
    Summary,
    facts::Facts,
    figures::bandwidth,
    subject::Subject,
    summary::{by_number, own_cycles},
};
use engine::{Spans, Statistics, Time, Value};
use mem::LINE;
use std::fmt::Write;

const WIDTH: f64 = 940.0;
const LEFT: f64 = 60.0;
const HEIGHT: f64 = 110.0;
/// Kernels whose starts are marked, at most.
const MARKED: usize = 24;
/// Shades of the map.
const SHADES: f64 = 8.0;

/// All series of a name, on one grid.
struct Together<'a> {
    each: Vec<(&'a str, &'a Spans)>,
    span_cycles: u64,
    columns: usize,
    /// Cycles of the GPU's clock for each of theirs.
    scale: f64,
}

impl<'a> Together<'a> {
    fn of(total: &'a Statistics, name: &str, axis: &Axis) -> Option<Self> {
        let ending = format!(".{name}");
        let mut each: Vec<(&str, &Spans)> = Vec::new();
        for (path, value) in &total.0 {
            if let (Some(element), Value::Series(spans)) = (path.strip_suffix(&ending), value) {
                each.push((element, spans));
            }
        }
        each.sort_by_key(|(element, _)| by_number(element));
        let span_cycles = each.iter().map(|(_, spans)| spans.span_cycles).max()?;
        let last = each.iter().filter_map(|(_, spans)| spans.by_cycle().last()).map(|(cycle, _)| cycle / span_cycles);
        let columns = last.max()? as usize + 1;
        let own = own_cycles(total, each.first()?.0).filter(|cycles| *cycles > 0);
        let scale = own.map_or(1.0, |own| axis.cycles / own as f64);
        Some(Self { each, span_cycles, columns, scale })
    }

    /// A series on the grid, a cycle.
    fn on_grid(&self, spans: &Spans) -> Vec<f64> {
        let mut columns = vec![0.0; self.columns];
        for (cycle, sum) in spans.by_cycle() {
            columns[(cycle / self.span_cycles) as usize] += sum as f64 / self.span_cycles as f64;
        }
        columns
    }

    /// Where a span begins on the page.
    fn x(&self, axis: &Axis, span: usize) -> f64 {
        axis.x((span as u64 * self.span_cycles) as f64 * self.scale)
    }

    fn sum(&self) -> Vec<f64> {
        let mut columns = vec![0.0; self.columns];
        for (_, spans) in &self.each {
            columns.iter_mut().zip(self.on_grid(spans)).for_each(|(sum, one)| *sum += one);
        }
        columns
    }
}

/// Where cycles are on the page.
struct Axis {
    cycles: f64,
}

impl Axis {
    fn x(&self, cycle: f64) -> f64 {
        LEFT + (WIDTH - LEFT) * (cycle / self.cycles).min(1.0)
    }
}

/// A curve of the whole machine.
struct Curve {
    series: &'static str,
    title: &'static str,
    /// What would be as much as there can be; 0 if that is not known.
    most: f64,
    /// What one a cycle stands for.
    unit: f64,
    told: fn(f64) -> String,
}

pub(super) fn charts(subject: &Subject, total: &Statistics, summary: &Summary) -> String {
    let facts = Facts::of(subject.machine);
    let axis = Axis { cycles: facts.cycles(subject.run).max(1) as f64 };
    let mut html = String::new();
    let units = summary.units.as_ref().map_or(0, |units| units.count as u64);
    let slots = (facts.wave_slots * units) as f64;
    let (clock, line) = (facts.clock.0 as f64, LINE as f64);
    let curves = [
        Curve {
            series: "resident",
            title: "Wavefronts on all compute units",
            most: slots,
            unit: 1.0,
            told: |n| format!("{n:.0}"),
        },
        Curve {
            series: "issued",
            title: "Instructions issued a cycle",
            most: 0.0,
            unit: 1.0,
            told: |n| format!("{n:.1}"),
        },
        Curve {
            series: "traffic",
            title: "Memory traffic",
            most: facts.memory_peak,
            unit: line * clock,
            told: bandwidth,
        },
    ];
    for Curve { series, title, most, unit, told } in curves {
        let Some(series) = Together::of(total, series, &axis) else { continue };
        // Lines a cycle of the memory's clock become bytes a second.
        let unit = if unit > 1.0 { unit / series.scale } else { unit };
        let columns: Vec<f64> = series.sum().into_iter().map(|n| n * unit).collect();
        let highest = told(columns.iter().copied().fold(0.0, f64::max));
        let of_most = if most > 0.0 { format!(" of {}", told(most)) } else { String::new() };
        write!(html, "<h3>{title}: {highest} at most{of_most}</h3>").expect(STRING);
        html.push_str(&curve(subject, facts, &axis, &series, &columns, &highest));
    }
    if let Some(series) = Together::of(total, "resident", &axis) {
        write!(html, "<h3>How full each compute unit was ({} wavefronts fit)</h3>", facts.wave_slots).expect(STRING);
        html.push_str(&map(&axis, &series, facts.wave_slots as f64));
    }
    html
}

fn curve(subject: &Subject, facts: Facts, axis: &Axis, series: &Together, columns: &[f64], highest: &str) -> String {
    let (top, bottom) = (14.0, 14.0 + HEIGHT);
    let most = columns.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=img>", bottom + 20.0);
    write!(svg, "<path class=axis d=\"M{LEFT} {top}V{bottom}H{WIDTH}\"/>").expect(STRING);
    write!(svg, "<text class=faint x={} y={} text-anchor=end>{highest}</text>", LEFT - 6.0, top + 6.0).expect(STRING);
    let launches: Vec<_> = subject.run.regions.iter().skip(1).collect();
    if launches.len() <= MARKED {
        for region in &launches {
            let x = axis.x(facts.to_cycles(region.start.0) as f64);
            write!(svg, "<path class=axis d=\"M{x:.1} {top}V{bottom}\"/>").expect(STRING);
            if launches.len() <= MARKED / 4 {
                let name = escaped(&region.name);
                write!(svg, "<text class=faint x={:.1} y={}>{name}</text>", x + 3.0, top - 3.0).expect(STRING);
            }
        }
    }
    let mut path = format!("M{LEFT} {bottom}");
    for (number, value) in columns.iter().enumerate() {
        let y = bottom - HEIGHT * value / most;
        write!(path, "L{:.1} {y:.1}H{:.1}", series.x(axis, number), series.x(axis, number + 1)).expect(STRING);
    }
    write!(svg, "<path class=area d=\"{path}V{bottom}Z\"/>").expect(STRING);
    for quarter in 0..=4_u32 {
        let at = f64::from(quarter) / 4.0;
        let time = Time((subject.run.end.0 as f64 * at) as u64);
        let anchor = ["start", "middle", "middle", "middle", "end"][quarter as usize];
        let (x, y) = (axis.x(axis.cycles * at), bottom + 14.0);
        write!(svg, "<text class=faint x={x:.1} y={y} text-anchor={anchor}>{time}</text>").expect(STRING);
    }
    svg + "</svg>"
}

/// A row for each unit; runs of one shade are one rectangle.
fn map(axis: &Axis, series: &Together, slots: f64) -> String {
    let row = (320.0 / series.each.len() as f64).clamp(4.0, 16.0);
    let height = row * series.each.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=img>", height + 2.0);
    write!(svg, "<path class=axis d=\"M{LEFT} 0V{height:.0}H{WIDTH}\"/>").expect(STRING);
    for (number, (element, spans)) in series.each.iter().enumerate() {
        let y = row * number as f64;
        if number == 0 || number + 1 == series.each.len() {
            let name = escaped(element.split_once('.').map_or(*element, |(_, rest)| rest));
            write!(svg, "<text class=faint x=0 y={:.1}>{name}</text>", (y + row).max(10.0)).expect(STRING);
        }
        write!(svg, "<g><title>{}</title>", escaped(element)).expect(STRING);
        let shades: Vec<u32> = series.on_grid(spans).iter().map(|n| (n / slots * SHADES).ceil() as u32).collect();
        let mut start = 0;
        for column in 1..=shades.len() {
            if shades.get(column) == shades.get(start) {
                continue;
            }
            if shades[start] > 0 {
                let (x, end) = (series.x(axis, start), series.x(axis, column));
                let width = end - x;
                let shade = f64::from(shades[start]) / SHADES;
                write!(
                    svg,
                    "<rect class=heat x={x:.1} y={y:.1} width={width:.1} height={:.1} fill-opacity={shade:.3} />",
                    row - 0.5
                )
                .expect(STRING);
            }
            start = column;
        }
        svg.push_str("</g>");
    }
    svg + "</svg>"
}
