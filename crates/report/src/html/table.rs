//! The table of all statistics: its data is in the page, and the script draws it.

use crate::{figures::ratio, files::line};
use engine::{Statistics, Value};

/// Path, kind, main number, and the remaining numbers as text.
type Line<'a> = (&'a str, &'static str, f64, String);

pub(super) fn of(total: &Statistics) -> String {
    let lines: Vec<Line> = total.0.iter().filter_map(|(path, value)| entry(path, value)).collect();
    // Escaped, so that no `<` in the data can end the element that holds it.
    let data = line(&lines).replace('<', "\\u003c");
    format!(
        "<p>Of all kernels together; what counted nothing is left out. Words filter by path or kind, a click on a head sorts. \
         <code>docs/statistics.md</code> says what each means.</p>\n\
         <p><input type=search id=filter placeholder=\"l2 accesses\" aria-label=filter> <span id=found></span></p>\n\
         <table id=table><thead><tr><th>path</th><th>kind</th><th class=number>value</th><th>more</th></tr></thead>\
         <tbody></tbody></table>\n<p><button id=more hidden>more</button></p>\n\
         <script type=\"application/json\" id=statistics>{data}</script>"
    )
}

fn entry<'a>(path: &'a str, value: &Value) -> Option<Line<'a>> {
    let (kind, number, more) = match value {
        Value::Count(0) => return None,
        Value::Count(n) => ("count", *n as f64, String::new()),
        Value::Histogram { count: 0, .. } => return None,
        Value::Histogram { count, sum, min, max, .. } => {
            ("histogram", ratio(*sum as f64, *count as f64), format!("mean of {count}; {min} to {max}"))
        }
        Value::Level { max: 0, .. } => return None,
        Value::Level { cycles, area, max } => {
            ("level", ratio(*area as f64, *cycles as f64), format!("mean over {cycles} cycles; at most {max}"))
        }
        Value::Matrix { rows, columns, counts } => {
            let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| format!("{row}/{column}")));
            let full = pairs.zip(counts).filter(|(_, n)| **n > 0).map(|(pair, n)| format!("{pair} {n}"));
            let full: Vec<String> = full.collect();
            if full.is_empty() {
                return None;
            }
            ("matrix", counts.iter().sum::<u64>() as f64, full.join(", "))
        }
        Value::Series(spans) if spans.sums.is_empty() => return None,
        Value::Series(spans) => {
            let most = spans.sums.iter().max().map_or(0.0, |most| *most as f64 / spans.span_cycles as f64);
            ("series", spans.sums.iter().sum::<u64>() as f64, format!("sum; {most:.2} a cycle at most"))
        }
        Value::Energy { passive: 0, active: 0 } => return None,
        Value::Energy { passive, active } => {
            let (all, nanojoule) = ((passive + active) as f64, 1e6);
            (
                "energy",
                all / nanojoule,
                format!("nJ; {:.1}% by events, the rest leaked", 100.0 * ratio(*active as f64, all)),
            )
        }
    };
    Some((path, kind, number, more))
}
