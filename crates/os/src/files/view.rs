//! The files that a program can read, for components that read on its behalf, such as the compiler of its kernels.

use super::{Found, Mount, MountError, Namespace, Place, Step, stat::FileType, table::open_regular, walk::path_of};
use rustix::fs::{Mode, OFlags};
use std::{fs::File, io::Read, path::Path, rc::Rc};

/// A program's namespace and its working folder.
#[derive(Clone)]
pub struct View {
    namespace: Rc<Namespace>,
    folder: Vec<Step>,
}

impl View {
    pub(super) fn new(namespace: Rc<Namespace>, folder: Vec<Step>) -> View {
        View { namespace, folder }
    }

    /// The view of a program that sees `mounts` and works in `folder`, or in the root if `folder` does not exist.
    pub fn of(mounts: &[Mount], folder: &Path) -> Result<View, MountError> {
        let namespace = Rc::new(Namespace::new(mounts)?);
        let root = vec![namespace.root()];
        let folder = match namespace.walk(&root, folder.as_os_str().as_encoded_bytes(), true) {
            Ok(Found::Folder(steps)) => steps,
            _ => root,
        };
        Ok(View { namespace, folder })
    }

    /// The working folder, as the program names it.
    pub fn folder(&self) -> Vec<u8> {
        path_of(&self.folder)
    }

    /// Reads a file as the program would. None if the program can't see it, it is not a regular file, or it has more than
    /// `longest` bytes.
    pub fn read(&self, path: &[u8], longest: u64) -> Option<Vec<u8>> {
        let Found::File { parent, name, stat, .. } = self.namespace.walk(&self.folder, path, true).ok()? else {
            return None;
        };
        let (FileType::Regular, Place::Host(held)) = (stat.file_type(), &parent.last()?.place) else { return None };
        let file = open_regular(held, &name, OFlags::RDONLY, Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        File::from(file).take(longest + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= longest).then_some(bytes)
    }
}
