//! Timelines: curves of the whole machine, and a map of each compute unit's occupancy.
//!
//! The axis is kernel time: kernels side by side, without the gaps between them. On a machine with a CPU it is the time
//! of the run, with the regions that the program marks. Series have spans of different lengths and clocks of different
//! rates; for the page they are resampled to columns of one width.

use super::{STRING, escaped};
use crate::{
    Summary,
    facts::Facts,
    figures::bandwidth,
    subject::Subject,
    summary::{busiest, by_number, own_cycles},
};
use engine::{Region, Time, Value};
use mem::LINE;
use std::fmt::Write;

const WIDTH: f64 = 940.0;
const LEFT: f64 = 60.0;
const HEIGHT: f64 = 110.0;
/// Maximum number of columns, and the minimum number of cycles per column.
const COLUMNS: f64 = 200.0;
const FINEST: f64 = 64.0;
/// Maximum number of kernels whose starts are marked, and of those whose names are shown.
const MARKED: usize = 24;
const NAMED: usize = 6;
/// Number of shades in the map.
const SHADES: f64 = 8.0;

/// A kernel or a region on the axis: its start on the machine and its length, in cycles of the GPU, and its start on
/// the axis.
struct Kernel<'a> {
    region: &'a Region,
    start: f64,
    length: f64,
    at: f64,
}

/// The axis.
struct Axis<'a> {
    kernels: Vec<Kernel<'a>>,
    cycles: f64,
    columns: usize,
    facts: Facts,
}

/// An element's series resampled to columns, per cycle of the element's clock; `rate`: cycles of that clock per cycle
/// of the GPU.
struct Poured {
    element: String,
    columns: Vec<f64>,
    rate: f64,
}

impl<'a> Axis<'a> {
    fn of(subject: &Subject<'a>, facts: Facts) -> Self {
        let (mut kernels, mut at) = (Vec::new(), 0.0);
        for region in &subject.run.regions {
            let start = facts.to_cycles(region.start.0);
            let length = match subject.machine.cpu {
                Some(_) => (facts.to_cycles(region.end.0) - start) as f64,
                None => busiest(&region.statistics) as f64,
            };
            if length > 0.0 {
                kernels.push(Kernel { region, start: start as f64, length, at });
                at += length;
            }
        }
        let columns = (at / FINEST).clamp(1.0, COLUMNS) as usize;
        Self { kernels, cycles: at, columns, facts }
    }

    fn x(&self, cycle: f64) -> f64 {
        LEFT + (WIDTH - LEFT) * cycle / self.cycles
    }

    /// The x coordinate of a column.
    fn column(&self, number: usize) -> f64 {
        self.x(self.cycles * number as f64 / self.columns as f64)
    }

    /// All series of a name, in the order of their elements' numbers.
    fn pour(&self, name: &str) -> Vec<Poured> {
        let ending = format!(".{name}");
        let statistics = self.kernels.first().map(|kernel| &kernel.region.statistics.0);
        let series = statistics.into_iter().flatten().filter(|(_, value)| matches!(value, Value::Series(_)));
        let mut elements: Vec<&str> = series.filter_map(|(path, _)| path.strip_suffix(&ending)).collect();
        elements.sort_by_key(|element| by_number(element));
        elements.into_iter().map(|element| self.pour_one(element, &ending)).collect()
    }

    fn pour_one(&self, element: &str, ending: &str) -> Poured {
        let width = self.cycles / self.columns as f64;
        let mut poured = Poured { element: element.to_owned(), columns: vec![0.0; self.columns], rate: 1.0 };
        for kernel in &self.kernels {
            let statistics = &kernel.region.statistics;
            let Some(Value::Series(spans)) = statistics.get(&format!("{element}{ending}")) else { continue };
            let region = self.facts.to_cycles(kernel.region.end.0) as f64 - kernel.start;
            if let Some(own) = own_cycles(statistics, element).filter(|own| *own > 0 && region > 0.0) {
                poured.rate = own as f64 / region;
            }
            for (cycle, sum) in spans.by_cycle().filter(|(_, sum)| *sum > 0) {
                let from = (cycle as f64 / poured.rate - kernel.start).clamp(0.0, kernel.length);
                let until =
                    ((cycle + spans.span_cycles) as f64 / poured.rate - kernel.start).clamp(from, kernel.length);
                // A span at the very end of a kernel gets a width of one cycle.
                let (from, until) = (from.min(kernel.length - 1.0) + kernel.at, until.max(from + 1.0) + kernel.at);
                for number in (from / width) as usize..self.columns {
                    let inside = until.min((number + 1) as f64 * width) - from.max(number as f64 * width);
                    if inside <= 0.0 {
                        break;
                    }
                    poured.columns[number] += sum as f64 * inside / (until - from);
                }
            }
        }
        poured.columns.iter_mut().for_each(|column| *column /= width * poured.rate);
        poured
    }
}

/// A curve of the whole machine.
struct Curve {
    series: &'static str,
    title: &'static str,
    /// The maximum possible value; 0 if unknown.
    most: f64,
    /// Factor from a value per cycle to the shown unit, such as bytes per second for memory.
    unit: f64,
    told: fn(f64) -> String,
}

pub(super) fn charts(subject: &Subject, summary: &Summary) -> String {
    let facts = Facts::of(subject.machine);
    let axis = Axis::of(subject, facts);
    let mut html = String::new();
    if axis.cycles < 1.0 {
        return html;
    }
    let units = summary.units.as_ref().map_or(0, |units| units.count as u64);
    let (slots, traffic) = ((facts.wave_slots * units) as f64, LINE as f64 * facts.clock.0 as f64);
    let (whole, tenths) = (|n| format!("{n:.0}"), |n| format!("{n:.1}"));
    let curves = [
        Curve { series: "resident", title: "Wavefronts on all compute units", most: slots, unit: 1.0, told: whole },
        Curve { series: "issued", title: "Instructions issued a cycle", most: 0.0, unit: 1.0, told: tenths },
        Curve { series: "traffic", title: "Memory traffic", most: facts.memory_peak, unit: traffic, told: bandwidth },
    ];
    for Curve { series, title, most, unit, told } in curves {
        let each = axis.pour(series);
        if each.is_empty() {
            continue;
        }
        let mut columns = vec![0.0; axis.columns];
        for one in &each {
            // Converts lines per cycle of the memory's clock to bytes per second.
            let unit = if unit > 1.0 { unit * one.rate } else { unit };
            columns.iter_mut().zip(&one.columns).for_each(|(sum, n)| *sum += n * unit);
        }
        let highest = told(columns.iter().copied().fold(0.0, f64::max));
        let of_most = if most > 0.0 { format!(" of {}", told(most)) } else { String::new() };
        write!(html, "<h3>{title}: {highest} at most{of_most}</h3>").expect(STRING);
        html.push_str(&curve(&axis, &columns, &highest));
    }
    let each = axis.pour("resident");
    if !each.is_empty() {
        write!(html, "<h3>How full each compute unit was ({} wavefronts fit)</h3>", facts.wave_slots).expect(STRING);
        html.push_str(&map(&axis, &each, facts.wave_slots as f64));
    }
    html
}

fn curve(axis: &Axis, columns: &[f64], highest: &str) -> String {
    let (top, bottom) = (14.0, 14.0 + HEIGHT);
    let most = columns.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=img>", bottom + 20.0);
    write!(svg, "<path class=axis d=\"M{LEFT} {top}V{bottom}H{WIDTH}\"/>").expect(STRING);
    write!(svg, "<text class=faint x={} y={} text-anchor=end>{highest}</text>", LEFT - 6.0, top + 6.0).expect(STRING);
    for kernel in axis.kernels.iter().filter(|_| axis.kernels.len() <= MARKED) {
        let x = axis.x(kernel.at);
        write!(svg, "<path class=axis d=\"M{x:.1} {top}V{bottom}\"/>").expect(STRING);
        if axis.kernels.len() <= NAMED {
            let name = escaped(&kernel.region.name);
            write!(svg, "<text class=faint x={:.1} y={}>{name}</text>", x + 3.0, top - 3.0).expect(STRING);
        }
    }
    let mut path = format!("M{LEFT} {bottom}");
    for (number, value) in columns.iter().enumerate() {
        let y = bottom - HEIGHT * value / most;
        write!(path, "L{:.1} {y:.1}H{:.1}", axis.column(number), axis.column(number + 1)).expect(STRING);
    }
    write!(svg, "<path class=area d=\"{path}V{bottom}Z\"/>").expect(STRING);
    for quarter in 0..=4_u32 {
        let cycle = axis.cycles * f64::from(quarter) / 4.0;
        let time = match quarter {
            0 => "0".to_owned(),
            _ => Time(axis.facts.to_femtoseconds(cycle as u64)).to_string(),
        };
        let anchor = ["start", "middle", "middle", "middle", "end"][quarter as usize];
        let (x, y) = (axis.x(cycle), bottom + 14.0);
        write!(svg, "<text class=faint x={x:.1} y={y} text-anchor={anchor}>{time}</text>").expect(STRING);
    }
    svg + "</svg>"
}

/// A row for each compute unit; adjacent columns of one shade are merged to one rectangle.
fn map(axis: &Axis, each: &[Poured], slots: f64) -> String {
    let row = (320.0 / each.len() as f64).clamp(4.0, 16.0);
    let height = row * each.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=img>", height + 2.0);
    write!(svg, "<path class=axis d=\"M{LEFT} 0V{height:.0}H{WIDTH}\"/>").expect(STRING);
    for (number, Poured { element, columns, .. }) in each.iter().enumerate() {
        let y = row * number as f64;
        if number == 0 || number + 1 == each.len() {
            let name = escaped(element.split_once('.').map_or(element.as_str(), |(_, rest)| rest));
            let (x, y) = (LEFT - 6.0, (y + row).max(10.0));
            write!(svg, "<text class=faint x={x} y={y:.1} text-anchor=end>{name}</text>").expect(STRING);
        }
        write!(svg, "<g><title>{}</title>", escaped(element)).expect(STRING);
        let shades: Vec<u32> = columns.iter().map(|n| (n / slots * SHADES).ceil() as u32).collect();
        let mut start = 0;
        for column in 1..=shades.len() {
            if shades.get(column) == shades.get(start) {
                continue;
            }
            if shades[start] > 0 {
                let (x, width) = (axis.column(start), axis.column(column) - axis.column(start));
                let (height, shade) = (row - 0.5, f64::from(shades[start]) / SHADES);
                let place = format!("x={x:.1} y={y:.1} width={width:.1} height={height:.1}");
                write!(svg, "<rect class=heat {place} fill-opacity={shade:.3} />").expect(STRING);
            }
            start = column;
        }
        svg.push_str("</g>");
    }
    svg + "</svg>"
}
