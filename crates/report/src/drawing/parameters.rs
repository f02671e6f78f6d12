//! The parameters of a machine as a table, section by section.

use crate::text::wrap;
use machine::{Parameter, Remark};
use std::fmt::Write;

const WIDTH: usize = 100;
const STRING: &str = "writing to a string can't fail";

/// Every parameter with an effect: its value, where it was set, and the comment there. After them, the parameters
/// without effect and the comments at the heads of the files.
pub fn parameters(parameters: &[Parameter], remarks: &[Remark]) -> String {
    let (idle, parameters): (Vec<&Parameter>, Vec<&Parameter>) =
        parameters.iter().partition(|parameter| parameter.without_effect.is_some());
    // Longer values than most extend beyond the column.
    let widest = |of: fn(&Parameter) -> &str, most: usize| {
        let lengths = parameters.iter().map(|parameter| of(parameter).chars().count());
        lengths.filter(|length| *length <= most).max().unwrap_or(0)
    };
    let (key, value, place) = (widest(|p| &p.key, 24), widest(|p| &p.value, 12), widest(|p| &p.place, 20));
    let mut text = String::new();
    let mut section = "";
    // The machine's description has already been printed.
    for parameter in parameters.iter().filter(|parameter| parameter.key != "about") {
        if parameter.section != section {
            section = &parameter.section;
            let about = remarks.iter().find(|remark| remark.about == section).map_or("", |remark| &remark.text);
            writeln!(text, "\n{}", wrap(&format!("[{section}]  {about}"), WIDTH, 2)).expect(STRING);
        }
        let mut line = format!("  {:key$}  {:value$}  {:place$}", parameter.key, parameter.value, parameter.place);
        let column = key + value + place + 8;
        for piece in wrap(&parameter.comment, WIDTH - column, 0).lines() {
            // Beside the value if there is room, otherwise on the next line.
            let last = line.lines().last().unwrap_or_default().chars().count();
            match last + 2 > column {
                true => line.extend(["\n".to_owned(), " ".repeat(column), piece.to_owned()]),
                false => line.extend([" ".repeat(column - last), piece.to_owned()]),
            }
        }
        writeln!(text, "{}", line.trim_end()).expect(STRING);
    }
    for (why, keys) in by_reason(&idle) {
        writeln!(text, "\n{}", wrap(&format!("Without effect: {}. Why: {why}", keys.join(", ")), WIDTH, 2))
            .expect(STRING);
    }
    let sections: Vec<&str> = parameters.iter().chain(&idle).map(|p| p.section.as_str()).collect();
    for remark in remarks.iter().filter(|remark| !sections.contains(&remark.about.as_str())) {
        writeln!(text, "\n{}", wrap(&format!("{}: {}", remark.about, remark.text), WIDTH, 2)).expect(STRING);
    }
    text
}

/// The keys without effect, grouped by reason.
fn by_reason<'a>(idle: &[&'a Parameter]) -> Vec<(&'a str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for parameter in idle {
        let why = parameter.without_effect.as_deref().unwrap_or_default();
        let key = match parameter.section.as_str() {
            "" => parameter.key.clone(),
            section => format!("{section}.{}", parameter.key),
        };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, keys)) => keys.push(key),
            None => reasons.push((why, vec![key])),
        }
    }
    reasons
}
