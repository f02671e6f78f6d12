//! Warnings for the user when a program may not write a path. Many programs ignore the error number and fail later.

use crate::{errno::Errno, process::Process};

/// The maximum number of paths that are reported.
const MOST_NAMED: usize = 8;

impl Process {
    /// Reports the path if the operation failed because the path is read-only, and returns the result unchanged.
    pub(super) fn noted<T>(&mut self, fd: u64, path: &[u8], result: Result<T, Errno>) -> Result<T, Errno> {
        if matches!(result, Err(Errno::EROFS)) {
            self.note_refusal(fd, path, Errno::EROFS);
        }
        result
    }

    /// Reports once per path that it could not be written, with the `--mount` argument that would allow it. EROFS means
    /// that the folder is read-only; ENOENT, that the new file's folder is not visible to the program.
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
