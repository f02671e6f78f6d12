//! Checkpoints: the state of a program between two kernels, in a file.
//!
//! A run with checkpoints consists of parts. A part ends when the machine has drained: all commands enqueued before
//! have completed, and the caches have written back. The machine is then discarded. The next part begins with a new
//! machine, whose caches, TLBs and row buffers are empty and whose clocks begin at zero, and with the process that the
//! checkpoint describes. The run that wrote the checkpoint does this as well as a run that restores it, so the
//! statistics of both after the checkpoint are equal byte for byte. A checkpoint also has the results of the parts
//! before it.
//!
//! A file is a line of text (format, version, build, length and SHA-256 of what follows) and the encoded state. It is
//! read only by the build that wrote it.

use crate::spec::Machine;
use engine::{Run, Time};
use mem::{Frames, PAGE, PhysAddr};
use os::state::{Read, Reader, State, Unreadable};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use thiserror::Error;

/// The state of a run between two parts.
#[derive(Clone)]
pub struct Checkpoint {
    /// The name of the machine, and all its keys.
    pub machine: String,
    pub resolved: String,
    /// Identifies the program, its arguments and the options that it depends on.
    pub program: Vec<u8>,
    /// What the reports say about the parts so far.
    pub parts: Parts,
    /// The results of the parts so far.
    pub(crate) run: Option<Run>,
    pub(crate) kernel_time: Time,
    /// The process and its driver, and the contents of memory.
    pub(crate) state: Vec<u8>,
    pub(crate) frames: Frames,
}

/// The parts that a run consists of, for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// The kernels before which the run drained.
    pub drained: Vec<u64>,
    /// The name of the machine that made the checkpoint, if a different machine continues. In that case the results
    /// begin at the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_on: Option<String>,
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.drained.iter().map(u64::to_string).collect();
        let plural = if numbers.len() == 1 { "kernel" } else { "kernels" };
        write!(f, "before {plural} {}, where caches are cold", numbers.join(", "))?;
        match &self.made_on {
            Some(name) => write!(f, "; what ran before the checkpoint, on {name}, is not counted"),
            None => Ok(()),
        }
    }
}

/// The kernels before which a run drains, and the checkpoint from which it starts.
#[derive(Clone, Default)]
pub struct Checkpoints {
    /// Kernels before which the run drains, in ascending order, and the files to write there.
    pub before: Vec<(u64, PathBuf)>,
    pub restored: Option<Arc<Checkpoint>>,
    /// Whether a checkpoint that a different machine made is accepted.
    pub cold: bool,
    /// Identifies the program, as in [`Checkpoint::program`], and the build of the simulator.
    pub program: Vec<u8>,
    pub build: String,
}

/// Why a checkpoint could not be made, or can't be used.
#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error("the checkpoint '{path}' can't be {what}: {error}", path = .path.display())]
    File { path: PathBuf, what: &'static str, error: io::Error },
    #[error("'{}' is not a checkpoint of cohesim", .0.display())]
    NotOne(PathBuf),
    #[error(
        "the checkpoint '{}' has format {found}, but this build of cohesim reads format {FORMAT}: write it again with this build",
        .path.display()
    )]
    Format { path: PathBuf, found: String },
    #[error(
        "the checkpoint '{}' was written by another build of cohesim (version {version}, build {build}); a build reads only its own checkpoints: \
         write it again with this one",
        .path.display()
    )]
    Build { path: PathBuf, version: String, build: String },
    #[error("the checkpoint '{}' is damaged: {why}", .path.display())]
    Damaged { path: PathBuf, why: String },
    #[error(
        "the checkpoint was made on machine {made}, and this is {own}: add --cold to continue there with cold caches"
    )]
    Machine { made: String, own: String },
    #[error(
        "the checkpoint was made on machine {name} with other keys (first: '{made}', here '{own}'): set them again, or add --cold to \
         continue with cold caches"
    )]
    Keys { name: String, made: String, own: String },
    #[error(
        "the checkpoint was written by a different program, or with different arguments or options: give the original ones"
    )]
    Program,
    #[error("the checkpoint was made before kernel {made}, so none can be written before kernel {wanted}")]
    Past { made: u64, wanted: u64 },
    #[error("{0}")]
    Unsupported(&'static str),
}

const FORMAT: &str = "1";
const MAGIC: &str = "cohesim checkpoint";
/// Maximum length of a file's first line.
const LONGEST_LINE: usize = 400;

impl Checkpoints {
    /// Checks before the run that this machine can write and restore checkpoints.
    pub(crate) fn check(&self, machine: &Machine) -> Result<(), CheckpointError> {
        if self.before.is_empty() && self.restored.is_none() {
            return Ok(());
        }
        if machine.cpu.is_some() {
            return Err(CheckpointError::Unsupported(
                "checkpoints are for machines whose host is outside: on this one the program runs on cores, and its threads can't be stopped \
                 between two instructions of all of them",
            ));
        }
        if machine.levels.is_some() {
            return Err(CheckpointError::Unsupported(
                "checkpoints are not for machines whose GPUs keep copies of the host's memory",
            ));
        }
        let Some(restored) = &self.restored else { return Ok(()) };
        let last = restored.parts.drained.last().copied().unwrap_or_default();
        if let Some((wanted, _)) = self.before.iter().find(|(kernel, _)| *kernel <= last) {
            return Err(CheckpointError::Past { made: last, wanted: *wanted });
        }
        if restored.program != self.program {
            return Err(CheckpointError::Program);
        }
        if self.cold {
            return Ok(());
        }
        if restored.machine != machine.name {
            return Err(CheckpointError::Machine { made: restored.machine.clone(), own: machine.name.clone() });
        }
        let mut lines = restored.resolved.lines().zip(machine.resolved.lines());
        match lines.find(|(made, own)| made != own) {
            None if restored.resolved == machine.resolved => Ok(()),
            other => {
                let (made, own) = other.unwrap_or_default();
                let name = restored.machine.clone();
                Err(CheckpointError::Keys { name, made: made.to_owned(), own: own.to_owned() })
            }
        }
    }
}

impl Checkpoint {
    /// The number of the kernel before which it was made.
    pub fn kernel(&self) -> u64 {
        self.parts.drained.last().copied().unwrap_or_default()
    }

    /// Whether this machine is the one that made it.
    pub(crate) fn is_of(&self, machine: &Machine) -> bool {
        self.machine == machine.name && self.resolved == machine.resolved
    }

    /// Writes the file completely, or not at all.
    pub fn write(&self, path: &Path, build: &str) -> Result<(), CheckpointError> {
        let mut body = Vec::new();
        self.save(&mut body);
        let version = env!("CARGO_PKG_VERSION");
        let line = format!("{MAGIC} {FORMAT} {version} {build} {} {}\n", body.len(), digest(&body));
        let failed = |error| CheckpointError::File { path: path.to_owned(), what: "written", error };
        let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        let name = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
        let partial = path.with_file_name(name);
        let written = fs::File::create(&partial).and_then(|mut file| {
            io::Write::write_all(&mut file, line.as_bytes())?;
            io::Write::write_all(&mut file, &body)?;
            file.sync_all()?;
            fs::rename(&partial, path)
        });
        written.map_err(|error| {
            _ = fs::remove_file(&partial);
            failed(error)
        })
    }

    /// Reads a file that this build wrote.
    pub fn read(path: &Path, build: &str) -> Result<Self, CheckpointError> {
        let path = path.to_owned();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return Err(CheckpointError::File { path, what: "read", error }),
        };
        let end = bytes.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n');
        let line = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok());
        let Some(words) = line.and_then(|line| line.strip_prefix(MAGIC)) else {
            return Err(CheckpointError::NotOne(path));
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        let body = &bytes[end.unwrap_or_default() + 1..];
        let damaged = |why: String| CheckpointError::Damaged { path: path.clone(), why };
        match words[..] {
            [format, ..] if format != FORMAT => Err(CheckpointError::Format { found: format.to_owned(), path }),
            [_, version, made, length, sha256] => {
                if (version, made) != (env!("CARGO_PKG_VERSION"), build) {
                    let (version, build) = (version.to_owned(), made.to_owned());
                    return Err(CheckpointError::Build { path, version, build });
                }
                if length.parse() != Ok(body.len()) {
                    return Err(damaged(format!(
                        "it should have {length} bytes after its first line, and has {}",
                        body.len()
                    )));
                }
                if digest(body) != sha256 {
                    return Err(damaged("its bytes are not those that were written (SHA-256)".into()));
                }
                let mut reader = Reader::new(body);
                let loaded = Self::load(&mut reader).and_then(|loaded| reader.finish().map(|()| loaded));
                loaded.map_err(|error| damaged(error.to_string()))
            }
            _ => Err(damaged("its first line is not complete".into())),
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl State for Checkpoint {
    fn save(&self, to: &mut Vec<u8>) {
        let Self { machine, resolved, program, parts, run, kernel_time, state, frames } = self;
        (machine.clone(), resolved.clone()).save(to);
        program.save(to);
        parts.drained.save(to);
        parts.made_on.save(to);
        let run = serde_json::to_string(run).expect("results have text keys and finite numbers");
        run.save(to);
        kernel_time.save(to);
        state.len().save(to);
        to.extend(state);
        // Pages of zeros are left out: memory reads as zeros where nothing was written.
        let mut pages: Vec<(PhysAddr, &[u8])> =
            frames.pieces(PAGE).filter(|(_, page)| page.iter().any(|byte| *byte != 0)).collect();
        pages.sort_unstable_by_key(|(at, _)| *at);
        pages.len().save(to);
        for (at, page) in pages {
            at.save(to);
            to.extend(page);
        }
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let (machine, resolved) = State::load(from)?;
        let program = State::load(from)?;
        let parts = Parts { drained: State::load(from)?, made_on: State::load(from)? };
        let run = serde_json::from_str(&String::load(from)?).map_err(Unreadable::new)?;
        let kernel_time = State::load(from)?;
        let length = usize::load(from)?;
        let state = from.take(length)?.to_vec();
        let mut frames = Frames::new();
        for _ in 0..usize::load(from)? {
            let at = PhysAddr::load(from)?;
            frames.write(at, from.take(PAGE as usize)?);
        }
        Ok(Self { machine, resolved, program, parts, run, kernel_time, state, frames })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let mut frames = Frames::new();
        frames.write(PhysAddr(5 * PAGE + 3), &[7, 8]);
        Checkpoint {
            machine: "r9nano".into(),
            resolved: "name = \"r9nano\"".into(),
            program: vec![1, 2],
            parts: Parts { drained: vec![3, 9], made_on: None },
            run: None,
            kernel_time: Time::nanos(5),
            state: vec![4; 100],
            frames,
        }
    }

    /// A file of one test, deleted when the test ends.
    struct File(PathBuf);

    impl File {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("cohesim-checkpoint-{name}-{}", std::process::id())))
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let file = File::new("whole");
        checkpoint().write(&file.0, "abc").unwrap();
        let read = Checkpoint::read(&file.0, "abc").unwrap();
        let mut bytes = [0; 4];
        read.frames.read(PhysAddr(5 * PAGE + 2), &mut bytes);
        assert_eq!((bytes, &read.state, read.kernel(), &read.machine[..]), ([0, 7, 8, 0], &vec![4; 100], 9, "r9nano"));
    }

    #[test]
    fn a_file_that_is_cut_off_changed_or_foreign_is_reported() {
        let file = File::new("damaged");
        checkpoint().write(&file.0, "abc").unwrap();
        let whole = fs::read(&file.0).unwrap();
        let told = |bytes: &[u8]| {
            fs::write(&file.0, bytes).unwrap();
            Checkpoint::read(&file.0, "abc").err().expect("it is not a checkpoint").to_string()
        };
        for end in (0..whole.len()).step_by(37) {
            told(&whole[..end]);
        }
        assert!(told(&whole[..whole.len() - 1]).contains("is damaged: it should have"));
        for at in [whole.len() - 1, whole.len() / 2, 120] {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            told(&changed);
        }
        let mut changed = whole.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(told(&changed).contains("SHA-256"));
        assert!(told(b"\x7fELF").contains("is not a checkpoint"));
        assert!(told(b"cohesim checkpoint 2 0.9\n").contains("has format 2"));
        assert!(told(b"cohesim checkpoint 1\n").contains("is damaged"));
        checkpoint().write(&file.0, "xyz").unwrap();
        let error = Checkpoint::read(&file.0, "abc").err().unwrap().to_string();
        assert!(error.contains("another build") && error.contains("xyz"), "{error}");
    }
}
