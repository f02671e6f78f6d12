//! The parameters of a machine as a table, section by section.

use crate::text::wrap;
use machine::{Parameter, Remark};
use std::fmt::Write;

const WIDTH: usize = 100;
const STRING: &str = "writing to a string can't fail";

/// Every parameter with its value, where it was said and what is said about it there; then what the files say about
/// themselves.
pub fn parameters(parameters: &[Parameter], remarks: &[Remark]) -> String {
    let widest = |of: fn(&Parameter) -> &str| parameters.iter().map(|p| of(p).chars().count()).max().unwrap_or(0);
    let key = widest(|p| &p.key);
    let place = widest(|p| &p.place).min(28);
    // A text for people is not a value to line up with.
    let long = |p: &Parameter| p.value.chars().count() > 30;
    let value = parameters.iter().filter(|p| !long(p)).map(|p| p.value.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut section = "";
    for parameter in parameters {
        if parameter.section != section {
            section = &parameter.section;
            let about = remarks.iter().find(|remark| remark.about == section).map_or("", |remark| &remark.text);
            writeln!(text, "\n[{section}]  {about}").expect(STRING);
        }
        let line = format!("  {:key$}  {:value$}  {:place$}  ", parameter.key, parameter.value, parameter.place);
        let indent = line.chars().count();
        let comment = wrap(&parameter.comment, WIDTH.saturating_sub(indent), 0);
        let comment = comment.replace('\n', &format!("\n{}", " ".repeat(key + value + place + 8)));
        writeln!(text, "{}", format!("{line}{comment}").trim_end()).expect(STRING);
    }
    let sections: Vec<&str> = parameters.iter().map(|p| p.section.as_str()).collect();
    for remark in remarks.iter().filter(|remark| !sections.contains(&remark.about.as_str())) {
        writeln!(text, "\n{}", wrap(&format!("{}: {}", remark.about, remark.text), WIDTH, 2)).expect(STRING);
    }
    text
}
