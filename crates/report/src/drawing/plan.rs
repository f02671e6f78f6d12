//! What a drawing shows: the parts of a machine, in the order in which a request meets them.

use machine::Machine;
use toml::{Table, Value};

/// A part of a drawing.
pub(super) enum Part {
    Box {
        title: String,
        parts: Vec<Part>,
    },
    Line(String),
    /// To the next part: how long it takes.
    Wire(String),
}

pub(super) fn of(machine: &Machine) -> Vec<Part> {
    let table: Table = machine.resolved.parse().expect("the resolved machine is TOML");
    let number = |path: &str| at(&table, path).and_then(Value::as_integer).unwrap_or(1);
    let section = |path: &str| at(&table, path).and_then(Value::as_table).cloned().unwrap_or_default();
    let wire = |name: &str| Part::Wire(described(&section(&format!("wires.{name}")), &[]));
    let cache = |name: &str| Part::Line(format!("{name}: {}", described(&section(&format!("gpu.{name}")), &[])));
    let gpu = section("gpu");
    let unit = Part::Box {
        title: many("compute unit", number("gpu.units_per_array")),
        parts: vec![Part::Line(described(&section("gpu.compute_unit"), &[])), cache("l1v")],
    };
    let array = Part::Box { title: many("array", number("gpu.arrays")), parts: vec![unit, cache("l1s"), cache("l1i")] };
    let banks = number("gpu.l2.banks");
    let l2 = Part::Box {
        title: format!("l2 x {banks} banks"),
        parts: vec![Part::Line(described(&section("gpu.l2"), &["banks"]))],
    };
    let mut inside = vec![Part::Line(described(&gpu, &["arrays", "units_per_array"]))];
    // Sections that have no place of their own.
    for (name, value) in &gpu {
        let placed = ["dispatcher", "compute_unit", "l1v", "l1s", "l1i", "l2"].contains(&name.as_str());
        if let (false, Value::Table(section)) = (placed, value) {
            inside.push(Part::Line(format!("{name}: {}", described(section, &[]))));
        }
    }
    let dispatcher = format!("dispatcher: {}", described(&section("gpu.dispatcher"), &[]));
    inside.extend([Part::Line(dispatcher), wire("dispatcher"), array, wire("l1_l2"), l2]);
    let mut parts = Vec::new();
    for (name, value) in &table {
        if let (false, Value::Table(section)) =
            (["gpu", "memory", "wires", "partitions"].contains(&name.as_str()), value)
        {
            parts.push(Part::Box { title: name.clone(), parts: vec![Part::Line(described(section, &[]))] });
        }
    }
    parts.push(Part::Box { title: many("gpu", number("gpus")), parts: inside });
    parts.push(wire("l2_memory"));
    let kind = at(&table, "memory.kind").and_then(Value::as_str).unwrap_or_default();
    let mut memory = vec![Part::Line(described(&section("memory"), &[]))];
    // Of the sections for each kind, the one that counts.
    let used = section(if kind == "fixed" { "memory.fixed" } else { "memory.dram" });
    if !used.is_empty() {
        memory.push(Part::Line(described(&used, &[])));
    }
    parts.push(Part::Box { title: format!("memory x {banks}"), parts: memory });
    parts
}

fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('.');
    let first = table.get(keys.next()?)?;
    keys.try_fold(first, |value, key| value.as_table()?.get(key))
}

fn many(name: &str, number: i64) -> String {
    if number == 1 { name.to_owned() } else { format!("{name} x {number}") }
}

/// Keys that say most, in the order in which they are told; the others follow.
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
