//! Generates the list of shipped machines and parts from the files under `machines/`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).expect("cargo sets it for build scripts");
    let machines = variable("CARGO_MANIFEST_DIR").join("../../machines").canonicalize()?;
    println!("cargo:rerun-if-changed={}", machines.display());
    let mut text = "pub(super) const MACHINES: &[(&str, &str)] = &[\n".to_owned();
    for (name, path) in files(&machines)? {
        text += &format!("    ({name:?}, include_str!({path:?})),\n");
    }
    text += "];\npub(super) const PARTS: &[(&str, &str, &str)] = &[\n";
    for section in folders(&machines.join("parts"))? {
        let kind = section.file_name().and_then(|name| name.to_str()).expect("parts have plain names").to_owned();
        for (name, path) in files(&section)? {
            text += &format!("    ({kind:?}, {name:?}, include_str!({path:?})),\n");
        }
    }
    text += "];\n";
    fs::write(variable("OUT_DIR").join("shipped.rs"), text)
}

/// The TOML files of a folder, by name.
fn files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let (Some(name), true) =
            (path.file_stem().and_then(|name| name.to_str()), path.extension().is_some_and(|it| it == "toml"))
        {
            files.push((name.to_owned(), path.clone()));
        }
    }
    files.sort();
    Ok(files)
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let mut folders: Vec<PathBuf> = entries.into_iter().filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}
