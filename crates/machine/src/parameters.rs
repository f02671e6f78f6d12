//! Every parameter of a machine: its value, the file that sets it, and the comment there, which names its source.

use crate::file::{File, Layer, join};
use serde::Serialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// A key of a machine file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// `gpu.l2`; empty for the root.
    pub section: String,
    pub key: String,
    /// The value as written, without quotes.
    pub value: String,
    /// The place that sets the value: file and line, or the `--set` option.
    pub place: String,
    /// The file's comment on it: its source, often its unit.
    pub comment: String,
    /// Why the parameter has no effect on this machine; `None` if it has one. Known after the machine has been read.
    pub without_effect: Option<String>,
}

/// The comments of a file about a section or about the whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    pub about: String,
    pub text: String,
}

impl File {
    /// Every parameter: those of the root first, then section by section, in the order of the files.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut found = Vec::new();
        collect(&self.table, "", &mut |section, key, value| {
            let path = join(section, key);
            let said = |(at, layer): (usize, &Layer)| Some((at, layer.line(&path)?));
            let first = self.layers.iter().enumerate().find_map(said).unwrap_or((usize::MAX, 0));
            let (place, comment) = self.said(section, key);
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let without_effect = self.no_effect(&path).map(str::to_owned);
            let (section, key) = (section.to_owned(), key.to_owned());
            found.push((first, Parameter { section, key, value, place, comment, without_effect }));
        });
        let mut sections: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (first, parameter) in &found {
            let earliest = sections.entry(parameter.section.clone()).or_insert(*first);
            *earliest = (*earliest).min(*first);
        }
        found.sort_by_key(|(first, parameter)| {
            (!parameter.section.is_empty(), sections[&parameter.section], parameter.section.clone(), *first)
        });
        found.into_iter().map(|(_, parameter)| parameter).collect()
    }

    /// The comments at the head of each file and above its sections.
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for layer in &self.layers {
            let head = layer.text.lines().map_while(|line| line.strip_prefix('#'));
            let text = head.map(str::trim).collect::<Vec<_>>().join(" ");
            if !text.is_empty() {
                remarks.push(Remark { about: layer.name.clone(), text });
            }
            for line in layer.text.lines().filter(|line| line.starts_with('[')) {
                let text = comment(line);
                if let (Some(about), false) = (line[1..].split(']').next(), text.is_empty()) {
                    remarks.push(Remark { about: join(&layer.at, about), text: text.to_owned() });
                }
            }
        }
        remarks
    }

    /// The place that set a key last, and the comment there.
    fn said(&self, section: &str, key: &str) -> (String, String) {
        let place = self.place(section, Some(key));
        let line = |layer: &Layer| {
            let number: usize = place.strip_prefix(&layer.name)?.strip_prefix(':')?.parse().ok()?;
            layer.text.lines().nth(number - 1).map(|line| comment(line).to_owned())
        };
        let comment = self.layers.iter().find_map(line).unwrap_or_default();
        (place, comment)
    }
}

fn collect(table: &Table, section: &str, f: &mut impl FnMut(&str, &str, &Value)) {
    for (key, value) in table {
        match value {
            Value::Table(inner) if section.is_empty() => collect(inner, key, f),
            Value::Table(inner) => collect(inner, &format!("{section}.{key}"), f),
            value => f(section, key, value),
        }
    }
}

/// The text after a line's `#`, if the `#` is not inside a string.
fn comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return line[at + 1..].trim(),
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_its_place_and_the_comment_there() {
        let file = File::load("skeleton", &["gpu.l2.size=1MiB".to_owned()]).unwrap();
        let parameters = file.parameters();
        let of = |section: &str, key: &str| {
            let found = parameters.iter().find(|p| p.section == section && p.key == key).expect("it is there");
            (found.value.as_str(), found.place.as_str(), found.comment.as_str())
        };
        let (value, place, comment) = of("gpu.compute_unit", "vector");
        assert_eq!((value, comment), ("4", "[i] cycles: 64 lanes on 16 ALUs"));
        assert!(place.starts_with("compute_unit/gcn3:"), "{place}");
        assert_eq!(of("gpu.l2", "size"), ("1MiB", "--set gpu.l2.size=1MiB", ""));
        assert!(of("gpu", "arrays").1.starts_with("skeleton:"));
        assert_eq!(parameters[0].key, "about", "in the order of the files");
        assert!(
            file.remarks().iter().any(|remark| remark.about == "gpu/r9nano" && remark.text.contains("[m] MGPUSim"))
        );
    }

    #[test]
    fn a_comment_begins_behind_the_value() {
        assert_eq!(comment(r##"about = "a # b"   # why"##), "why");
        assert_eq!(comment("arrays = 1"), "");
    }
}
