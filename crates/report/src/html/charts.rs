//! Stacked bars of the cycles of compute units and cores.

use super::{STRING, escaped};
use crate::{
    figures::percent,
    summary::{PHASES, REASONS},
};
use std::fmt::Write;

const WIDTH: f64 = 940.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 40.0;

/// Reasons for cycles, as names for people, each with the index of its colour.
pub(crate) struct Palette {
    reasons: &'static [(&'static str, &'static str)],
    colours: &'static [usize],
}

pub(crate) const UNITS: Palette = Palette { reasons: &REASONS, colours: &[0, 1, 2, 3, 4, 5, 6, 7, 8] };
/// A core's phase has the colour of the most similar reason of a compute unit.
pub(crate) const CORES: Palette = Palette { reasons: &PHASES, colours: &[0, 2, 3, 5, 8, 7] };

impl Palette {
    fn parts<'a>(&self, shares: &'a [f64]) -> impl Iterator<Item = (f64, &'static str, usize)> + use<'a> {
        let told = self.reasons.iter().zip(self.colours);
        shares.iter().zip(told).map(|(share, ((_, told), colour))| (*share, *told, *colour))
    }
}

/// The legend of the colours.
pub(crate) fn legend(palette: &Palette) -> String {
    let entries = palette
        .reasons
        .iter()
        .zip(palette.colours)
        .map(|((_, told), colour)| format!("<span><i style=\"background:var(--c{colour})\"></i>{told}</span>"));
    format!("<div class=legend>{}</div>\n", entries.collect::<String>())
}

/// A bar for each compute unit or core: its path, and its shares.
pub(super) fn by_element(each: &[(&str, &[f64])], palette: &Palette) -> String {
    let (step, bottom) = ((WIDTH - LEFT) / each.len() as f64, HEIGHT + 10.0);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=img aria-label=\"cycles by element\">", HEIGHT + 40.0);
    for quarter in 0..=4 {
        let y = bottom - HEIGHT * f64::from(quarter) / 4.0;
        let x = LEFT - 6.0;
        write!(svg, "<path class=axis d=\"M{LEFT} {y}H{WIDTH}\"/>").expect(STRING);
        write!(svg, "<text class=faint x={x} y={} text-anchor=end>{}%</text>", y + 4.0, quarter * 25).expect(STRING);
    }
    for (number, (path, shares)) in each.iter().enumerate() {
        let (x, width) = (LEFT + step * number as f64, (step - 1.0).clamp(1.0, 60.0));
        let mut y = bottom;
        for (share, told, at) in palette.parts(shares).filter(|(share, ..)| *share > 0.0) {
            let height = share * HEIGHT;
            y -= height;
            let told = format!("{path}: {told} {}", percent(share));
            write!(
                svg,
                "<rect x={x:.2} y={y:.2} width={width:.2} height={height:.2} fill=\"var(--c{at})\"><title>{}</title></rect>",
                escaped(&told)
            )
            .expect(STRING);
        }
    }
    let (first, last) = (each.first(), each.last());
    if let (Some((first, _)), Some((last, _))) = (first, last) {
        let y = bottom + 18.0;
        write!(svg, "<text class=faint x={LEFT} y={y}>{}</text>", escaped(first)).expect(STRING);
        if each.len() > 1 {
            write!(svg, "<text class=faint x={WIDTH} y={y} text-anchor=end>{}</text>", escaped(last)).expect(STRING);
        }
    }
    svg + "</svg>"
}

/// A bar for each of several runs: name, length from 0 to 1, label behind the bar, and shares.
pub(crate) fn stacked_rows(rows: &[(String, f64, String, Vec<f64>)], palette: &Palette) -> String {
    let (left, room, step) = (160.0, 620.0, 30.0);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=img aria-label=time>", step * rows.len() as f64);
    for (number, (name, length, note, shares)) in rows.iter().enumerate() {
        let y = step * number as f64 + 4.0;
        write!(svg, "<text x={} y={} text-anchor=end>{}</text>", left - 8.0, y + 15.0, escaped(name)).expect(STRING);
        let mut x = left;
        for (share, told, at) in palette.parts(shares) {
            let width = share * length * room;
            let told = format!("{name}: {told} {}", percent(share));
            write!(
                svg,
                "<rect x={x:.2} y={y} width={width:.2} height=22 fill=\"var(--c{at})\"><title>{}</title></rect>",
                escaped(&told)
            )
            .expect(STRING);
            x += width;
        }
        let end = left + length * room + 8.0;
        write!(svg, "<text class=faint x={end:.2} y={}>{}</text>", y + 15.0, escaped(note)).expect(STRING);
    }
    svg + "</svg>"
}
