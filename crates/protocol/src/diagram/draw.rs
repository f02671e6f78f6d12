//! Layouts as an SVG image, which follows the reader's preference of light or dark.

use super::layout::{LINE, Layout, NAME};
use std::fmt::Write;

const STYLE: &str = "\
.d{--b:#fff;--i:#1f2328;--m:#59636e;--r:#ddf4e4;--f:#fff3d6;--l:#818b98}
.d{--c0:#0550ae;--c1:#a40e26;--c2:#116329;--c3:#6639ba;--c4:#953800;--c5:#0a6b74}
@media (prefers-color-scheme:dark){
.d{--b:#0d1117;--i:#f0f6fc;--m:#9198a1;--r:#12361f;--f:#3b2e0a;--l:#656c76}
.d{--c0:#79c0ff;--c1:#ff9a94;--c2:#7ee787;--c3:#d2a8ff;--c4:#ffb77c;--c5:#76e3ea}}
.d{background:var(--b)}.d text{font:10px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--i)}
.d .h{font:bold 15px sans-serif}.d .n{font-weight:bold;font-size:11px;text-anchor:middle}.d .s{fill:var(--m);text-anchor:middle}
.d rect{stroke:var(--l);rx:5px}.d .r{fill:var(--r)}.d .f{fill:var(--f);rx:12px}.d .g{fill:var(--b);stroke:none}
.d path{fill:none;stroke:currentColor;stroke-width:1.1}.d .a{stroke:none;fill:currentColor}.d .w text{fill:currentColor}.d .e{text-anchor:end}
.d .c0{color:var(--c0)}.d .c1{color:var(--c1)}.d .c2{color:var(--c2)}.d .c3{color:var(--c3)}.d .c4{color:var(--c4)}.d .c5{color:var(--c5)}
";

/// The height of a diagram's heading.
const HEADING: f64 = 28.0;

pub(super) fn image(diagrams: &[(&str, Layout)]) -> String {
    let width = diagrams.iter().map(|(_, layout)| layout.width).fold(0.0, f64::max);
    let height: f64 = diagrams.iter().map(|(_, layout)| layout.height + HEADING).sum();
    let names: Vec<&str> = diagrams.iter().map(|(name, _)| *name).collect();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"d\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"State diagram of {}: at rest, in flight, at rest again\">\n\
         <style>{STYLE}</style>\n<rect class=\"g\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n",
        names.join(", ")
    );
    let mut top = 0.0;
    for (name, layout) in diagrams {
        let _ = writeln!(
            out,
            "<svg y=\"{top:.0}\" width=\"{:.0}\" height=\"{:.0}\">",
            layout.width,
            layout.height + HEADING
        );
        let _ = writeln!(
            out,
            "<text class=\"h\" x=\"12\" y=\"20\">{name}</text>\n<g transform=\"translate(0 {HEADING:.0})\">"
        );
        draw(layout, &mut out);
        out.push_str("</g>\n</svg>\n");
        top += layout.height + HEADING;
    }
    out.push_str("</svg>\n");
    out
}

fn draw(layout: &Layout, out: &mut String) {
    for arrow in &layout.arrows {
        let _ = write!(
            out,
            "<g class=\"w c{}\"><title>{}</title><path d=\"{}\"/>",
            arrow.state % 6,
            arrow.title,
            arrow.path
        );
        let ((x, y), back) = (arrow.end, if arrow.from_the_right { 6 } else { -6 });
        let _ = write!(out, "<path class=\"a\" d=\"M{x:.1} {y:.1}l{back} -3v6z\"/>");
        let lines = arrow.label.len();
        for (number, line) in arrow.label.iter().enumerate() {
            let y = arrow.start.1 - 2.5 - LINE * (lines - 1 - number) as f64;
            let (x, class) =
                if arrow.leftwards { (arrow.start.0 - 6.0, " class=\"e\"") } else { (arrow.start.0 + 6.0, "") };
            let _ = write!(out, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{line}</text>");
        }
        out.push_str("</g>\n");
    }
    for rect in &layout.boxes {
        let (x, y) = (rect.x, rect.y);
        let class = if rect.at_rest { "r" } else { "f" };
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            rect.width, rect.height
        );
        let (middle, text) = (x + rect.width / 2.0, NAME + LINE * rect.stays.len() as f64);
        let mut line = y + (rect.height - text) / 2.0 + 13.0;
        let _ = write!(out, "<text class=\"n\" x=\"{middle:.1}\" y=\"{line:.1}\">{}</text>", rect.name);
        for stays in &rect.stays {
            line += LINE;
            let _ = write!(out, "<text class=\"s\" x=\"{middle:.1}\" y=\"{line:.1}\">{stays}</text>");
        }
        out.push('\n');
    }
}
