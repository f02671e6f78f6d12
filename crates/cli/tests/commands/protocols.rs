//! `show protocol`: its diagrams, and those that `docs/protocols` shows.

use crate::support::cohesim;
use std::{collections::BTreeMap, fs, path::Path};

/// By table, a protocol that has it, and the table's number of states.
fn tables() -> BTreeMap<String, (String, usize)> {
    let mut found = BTreeMap::new();
    let protocols = cohesim(&["list", "protocols", "--json"]).json();
    for protocol in protocols["protocols"].as_array().unwrap() {
        let name = protocol["name"].as_str().unwrap();
        for table in cohesim(&["show", "protocol", name, "--json"]).json()["tables"].as_array().unwrap() {
            let states = table["states"].as_array().unwrap().len();
            found.insert(table["name"].as_str().unwrap().to_owned(), (name.to_owned(), states));
        }
    }
    found
}

#[test]
fn committed_state_diagrams_are_what_the_tables_give() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut shown = String::new();
    for page in fs::read_dir(docs.join("protocols")).unwrap() {
        shown.push_str(&fs::read_to_string(page.unwrap().path()).unwrap());
    }
    let mut images: Vec<String> = Vec::new();
    for image in fs::read_dir(docs.join("images/protocols")).unwrap() {
        let name = image.unwrap().file_name().into_string().unwrap();
        images.push(name.strip_suffix(".svg").expect("only images lie there").to_owned());
    }
    let tables = tables();
    for (table, (protocol, states)) in &tables {
        // Of the tables of orders, which resemble each other, only some are shown.
        if *states < 2 || table.starts_with("orders_") && !images.contains(table) {
            continue;
        }
        let command = ["show", "protocol", protocol, "--role", table, "--diagram"];
        let file = docs.join(format!("images/protocols/{table}.svg"));
        let committed = fs::read_to_string(&file).unwrap_or_default();
        let how = format!("cohesim {} > docs/images/protocols/{table}.svg", command.join(" "));
        assert!(cohesim(&command).result() == committed, "the diagram is not that of the table; write it by\n{how}");
        assert!(shown.contains(&format!("images/protocols/{table}.svg)")), "no page of docs/protocols shows {table}");
    }
    let surplus: Vec<_> = images.into_iter().filter(|image| !tables.contains_key(image)).collect();
    assert!(surplus.is_empty(), "no table is called {surplus:?}");
}

#[test]
fn one_table_of_a_protocol_is_shown_alone() {
    let text = cohesim(&["show", "protocol", "mesi", "--role", "l1d"]).result();
    assert!(text.contains("\nl1d\n") && !text.contains("\nl2\n"), "{text}");
    let error = cohesim(&["show", "protocol", "mesi", "--role", "l4"]).error();
    assert!(error.contains("protocol mesi has no table 'l4': it has l1i, l1d, l2"), "{error}");
}

#[test]
fn a_protocol_s_diagrams_are_one_image() {
    let svg = cohesim(&["show", "protocol", "vi", "--diagram"]).result();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    for table in ["l1", "wb", "memory", "orders_l1", "orders_l2"] {
        assert!(svg.contains(&format!(">{table}</text>")), "{table}");
    }
    let error = cohesim(&["show", "protocol", "vi", "--diagram", "--storage"]).error();
    assert!(error.contains("cannot be used with"), "{error}");
}
