//! The messages and bytes that the wires of a fabric carried, by cause, from statistics that are matrices.

use crate::statistics::Value;
use serde::Serialize;
use std::collections::BTreeMap;

/// The traffic of one wire for one cause.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Freight {
    wire: String,
    cause: String,
    messages: u64,
    bytes: u64,
}

pub(crate) fn by_cause(total: &BTreeMap<String, Value>) -> Vec<Freight> {
    let mut found = Vec::new();
    for (wire, value) in total {
        let Value::Matrix { columns, .. } = value else { continue };
        if !columns.iter().map(String::as_str).eq(["messages", "bytes"]) {
            continue;
        }
        let mut causes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (cause, column, n) in value.pairs() {
            let entry = causes.entry(cause).or_default();
            if column == "messages" { entry.0 = n } else { entry.1 = n }
        }
        let freight = |(cause, (messages, bytes)): (&str, (u64, u64))| Freight {
            wire: wire.clone(),
            cause: cause.to_owned(),
            messages,
            bytes,
        };
        found.extend(causes.into_iter().map(freight));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_bytes_of_a_cause_are_in_one_row() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let matrix = |columns: &[&str]| Value::Matrix {
            rows: names(&["line", "copy"]),
            columns: names(columns),
            counts: vec![2, 128, 0, 0],
        };
        let total = [
            ("fabric.bus".to_owned(), matrix(&["messages", "bytes"])),
            ("l1.accesses".to_owned(), matrix(&["hit", "miss"])),
        ];
        let found = by_cause(&total.into());
        assert_eq!(found, [Freight { wire: "fabric.bus".into(), cause: "line".into(), messages: 2, bytes: 128 }]);
    }
}
