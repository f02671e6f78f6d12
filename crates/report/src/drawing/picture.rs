//! The drawing as SVG: the boxes of the text drawing, stacked vertically.

use super::plan::Part;
use crate::{
    html::{STRING, escaped},
    text::wrap,
};
use std::fmt::Write;

const WIDTH: f64 = 940.0;
const LINE: f64 = 16.0;
const PADDING: f64 = 10.0;
/// Approximate width of a letter.
const LETTER: f64 = 6.0;

pub(super) fn svg(parts: &[Part]) -> String {
    let mut content = String::new();
    let height = stack(parts, 1.0, 1.0, WIDTH - 2.0, &mut content);
    format!("<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=img aria-label=machine>{content}</svg>", height + 2.0)
}

/// Draws parts below each other from `y` on; returns their total height.
fn stack(parts: &[Part], x: f64, y: f64, width: f64, svg: &mut String) -> f64 {
    let start = y;
    let mut y = y;
    for part in parts {
        match part {
            Part::Line(text) => {
                for line in wrap(text, (width / LETTER) as usize, 2).lines() {
                    y += LINE;
                    write!(svg, "<text x={x:.0} y={:.0}>{}</text>", y - 4.0, escaped(line)).expect(STRING);
                }
            }
            Part::Box { title, parts } => {
                let mut inside = String::new();
                let (left, top) = (x + PADDING, y + LINE + PADDING);
                let height = stack(parts, left, top, width - 2.0 * PADDING, &mut inside) + LINE + 2.0 * PADDING;
                write!(svg, "<rect class=box x={x:.0} y={y:.0} width={width:.0} height={height:.0} rx=5 />")
                    .expect(STRING);
                let base = y + LINE + 2.0;
                write!(svg, "<text class=title x={left:.0} y={base:.0}>{}</text>", escaped(title)).expect(STRING);
                svg.push_str(&inside);
                y += height;
            }
        }
        y += 4.0;
    }
    y - start
}
