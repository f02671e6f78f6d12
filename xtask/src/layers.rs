//! Checks the order of the crates.
//!
//! A crate may depend only on crates of a layer above it in [`LAYERS`], which repeats the table of ARCHITECTURE.md.
//! Development-only dependencies count as well: a test that needs a lower crate belongs in that crate.

use std::{collections::BTreeMap, fs, path::Path};

/// The layers, the most independent first. Crates on one line do not depend on each other.
const LAYERS: &[&[&str]] = &[
    &["engine"],
    &["mem"],
    &["protocol"],
    &["x86", "gcn3"],
    &["interconnect"],
    &["cache", "vm", "dram"],
    &["cpu", "gpu"],
    &["os"],
    &["machine"],
    &["workloads"],
    &["figures"],
    &["report"],
    &["viewer"],
    &["cli"],
];

/// Dependencies that the order of the layers would allow but the design forbids: (crate, its only permitted
/// dependencies).
const ONLY: &[(&str, &[&str])] =
    &[("protocol", &["mem"]), ("x86", &["mem"]), ("gcn3", &["mem"]), ("adsm", &["protocol"]), ("adsm-io", &[])];

/// Checks every crate under `crates/`; returns a summary, or every violation found.
pub fn check() -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let mut dependencies = BTreeMap::new();
    let entries = fs::read_dir(root.join("crates")).map_err(|e| format!("crates/: {e}"))?;
    for entry in entries {
        let folder = entry.map_err(|e| format!("crates/: {e}"))?.path();
        let manifest = folder.join("Cargo.toml");
        if manifest.exists() {
            let name = folder.file_name().expect("a folder has a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&manifest).map_err(|e| format!("{}: {e}", manifest.display()))?;
            let used = own_dependencies(&text).map_err(|e| format!("{}: {e}", manifest.display()))?;
            dependencies.insert(name, used);
        }
    }
    let wrong = violations(&dependencies);
    if wrong.is_empty() {
        Ok(format!("layers: {} crates, every dependency points up", dependencies.len()))
    } else {
        Err(wrong.join("\n"))
    }
}

/// The dependencies of a manifest that are crates of this workspace.
fn own_dependencies(manifest: &str) -> Result<Vec<String>, toml::de::Error> {
    let manifest: toml::Table = toml::from_str(manifest)?;
    let own = |name: &&String| name.as_str() == "adsm" || layer(name).is_some();
    Ok(["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|section| manifest.get(*section)?.as_table())
        .flat_map(|section| section.keys().filter(own).cloned())
        .collect())
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|crates| crates.contains(&name))
}

fn violations(dependencies: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, used) in dependencies {
        let only = ONLY.iter().find(|(who, _)| who == name).map(|(_, may)| *may);
        if only.is_none() && layer(name).is_none() {
            wrong.push(format!("crate '{name}' has no layer: give it one in xtask/src/layers.rs and ARCHITECTURE.md"));
            continue;
        }
        for other in used {
            let allowed = match only {
                Some(may) => may.contains(&other.as_str()),
                None => layer(other) < layer(name) && other != "adsm",
            };
            if !allowed {
                wrong.push(format!("crate '{name}' must not depend on '{other}' (see the layers in ARCHITECTURE.md)"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
        edges.iter().map(|(name, used)| (name.to_string(), owned(used))).collect()
    }

    #[test]
    fn the_workspace_keeps_its_layers() {
        check().unwrap();
    }

    #[test]
    fn a_crate_may_use_what_stands_above_it() {
        assert!(violations(&graph(&[("cli", &["engine", "gcn3"]), ("cache", &["engine", "protocol"])])).is_empty());
    }

    #[test]
    fn a_crate_may_not_use_its_own_layer_or_one_below() {
        assert_eq!(violations(&graph(&[("engine", &["cli"])])).len(), 1);
        assert_eq!(violations(&graph(&[("cache", &["dram"])])).len(), 1);
    }

    #[test]
    fn emulators_do_not_know_time_and_protocols_do_not_know_the_engine() {
        assert_eq!(violations(&graph(&[("gcn3", &["engine"])])).len(), 1);
        assert_eq!(violations(&graph(&[("protocol", &["engine"])])).len(), 1);
        assert!(violations(&graph(&[("adsm", &["protocol"])])).is_empty());
        assert_eq!(violations(&graph(&[("adsm", &["engine"])])).len(), 1);
    }

    #[test]
    fn a_crate_without_a_layer_is_an_error() {
        assert_eq!(violations(&graph(&[("mystery", &[])])).len(), 1);
    }

    #[test]
    fn dependencies_of_every_kind_are_read_from_a_manifest() {
        let manifest =
            "[dependencies]\nengine.workspace = true\nserde = \"1\"\n[dev-dependencies]\nmem.workspace = true\n";
        assert_eq!(own_dependencies(manifest).unwrap(), ["engine", "mem"]);
    }
}
