//! The guest's file system, isolated from the host's.
//!
//! A guest sees a namespace of its own: the folders that the user mounted, at the chosen paths, read-only by default; a
//! few emulated files (`/proc`, `/dev`, `/sys`); and nothing else. No path leads out of it. Paths are resolved here,
//! one component at a time, relative to folders that are held open, and symbolic links are followed inside the
//! namespace only.

mod checkpoint;
mod description;
mod directory;
mod emulated;
mod mount;
mod names;
mod namespace;
mod pipe;
mod stat;
mod stdio;
mod table;
mod used;
mod view;
mod walk;

pub use description::{Kind, MappedOpenFile, OpenFile, flag};
pub use emulated::{Emulated, LIBRARIES, OPENCL};
pub use mount::{Mount, MountError};
pub use names::Rename;
pub use namespace::Namespace;
pub use pipe::{PIPE_SIZE, PipeEnd};
pub use stat::{FileStat, FileType};
pub use stdio::{Stdio, Stream};
pub use table::{Descriptor, Files, Opened};
pub use used::UsedFiles;
pub use view::View;
pub use walk::{Found, Place, Step, path_of};
