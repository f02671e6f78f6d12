//! The folder of `--out`: the files of a run appear in it together or not at all.
//!
//! The files are written to a folder `.NAME.partial` beside it. When all of them are on the disk, that folder replaces
//! the target in one step, and with it the results of an earlier run. The partial folder is created and locked before
//! the run starts, so that an unwritable place is detected at once, and two runs can't use one target. Files that are
//! not results of a run are never touched: a target that has such files is refused.

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, fsync, openat, renameat_with},
    io::Errno,
};
use std::{
    ffi::OsString,
    fs, io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Every name that is written to such folders.
const NAMES: [&str; 13] = [
    "stats.json",
    "stats.csv",
    "stats.parquet",
    "summary.json",
    "machine.toml",
    "plan.json",
    "run.json",
    "trace.json",
    "report.html",
    "comparison.json",
    "comparison.html",
    "findings.json",
    "unfinished.toml",
];
/// Each results folder has one of these files.
const MARKS: [&str; 3] = ["run.json", "comparison.json", "findings.json"];

/// Why results can't go to a folder.
#[derive(Debug, Error)]
pub enum OutError {
    #[error("results can't be written to '{}': {source}", folder.display())]
    Unwritable { folder: PathBuf, source: io::Error },
    #[error("results can't be written to '{}': it is not a folder", .0.display())]
    NoFolder(PathBuf),
    #[error("results can't replace the folder '{}', {why}: name another, such as one inside it", folder.display())]
    Fixed { folder: PathBuf, why: &'static str },
    #[error(
        "the folder '{}' holds '{}', which is not a result of an earlier run and would be lost: name another folder, or move \
         that away", folder.display(), found.display()
    )]
    Foreign { folder: PathBuf, found: PathBuf },
    #[error("another run is writing its results to '{}': name another folder", .0.display())]
    Busy(PathBuf),
    #[error("{error}; results of this run are in '{}'", partial.display())]
    Left { partial: PathBuf, error: Box<OutError> },
}

/// A folder that results will go to.
#[derive(Debug)]
pub struct OutFolder {
    target: PathBuf,
    /// The folder in which results are written until they are complete.
    partial: PathBuf,
    /// The lock on the partial folder.
    held: OwnedFd,
    /// Whether they stay there, as they can't go where they should.
    stays: bool,
}

impl OutFolder {
    /// Takes a folder for a run that is about to start. It is made when there are results; what is in it stays until then.
    pub fn claim(folder: &Path) -> Result<Self, OutError> {
        let unwritable = |source: io::Error| OutError::Unwritable { folder: folder.to_owned(), source };
        let target = resolved(folder).map_err(unwritable)?;
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(OutError::Fixed { folder: target, why: "the root of all" });
        };
        if target.exists() {
            check(&target).map_err(unwritable)??;
        }
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let partial = parent.join(hidden);
        match fs::create_dir(&partial) {
            // A run that was killed may have left one; the lock says whether it is in use.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unwritable(error)),
            _ => {}
        }
        let held = lock(&partial).map_err(unwritable)?.ok_or_else(|| OutError::Busy(folder.to_owned()))?;
        if let Some(found) = foreign(&partial, false).map_err(unwritable)? {
            return Err(OutError::Foreign { folder: partial, found });
        }
        empty(&partial).map_err(unwritable)?;
        Ok(Self { target, partial, held, stays: false })
    }

    /// The folder to write files to.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Shows the files, all of them, in the place of what was there.
    pub fn publish(mut self) -> Result<(), OutError> {
        let folder = self.target.clone();
        let unwritable = |source: io::Error| OutError::Unwritable { folder: folder.clone(), source };
        sync(&self.partial).map_err(unwritable)?;
        if !self.target.exists() {
            fs::rename(&self.partial, &self.target).map_err(unwritable)?;
        } else {
            // The target may have changed during the run. If it can't be replaced, the results stay in the partial
            // folder.
            check(&self.target).map_err(unwritable)?.map_err(|error| {
                self.stays = true;
                OutError::Left { partial: self.partial.clone(), error: Box::new(error) }
            })?;
            // The exchange gives the old results the partial name. They stay locked until they are removed, so that no
            // other run takes them for its own abandoned ones.
            let old = lock(&self.target).map_err(unwritable)?.ok_or_else(|| OutError::Busy(folder.clone()))?;
            self.exchange().map_err(unwritable)?;
            fs::remove_dir_all(&self.partial).map_err(unwritable)?;
            drop(old);
        }
        // Syncs the parent folder, so that the new name survives a crash. If the folder can't be opened, the system
        // writes the name later, which is acceptable.
        let parent = self.target.parent().and_then(|parent| open(parent).ok());
        _ = parent.map(fsync);
        Ok(())
    }

    fn exchange(&self) -> io::Result<()> {
        match renameat_with(CWD, &self.partial, CWD, &self.target, RenameFlags::EXCHANGE) {
            // Not every file system can exchange two names in one step.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let aside = self.partial.with_extension("old");
                fs::rename(&self.target, &aside)?;
                fs::rename(&self.partial, &self.target)?;
                fs::rename(&aside, &self.partial)
            }
            other => Ok(other?),
        }
    }
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        // If the results were moved to the target, the partial name is no longer theirs.
        if !self.stays && is_same(&self.held, &self.partial) {
            _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// The folder itself, links followed; the folders above it are made if need be.
fn resolved(folder: &Path) -> io::Result<PathBuf> {
    match folder.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let above = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(above)?;
    Ok(above.canonicalize()?.join(name))
}

/// Whether a folder that is there may be replaced.
fn check(target: &Path) -> io::Result<Result<(), OutError>> {
    if !target.is_dir() {
        return Ok(Err(OutError::NoFolder(target.to_owned())));
    }
    let fixed = |why| Ok(Err(OutError::Fixed { folder: target.to_owned(), why }));
    if std::env::current_dir().is_ok_and(|here| here == target) {
        return fixed("the one that you are in");
    }
    let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev());
    if let Some(parent) = target.parent()
        && device(parent)? != device(target)?
    {
        return fixed("a file system of its own");
    }
    let found = foreign(target, true)?;
    Ok(found.map_or(Ok(()), |found| Err(OutError::Foreign { folder: target.to_owned(), found })))
}

/// Something in a folder that is not of a run; files of a run that came to its end are `marked` as such.
fn foreign(folder: &Path, marked: bool) -> io::Result<Option<PathBuf>> {
    let (mut mark, mut first) = (false, None);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let is = |names: &[&str]| name.to_str().is_some_and(|name| names.contains(&name));
        match entry.file_type()? {
            // A comparison has a folder for each machine.
            kind if kind.is_dir() => {
                if let Some(found) = foreign(&path, marked)? {
                    return Ok(Some(found));
                }
            }
            kind if !kind.is_file() || !is(&NAMES) => return Ok(Some(path)),
            _ => {}
        }
        mark |= is(&MARKS);
        first.get_or_insert(path);
    }
    // The names alone could be others' too.
    Ok(first.filter(|_| marked && !mark))
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}

/// Locks a folder, unless another run has.
fn lock(folder: &Path) -> io::Result<Option<OwnedFd>> {
    let held = open(folder)?;
    match flock(&held, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        // Some network file systems can't lock folders. The run then relies on no other run using this name.
        Err(Errno::BADF | Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(Some(held)),
        Err(error) => Err(error.into()),
        // Another run may have renamed the folder meanwhile.
        Ok(()) => Ok(is_same(&held, folder).then_some(held)),
    }
}

fn is_same(held: &OwnedFd, path: &Path) -> bool {
    let (held, there) = (rustix::fs::fstat(held), fs::symlink_metadata(path));
    matches!((held, there), (Ok(held), Ok(there)) if (held.st_dev, held.st_ino) == (there.dev(), there.ino()))
}

fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

/// Has everything in a folder on the disk.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { sync(&path)? } else { fs::File::open(&path)?.sync_all()? }
    }
    Ok(fsync(open(folder)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for one test, deleted when the test ends.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("cohesim-out-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path.canonicalize().unwrap())
        }

        fn out(&self) -> PathBuf {
            self.0.join("results")
        }

        /// The names of everything in it.
        fn names(&self) -> Vec<String> {
            let mut names = Vec::new();
            let mut folders = vec![self.0.clone()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        folders.push(path.clone());
                    }
                    names.push(path.strip_prefix(&self.0).unwrap().display().to_string());
                }
            }
            names.sort();
            names
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0);
        }
    }

    fn run(out: &Path, files: &[&str]) -> Result<(), OutError> {
        let out = OutFolder::claim(out)?;
        for file in files {
            fs::create_dir_all(out.path().join(file).parent().unwrap()).unwrap();
            fs::write(out.path().join(file), files.join(" ")).unwrap();
        }
        out.publish()
    }

    #[test]
    fn files_of_a_run_replace_those_of_the_one_before_as_a_whole() {
        let place = Place::new("whole");
        run(&place.out(), &["run.json", "stats.json", "trace.json"]).unwrap();
        assert_eq!(place.names(), ["results", "results/run.json", "results/stats.json", "results/trace.json"]);
        run(&place.out(), &["run.json", "stats.json"]).unwrap();
        assert_eq!(place.names(), ["results", "results/run.json", "results/stats.json"]);
        assert_eq!(fs::read_to_string(place.out().join("run.json")).unwrap(), "run.json stats.json");
        run(&place.out(), &["comparison.json", "r9nano/run.json"]).unwrap();
        run(&place.out(), &["findings.json"]).unwrap();
        assert_eq!(place.names(), ["results", "results/findings.json"]);
    }

    #[test]
    fn a_run_that_does_not_complete_changes_nothing() {
        let place = Place::new("failed");
        run(&place.out(), &["run.json", "stats.json"]).unwrap();
        let before = place.names();
        let out = OutFolder::claim(&place.out()).unwrap();
        fs::write(out.path().join("stats.json"), "half").unwrap();
        drop(out);
        assert_eq!(place.names(), before);
        assert_eq!(fs::read_to_string(place.out().join("stats.json")).unwrap(), "run.json stats.json");
    }

    #[test]
    fn two_runs_can_not_have_one_folder_and_one_that_was_killed_does_not_keep_it() {
        let place = Place::new("busy");
        let first = OutFolder::claim(&place.out()).unwrap();
        assert!(matches!(OutFolder::claim(&place.out()), Err(OutError::Busy(_))));
        fs::write(first.path().join("run.json"), "").unwrap();
        first.publish().unwrap();
        // A killed run leaves the partial folder, without a lock.
        fs::create_dir(place.0.join(".results.partial")).unwrap();
        fs::write(place.0.join(".results.partial/stats.json"), "old").unwrap();
        run(&place.out(), &["run.json"]).unwrap();
        assert_eq!(place.names(), ["results", "results/run.json"]);
    }

    #[test]
    fn files_of_others_are_never_lost() {
        let place = Place::new("others");
        for file in ["results/notes.txt", "results/stats.csv", "results/r9nano/thesis.tex"] {
            let path = place.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "mine").unwrap();
            let error = OutFolder::claim(&place.out()).unwrap_err();
            assert!(matches!(&error, OutError::Foreign { found, .. } if *found == path), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
            fs::remove_dir_all(place.out()).unwrap();
        }
        // A foreign file that appears during the run.
        run(&place.out(), &["run.json"]).unwrap();
        let out = OutFolder::claim(&place.out()).unwrap();
        fs::write(place.out().join("notes.txt"), "mine").unwrap();
        fs::write(out.path().join("run.json"), "new").unwrap();
        assert!(matches!(out.publish(), Err(OutError::Left { .. })));
        assert_eq!(fs::read_to_string(place.0.join(".results.partial/run.json")).unwrap(), "new");
        fs::remove_dir_all(place.0.join(".results.partial")).unwrap();
        assert_eq!(place.names(), ["results", "results/notes.txt", "results/run.json"]);
    }

    #[test]
    fn a_folder_that_can_not_be_written_is_refused_at_once() {
        let place = Place::new("unwritable");
        fs::write(place.0.join("file"), "").unwrap();
        assert!(matches!(OutFolder::claim(&place.0.join("file")), Err(OutError::NoFolder(_))));
        assert!(matches!(OutFolder::claim(&place.0.join("file/results")), Err(OutError::Unwritable { .. })));
        assert!(matches!(OutFolder::claim(Path::new("/proc/results")), Err(OutError::Unwritable { .. })));
        assert!(matches!(OutFolder::claim(Path::new(".")), Err(OutError::Fixed { .. })));
        assert!(matches!(OutFolder::claim(Path::new("/")), Err(OutError::Fixed { .. })));
    }
}
