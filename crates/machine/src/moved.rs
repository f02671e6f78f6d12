//! Bytes moved between memories or over the links of a fabric, by cause and by link.

use engine::{Statistics, Value};
use std::collections::BTreeMap;

/// The causes of fabric messages: the name in the statistics, and the name in reports.
const CAUSES: [(&str, &str); 4] =
    [("line", "remote line"), ("write", "remote write"), ("atomic", "remote atomic"), ("coherence", "coherence")];

/// Bytes by cause. DMA engines count transfers; fabric messages are counted where they leave an end of the fabric, or
/// on its bus.
pub fn moved_by_cause(total: &Statistics) -> BTreeMap<String, u64> {
    let mut moved = BTreeMap::new();
    let mut add = |cause: &str, bytes: u64| {
        if bytes > 0 {
            *moved.entry(cause.to_owned()).or_insert(0) += bytes;
        }
    };
    for (path, value) in &total.0 {
        // What is looked for depends on the kind of value: most paths are of the other kind, or counts of 0.
        match value {
            Value::Count(bytes) if *bytes > 0 => {
                if let Some((engine, cause)) = path.rsplit_once(".moved.")
                    && engine.ends_with("dma")
                {
                    add(&cause.replace('_', " "), *bytes);
                }
            }
            Value::Matrix { .. } if goes_onto_fabric(path) => {
                for (cause, told) in CAUSES {
                    add(told, bytes_of(value, Some(cause)));
                }
            }
            _ => {}
        }
    }
    moved
}

/// Bytes on each link of the fabric that has a bandwidth, by the link's name.
pub fn moved_by_link(total: &Statistics) -> BTreeMap<String, u64> {
    let is_wire = |path: &str, value: &Value| {
        if !matches!(value, Value::Matrix { .. }) {
            return false;
        }
        let node = path.rsplit_once('.').map_or("", |(node, _)| node);
        node == "fabric" || node.ends_with(".port")
    };
    let wires = total.0.iter().filter(|(path, value)| is_wire(path, value));
    let wires = wires.map(|(path, value)| (path, bytes_of(value, None)));
    wires.filter(|(_, bytes)| *bytes > 0).map(|(path, bytes)| (path.to_string(), bytes)).collect()
}

/// Whether a link counts what enters the fabric: what it counts has been counted by no link before.
pub(crate) fn goes_onto_fabric(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(node, wire)| {
        node.ends_with(".port") && (wire == "out" || wire.starts_with("to_")) || (node, wire) == ("fabric", "bus")
    })
}

/// Bytes that a link has counted, for one cause or for all causes.
pub(crate) fn bytes_of(link: &Value, cause: Option<&str>) -> u64 {
    let Value::Matrix { rows, columns, counts } = link else { return 0 };
    let Some(column) = columns.iter().position(|column| column == "bytes") else { return 0 };
    let meant = |row: &str| cause.is_none_or(|cause| cause == row);
    let cells = rows.iter().zip(counts.chunks(columns.len()));
    cells.filter(|(row, _)| meant(row)).map(|(_, cells)| cells[column]).sum()
}
