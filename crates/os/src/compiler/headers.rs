//! Reads the files that a kernel source includes, on behalf of clang.
//!
//! clang sees none of the program's folders. Each file that a source names is looked up here, as the program itself
//! would open it (`files::View`). clang gets a virtual file system (an overlay) that holds copies of these files under
//! the program's own names, clang's own headers, and nothing else; Landlock (`wall`) enforces this below. So a source
//! can include exactly what its program can read, names in messages are the program's, and the build depends on known
//! bytes only.
//!
//! Names are found by scanning the text. Names that are built by macros are taken from clang's "file not found" errors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::{Component, Path},
};

use super::{CompileError, toolchain::Toolchain};
use crate::files::View;

/// Limits on the bytes that a source may include, and on the names looked up for it.
const MOST_BYTES: u64 = 64 << 20;
const MOST_NAMES: usize = 1 << 16;
/// The folder of headers that are passed along with the source.
pub const GIVEN: &str = "headers";

type Names = Vec<Vec<u8>>;

pub struct Headers<'a> {
    view: Option<&'a View>,
    /// The folders to search, in order.
    folders: Vec<Names>,
    /// Files that were found, by path.
    files: BTreeMap<Names, Vec<u8>>,
    /// Paths that have been looked up, found or not.
    tried: BTreeSet<Names>,
    bytes: u64,
    /// Headers passed along with the source, by path.
    given: BTreeMap<String, &'a [u8]>,
}

impl<'a> Headers<'a> {
    /// `folders`: the include folders given by options, as the program names them.
    pub fn new(view: Option<&'a View>, folders: &[String], given: &'a [(String, Vec<u8>)]) -> Self {
        // Skip names of given headers that lead out of their folder.
        let plain = |name: &str| {
            let mut parts = Path::new(name).components();
            parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        let given = given.iter().filter(|(name, _)| plain(name)).map(|(name, text)| (name.clone(), text.as_slice()));
        let working = view.map(View::folder).unwrap_or_else(|| b"/".to_vec());
        let working = join(&Vec::new(), &working);
        let mut searched: Vec<Names> = folders.iter().map(|folder| join(&working, folder.as_bytes())).collect();
        searched.push(working);
        let given = given.collect();
        Self { view, folders: searched, files: BTreeMap::new(), tried: BTreeSet::new(), bytes: 0, given }
    }

    /// Adds every file that a text names, and recursively the files that those name.
    pub fn gather(&mut self, text: &[u8]) -> Result<(), CompileError> {
        let given: Vec<&[u8]> = self.given.values().copied().collect();
        let mut texts: Vec<(Option<Names>, String)> =
            given.into_iter().chain([text]).map(|text| (None, String::from_utf8_lossy(text).into_owned())).collect();
        while let Some((folder, text)) = texts.pop() {
            for name in mentioned(&text) {
                let places: Vec<Names> =
                    folder.iter().chain(&self.folders).map(|at| join(at, name.as_bytes())).collect();
                for place in places {
                    if let Some(text) = self.add(&place)? {
                        let text = String::from_utf8_lossy(text).into_owned();
                        texts.push((Some(place[..place.len() - 1].to_vec()), text));
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the files that clang reported as not found in its log. Returns whether any was added.
    pub fn supply(&mut self, log: &str) -> Result<bool, CompileError> {
        let complaints = log.lines().filter_map(|line| line.split_once("error: '")?.1.rsplit_once("' file not found"));
        let wanted: Vec<String> = complaints.map(|(name, _)| name.to_owned()).collect();
        let mut any = false;
        for name in wanted {
            // Clang also searches the folder of the including file.
            let beside = self.files.keys().map(|path| path[..path.len() - 1].to_vec());
            let folders: BTreeSet<Names> = self.folders.iter().cloned().chain(beside).collect();
            for folder in folders {
                let place = join(&folder, name.as_bytes());
                if let Some(text) = self.add(&place)? {
                    let text = text.to_vec();
                    self.gather(&text)?;
                    any = true;
                }
            }
        }
        Ok(any)
    }

    /// Adds the file at a path if the program can read it and it has not been looked up before.
    fn add(&mut self, path: &Names) -> Result<Option<&[u8]>, CompileError> {
        let Some(view) = self.view.filter(|_| !path.is_empty() && !self.tried.contains(path)) else { return Ok(None) };
        let refused = |what: String| CompileError::Refused { log: format!("error: {what}\n") };
        if self.tried.len() >= MOST_NAMES {
            return Err(refused(format!("the program includes files by more than {MOST_NAMES} names")));
        }
        self.tried.insert(path.clone());
        let Some(bytes) = view.read(&absolute(path), MOST_BYTES) else { return Ok(None) };
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES {
            return Err(refused(format!(
                "the files that the program includes have more than {} MiB",
                MOST_BYTES >> 20
            )));
        }
        Ok(Some(self.files.entry(path.clone()).or_insert(bytes)))
    }

    /// All files with their contents, for the cache key and for the compiler's folder.
    pub fn files(&self) -> impl Iterator<Item = (String, &[u8])> {
        let read = self.files.iter().map(|(path, bytes)| (shown(path), bytes.as_slice()));
        read.chain(self.given.iter().map(|(name, text)| (format!("{GIVEN}/{name}"), *text)))
    }

    /// The include folders for clang to search.
    pub fn folders(&self) -> impl Iterator<Item = String> {
        let given = (!self.given.is_empty()).then(|| GIVEN.to_owned());
        given.into_iter().chain(self.folders.iter().map(shown))
    }

    /// The overlay file system that clang sees: the source, these files (the contents of the n-th are in the file
    /// `stored(n)`), and the compiler's own files.
    pub fn overlay(&self, source: &str, stored: impl Fn(usize) -> String, toolchain: &Toolchain) -> String {
        let folders = toolchain.folders().map(|folder| folder.to_string_lossy().into_owned());
        let entry = |kind: &str, name: &str, at: &str| {
            format!("{{\"type\":\"{kind}\",\"name\":{},\"external-contents\":{}}}", quoted(name), quoted(at))
        };
        let own = folders.iter().map(|folder| entry("directory-remap", folder, folder));
        let hidden = |name: &str| folders.iter().any(|folder| Path::new(name).starts_with(folder));
        let files = self.files().enumerate().filter(|(_, (name, _))| !hidden(name));
        let files = files.map(|(n, (name, _))| entry("file", &name, &stored(n)));
        let entries: Vec<String> = [entry("file", source, source)].into_iter().chain(own).chain(files).collect();
        format!(
            "{{\"version\":0,\"case-sensitive\":\"true\",\"use-external-names\":\"false\",\
             \"redirecting-with\":\"redirect-only\",\"roots\":[\n{}\n]}}\n",
            entries.join(",\n")
        )
    }
}

/// The file names that a text may include: everything in quotation marks or angle brackets on lines with an
/// include-like directive.
fn mentioned(text: &str) -> Vec<&str> {
    let relevant = |line: &&str| ["include", "import", "embed"].iter().any(|word| line.contains(word));
    let mut names = Vec::new();
    for line in text.lines().filter(relevant) {
        let mut rest = line;
        while let Some(start) = rest.find(['"', '<']) {
            let close = if rest[start..].starts_with('<') { '>' } else { '"' };
            rest = &rest[start + 1..];
            let Some(end) = rest.find(close) else { continue };
            names.push(&rest[..end]);
            rest = &rest[end + 1..];
        }
    }
    names
}

/// The components of a path relative to a folder, with `.` and `..` resolved.
fn join(folder: &Names, path: &[u8]) -> Names {
    let mut names = if path.starts_with(b"/") { Names::new() } else { folder.clone() };
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => _ = names.pop(),
            name => names.push(name.to_vec()),
        }
    }
    names
}

fn absolute(path: &Names) -> Vec<u8> {
    path.iter().flat_map(|name| [b"/", name.as_slice()].concat()).collect()
}

/// A path in the form passed to clang.
fn shown(path: &Names) -> String {
    if path.is_empty() { "/".into() } else { String::from_utf8_lossy(&absolute(path)).into_owned() }
}

/// A quoted string for the overlay file.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(letter)).expect("a string takes everything");
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_can_be_included() {
        let text = "#include \"a.h\"\n# include <b/c.h>\n#if __has_include(\"d.h\") && __has_include(<e.h>)\nchar *s = \"f\";\n";
        assert_eq!(mentioned(text), ["a.h", "b/c.h", "d.h", "e.h"]);
        assert_eq!(mentioned("#include \"open\n#include <\"x\""), ["x"]);
    }

    #[test]
    fn paths_are_plain_and_stay_below_the_root() {
        assert_eq!(shown(&join(&join(&vec![], b"/data/inc"), b"../x/./y.h")), "/data/x/y.h");
        assert_eq!(shown(&join(&vec![], b"../../etc")), "/etc");
    }
}
