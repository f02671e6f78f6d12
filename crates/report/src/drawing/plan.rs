//! The contents of a drawing: the parts of a machine, in the order in which a request passes them.

use super::data::WireEntry;
use machine::{
    Machine, NetworkSpec, Topology,
    plan::{Element, Path, Plan, Population, What, Wire, lower},
};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// A part of a drawing.
pub(super) enum Part {
    Box { title: String, parts: Vec<Part> },
    Line(String),
}

/// The machine's file as a table, and its plan.
pub(super) fn planned(machine: &Machine) -> (Table, Plan) {
    let table: Table = machine.resolved.parse().expect("the resolved machine is TOML");
    let population = if machine.cpu.is_some() { Population::Program } else { Population::Host };
    (table, lower(machine, population))
}

pub(super) fn of(machine: &Machine) -> Vec<Part> {
    let (table, plan) = planned(machine);
    let mut root = Group::default();
    for element in plan.elements.iter().filter(|element| !matches!(element.what, What::Timekeeper)) {
        root.put(&element.path.names().collect::<Vec<_>>(), element);
    }
    let mut parts: Vec<Part> = root.groups.iter().map(|group| group.part(&table)).collect();
    parts.push(Part::Box { title: "wires".to_owned(), parts: wires(&plan) });
    parts
}

/// Elements whose paths differ only in numbers, and the groups below them.
#[derive(Default)]
struct Group<'a> {
    name: &'static str,
    numbers: BTreeSet<usize>,
    /// The first of these elements.
    element: Option<&'a Element>,
    groups: Vec<Group<'a>>,
}

impl<'a> Group<'a> {
    fn put(&mut self, path: &[(&'static str, Option<usize>)], element: &'a Element) {
        let [(name, number), rest @ ..] = path else {
            // An element with a section describes the group better than one without.
            if self.element.is_none_or(|first| first.section().is_none()) {
                self.element = Some(element);
            }
            return;
        };
        let at = self.groups.iter().position(|group| group.name == *name).unwrap_or_else(|| {
            self.groups.push(Group { name, ..Group::default() });
            self.groups.len() - 1
        });
        self.groups[at].numbers.extend(number);
        self.groups[at].put(rest, element);
    }

    fn part(&self, table: &Table) -> Part {
        let (label, of) = match self.name {
            "cu" => ("compute unit", ""),
            "l2_" => ("l2", " banks"),
            "l3_" => ("l3", " slices"),
            "memory" => ("memory", " channels"),
            name => (name, ""),
        };
        let number = self.numbers.len().max(1);
        let title = if number == 1 { label.to_owned() } else { format!("{label} x {number}{of}") };
        let about = self.element.map_or(Vec::new(), |element| about(element, table));
        let mut parts: Vec<Part> = about.into_iter().filter(|line| !line.is_empty()).map(Part::Line).collect();
        match (self.groups.is_empty(), parts.pop()) {
            (true, Some(Part::Line(last))) if parts.is_empty() => Part::Line(format!("{title}: {last}")),
            (true, None) => Part::Line(title),
            (_, last) => {
                parts.extend(last);
                parts.extend(self.groups.iter().map(|group| group.part(table)));
                Part::Box { title, parts }
            }
        }
    }
}

/// The machine file's description of an element, line by line.
pub(super) fn about(element: &Element, table: &Table) -> Vec<String> {
    match (&element.what, element.section()) {
        (What::Network(spec, _), _) => vec![of_network(spec)],
        (_, Some(path)) => of_section(table, path),
        _ => Vec::new(),
    }
}

/// The description of a section; for memories, also that of their kind's section.
fn of_section(table: &Table, path: &str) -> Vec<String> {
    let section = |path: &str| at(table, path).and_then(Value::as_table).cloned().unwrap_or_default();
    let own = section(path);
    let mut lines = vec![described(&own, &["arrays", "units_per_array", "banks"])];
    if let Some(kind) = own.get("kind").and_then(Value::as_str).filter(|_| path.ends_with("memory")) {
        let used = if kind == "fixed" { "fixed" } else { "dram" };
        lines.push(described(&section(&format!("{path}.{used}")), &[]));
    }
    lines
}

fn of_network(spec: &NetworkSpec) -> String {
    let kind = match spec.topology {
        Topology::Crossbar => "crossbar",
        Topology::Ring => "ring",
        Topology::Mesh { .. } => "mesh",
        Topology::Bus => "bus",
    };
    let bytes = spec.bytes_per_cycle.map(|bytes| format!(", {bytes} bytes per cycle")).unwrap_or_default();
    let plural = if spec.latency.0 == 1 { "" } else { "s" };
    format!("{kind}, latency {} cycle{plural}{bytes}, capacity {}", spec.latency.0, spec.capacity)
}

/// The wires; those that differ only in numbers are one entry.
pub(super) fn wires_alike(plan: &Plan) -> Vec<WireEntry> {
    let mut found: Vec<WireEntry> = Vec::new();
    for edge in &plan.edges {
        let [upper, lower] = [edge.upper, edge.lower].map(|id| without_numbers(&plan.element(id).path));
        let made = match &edge.wire {
            Wire::Link(spec) => {
                let bytes = spec.bytes_per_cycle.map(|bytes| format!(", {bytes} bytes per cycle")).unwrap_or_default();
                format!("link of {}, capacity {}{bytes}", spec.latency, spec.capacity)
            }
            Wire::Ports { there, .. } => {
                let bytes = there.spec.bytes_per_cycle;
                let bytes = bytes.map(|bytes| format!(", {bytes} bytes per cycle")).unwrap_or_default();
                format!("{} cycles, capacity {}{bytes}", there.spec.latency.0, there.spec.capacity)
            }
            Wire::Shared(_) | Wire::Call => continue,
        };
        let freight = format!("{:?}", edge.freight).to_lowercase();
        let alike = |known: &&mut WireEntry| {
            known.upper == upper && known.lower == lower && known.freight == freight && known.made == made
        };
        match found.iter_mut().find(alike) {
            Some(known) => known.count += 1,
            None => found.push(WireEntry { upper, lower, freight, made, count: 1 }),
        }
    }
    found
}

fn wires(plan: &Plan) -> Vec<Part> {
    let told = |wire: WireEntry| {
        let WireEntry { upper, lower, freight, made, count } = wire;
        let text = format!("{upper} - {lower}: {freight}, {made}");
        Part::Line(if count == 1 { text } else { format!("{text} (x {count})") })
    };
    wires_alike(plan).into_iter().map(told).collect()
}

fn without_numbers(path: &Path) -> String {
    path.names().map(|(name, _)| name.trim_end_matches('_')).collect::<Vec<_>>().join(".")
}

fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('.');
    let first = table.get(keys.next()?)?;
    keys.try_fold(first, |value, key| value.as_table()?.get(key))
}

/// The most informative keys, in the order of printing; other keys follow.
const FIRST: [&str; 7] = ["kind", "size", "ways", "simds", "waves_per_simd", "latency", "mshrs"];

/// The values of a section in words: `16 KiB, 4 ways, latency 20 cycles, 128 mshrs`.
fn described(section: &Table, without: &[&str]) -> String {
    let values = section.iter().filter(|(key, value)| !value.is_table() && !without.contains(&key.as_str()));
    let mut values: Vec<_> = values.collect();
    values.sort_by_key(|(key, _)| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
    let words = values.into_iter().map(|(key, value)| {
        let name = key.replace('_', " ");
        match value {
            Value::String(text) if key == "size" || key == "kind" => text.clone(),
            Value::String(text) => format!("{name} {text}"),
            Value::Boolean(true) => name,
            Value::Boolean(false) => format!("no {name}"),
            Value::Integer(1) if key == "latency" => "latency 1 cycle".to_owned(),
            Value::Integer(number) if key == "latency" => format!("{name} {number} cycles"),
            Value::Integer(number) if name.ends_with('s') || name.contains(" per ") => format!("{number} {name}"),
            other => format!("{name} {other}"),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}
