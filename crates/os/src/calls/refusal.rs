//! Words for the user when a program may not write where it wants to: many programs do not look, and die later.

use crate::{errno::Errno, process::Process};

/// More paths than this are not named.
const MOST_NAMED: usize = 8;

impl Process {
    /// Notes that what a path names can't be changed, and hands the result on.
    pub(super) fn noted<T>(&mut self, fd: u64, path: &[u8], result: Result<T, Errno>) -> Result<T, Errno> {
        if matches!(result, Err(Errno::EROFS)) {
            self.note_refusal(fd, path, Errno::EROFS);
        }
        result
    }

    /// Says once for each path that it was refused because of what is shown to the program, and which `--mount` would help. ENOENT
    /// is for what was to be made in a folder that is not shown.
    pub(super) fn note_refusal(&mut self, fd: u64, path: &[u8], error: Errno) {
        if !matches!(error, Errno::EROFS | Errno::ENOENT) || self.refused.len() >= MOST_NAMED {
            return;
        }
        let Some((path, mount)) = self.files.mount_to_write(fd, path, error) else { return };
        if !self.refused.insert(path.clone()) {
            return;
        }
        eprintln!("cohesim: the program may not write '{path}': show it the folder for writing with --mount {mount}");
        if self.refused.len() == MOST_NAMED {
            eprintln!("cohesim: further paths that it may not write are not named");
        }
    }
}
