//! The results that the page can show: those in the folders given on the command line, and their subfolders.
//!
//! A folder with `run.json` is a run, one with `findings.json` an experiment, a file `*.result` a run that `repro`
//! keeps. The folders are searched at each request; a file is read again only when its modification time or length has
//! changed.

use crate::file;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// Folders in folders are looked into this deep.
const DEPTH: usize = 8;

/// A run, as the list shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// The path below the folder that was given on the command line.
    pub(crate) name: String,
    pub(crate) program: String,
    pub(crate) arguments: String,
    pub(crate) system: String,
    /// Keys of the machine that were changed, where that is known.
    pub(crate) changes: String,
    pub(crate) outcome: String,
    pub(crate) total_fs: u64,
    pub(crate) kernel_fs: u64,
    /// Bytes that went from one memory to another.
    pub(crate) moved: u64,
    pub(crate) events: u64,
    /// Processor time of the simulation.
    pub(crate) host_seconds: f64,
    pub(crate) bottleneck: String,
    /// Seconds since 1970 at which it was written.
    pub(crate) written: u64,
    /// Whether all statistics are there, or only what an experiment needs.
    pub(crate) whole: bool,
    #[serde(skip)]
    pub(crate) path: PathBuf,
}

/// The findings of an experiment.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) written: u64,
    pub(crate) findings: serde_json::Value,
}

#[derive(Default)]
pub(crate) struct Library {
    folders: Vec<PathBuf>,
    known: BTreeMap<PathBuf, Known>,
}

struct Known {
    stamp: Stamp,
    what: What,
}

type Stamp = (SystemTime, u64);

enum What {
    Run(Box<Entry>),
    Finding(Finding),
    /// No result, or one that can't be read.
    Other,
}

impl Library {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, known: BTreeMap::new() }
    }

    /// Searches the folders again.
    pub(crate) fn refresh(&mut self) {
        let mut found = BTreeMap::new();
        for folder in self.folders.clone() {
            self.walk(&folder, &folder, DEPTH, &mut found);
        }
        self.known = found;
    }

    fn walk(&mut self, root: &Path, folder: &Path, depth: usize, found: &mut BTreeMap<PathBuf, Known>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Names with a dot are of results that are being written.
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() && depth > 0 {
                self.walk(root, &path, depth - 1, found);
            } else if kind.is_file() && (name == "run.json" || name == "findings.json" || name.ends_with(".result")) {
                let Ok(meta) = entry.metadata() else { continue };
                let stamp = (meta.modified().unwrap_or(UNIX_EPOCH), meta.len());
                let known = self.known.remove(&path).filter(|known| known.stamp == stamp);
                let known = known.unwrap_or_else(|| Known { stamp, what: read(root, &path, stamp.0) });
                found.insert(path, known);
            }
        }
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = &Entry> {
        self.known.values().filter_map(|known| if let What::Run(entry) = &known.what { Some(&**entry) } else { None })
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.known.values().filter_map(|known| if let What::Finding(found) = &known.what { Some(found) } else { None })
    }

    pub(crate) fn run(&self, id: &str) -> Option<&Entry> {
        self.runs().find(|entry| entry.id == id)
    }
}

fn read(root: &Path, path: &Path, modified: SystemTime) -> What {
    let written = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    let whole = own == "run.json";
    let of = if own.ends_with(".result") { path } else { path.parent().unwrap_or(path) };
    let label = of.strip_prefix(root).ok().filter(|rest| !rest.as_os_str().is_empty());
    let name = label.unwrap_or(Path::new(of.file_name().unwrap_or_default())).display().to_string();
    let id = identifier(of);
    let entry = match &*own {
        "run.json" => run(of),
        "findings.json" => {
            let findings = file::read(path, file::SHORT).ok().and_then(|text| serde_json::from_slice(&text).ok());
            return findings.map_or(What::Other, |findings| What::Finding(Finding { id, name, written, findings }));
        }
        _ => kept(path),
    };
    // A file that is not a result, or is of another version, is left out rather than the whole list.
    let Ok(entry) = entry else { return What::Other };
    let name = if whole { name } else { format!("{}...", name.chars().take(12).collect::<String>()) };
    What::Run(Box::new(Entry { id, name, written, whole, path: of.to_owned(), ..entry }))
}

/// A short name of a path, for addresses: the same as long as the path is (FNV-1a).
fn identifier(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

#[derive(Deserialize)]
struct RunFile {
    program: ProgramFile,
    arguments: Vec<String>,
    system: String,
    outcome: String,
    total_fs: u64,
    host: HostFile,
    events: u64,
}

#[derive(Deserialize)]
struct ProgramFile {
    name: String,
}

#[derive(Deserialize)]
struct HostFile {
    seconds: f64,
}

#[derive(Default, Deserialize)]
struct SummaryFile {
    #[serde(default)]
    kernel_fs: u64,
    #[serde(default)]
    moved: BTreeMap<String, u64>,
    #[serde(default)]
    bottlenecks: Vec<BottleneckFile>,
}

/// `task.json`.
#[derive(Default, Deserialize)]
struct TaskFile {
    sets: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct BottleneckFile {
    what: String,
}

fn json<T: for<'a> Deserialize<'a>>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&file::read(path, file::SHORT)?)?)
}

/// Reads a folder that `--out` has written.
fn run(folder: &Path) -> io::Result<Entry> {
    let run: RunFile = json(&folder.join("run.json"))?;
    let summary: SummaryFile = json(&folder.join("summary.json")).unwrap_or_default();
    // Runs of sweeps have a file with their parameters.
    let task: TaskFile = json(&folder.join("task.json")).unwrap_or_default();
    let changes = task.sets.iter().map(|(key, value)| format!("{key}={value}"));
    Ok(Entry {
        program: run.program.name,
        arguments: run.arguments.join(" "),
        system: run.system,
        changes: changes.collect::<Vec<_>>().join(" "),
        outcome: run.outcome,
        total_fs: run.total_fs,
        kernel_fs: summary.kernel_fs,
        moved: all(&summary.moved),
        events: run.events,
        host_seconds: run.host.seconds,
        bottleneck: summary.bottlenecks.into_iter().next().map_or(String::new(), |first| first.what),
        ..nothing()
    })
}

fn all(moved: &BTreeMap<String, u64>) -> u64 {
    moved.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

fn nothing() -> Entry {
    Entry {
        id: String::new(),
        name: String::new(),
        program: String::new(),
        arguments: String::new(),
        system: String::new(),
        changes: String::new(),
        outcome: "finished".to_owned(),
        total_fs: 0,
        kernel_fs: 0,
        moved: 0,
        events: 0,
        host_seconds: 0.0,
        bottleneck: String::new(),
        written: 0,
        whole: false,
        path: PathBuf::new(),
    }
}

/// A result of `repro`'s store: a line with a hash, then JSON.
#[derive(Deserialize)]
struct KeptFile {
    job: JobFile,
    measured: MeasuredFile,
}

#[derive(Deserialize)]
struct JobFile {
    machine: String,
    changes: Vec<String>,
    program: String,
    arguments: Vec<String>,
}

#[derive(Deserialize)]
struct MeasuredFile {
    region_fs: u64,
    kernels_fs: u64,
    events: u64,
    moved: BTreeMap<String, u64>,
    host_seconds: f64,
}

/// The JSON of a kept result.
pub(crate) fn kept_json(path: &Path) -> io::Result<Vec<u8>> {
    let file = file::read(path, file::SHORT)?;
    let end = file.iter().position(|byte| *byte == b'\n').ok_or(io::ErrorKind::InvalidData)?;
    Ok(file[end + 1..].to_vec())
}

fn kept(path: &Path) -> io::Result<Entry> {
    let KeptFile { job, measured } = serde_json::from_slice(&kept_json(path)?)?;
    Ok(Entry {
        program: job.program,
        arguments: job.arguments.join(" "),
        system: job.machine,
        changes: job.changes.join(" "),
        total_fs: measured.region_fs,
        kernel_fs: measured.kernels_fs,
        moved: all(&measured.moved),
        events: measured.events,
        host_seconds: measured.host_seconds,
        ..nothing()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::{ffi::OsStrExt, fs::symlink};

    /// A folder for one test, deleted when the test ends.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("cohesim-library-{name}-{}", std::process::id()));
            _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn put(&self, folder: impl AsRef<Path>, file: &str, text: &str) {
            let folder = self.0.join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        }

        fn names(&self) -> Vec<String> {
            let mut library = Library::new(vec![self.0.clone()]);
            library.refresh();
            library.runs().map(|run| run.name.clone()).collect()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0);
        }
    }

    const RUN: &str = r#"{"program": {"name": "fir"}, "arguments": [], "system": "a", "outcome": "finished", "total_fs": 1,
                          "host": {"seconds": 1.0}, "events": 1}"#;
    const KEPT: &str = "hash\n{\"job\": {\"machine\": \"a\", \"changes\": [], \"program\": \"fir\", \"arguments\": []}, \
                        \"measured\": {\"region_fs\": 1, \"kernels_fs\": 1, \"events\": 1, \"moved\": {}, \"host_seconds\": 1.0}}";

    #[test]
    fn an_empty_folder_or_none_has_no_runs() {
        let place = Place::new("empty");
        assert!(place.names().is_empty());
        fs::remove_dir_all(&place.0).unwrap();
        assert!(place.names().is_empty());
    }

    #[test]
    fn files_that_are_damaged_are_left_out_and_the_others_are_shown() {
        let place = Place::new("damaged");
        place.put("good", "run.json", RUN);
        for (number, text) in ["", "{", "[]", "null", "\u{0}", &RUN[..90], &"[".repeat(100_000)].into_iter().enumerate()
        {
            place.put(format!("bad{number}"), "run.json", text);
            place.put(format!("bad{number}"), "findings.json", text);
            place.put(".", &format!("bad{number}.result"), text);
        }
        place.put("summary", "run.json", RUN);
        place.put("summary", "summary.json", r#"{"moved": {"a": 18446744073709551615, "b": 1}}"#);
        place.put("summary", "task.json", "{");
        assert_eq!(place.names(), ["good", "summary"]);
    }

    #[test]
    fn names_with_odd_characters_are_shown() {
        let place = Place::new("odd");
        place.put("<b>&\"'", "run.json", RUN);
        place.put(std::ffi::OsStr::from_bytes(b"\xff\xfe"), "run.json", RUN);
        place.put("line\nbreak", "run.json", RUN);
        // The twelfth byte is inside of a character.
        place.put(".", "a\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}.result", KEPT);
        assert_eq!(place.names().len(), 4, "{:?}", place.names());
    }

    #[test]
    fn links_and_pipes_are_not_read() {
        let (place, outside) = (Place::new("links"), Place::new("outside"));
        outside.put("run", "run.json", RUN);
        symlink(outside.0.join("run"), place.0.join("folder")).unwrap();
        fs::create_dir(place.0.join("file")).unwrap();
        symlink(outside.0.join("run/run.json"), place.0.join("file/run.json")).unwrap();
        assert!(place.names().is_empty());
        let linked = place.0.join("file/run.json");
        assert!(file::read(&linked, file::SHORT).is_err(), "what the run's page asks for is not read either");
        assert!(file::read(Path::new("/dev/zero"), file::SHORT).is_err());
        assert!(file::read(&outside.0.join("run/run.json"), 10).is_err());
    }
}
