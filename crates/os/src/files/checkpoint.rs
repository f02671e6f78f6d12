//! The descriptors of a process, for checkpoints.
//!
//! Standard streams and what the kernel emulates can be saved. Files and folders of the host, and pipes, can't be: their
//! contents are outside, and may change.

use super::{Descriptor, Files, Found, Kind, OpenFile, Stream, walk::path_of};
use crate::state::{Read, Reader, State, Unreadable, state};
use std::rc::Rc;

state!(enum Stream { 0 Input, 1 Output, 2 Error });

impl Files {
    /// Fails if a descriptor can't be saved; the text says which.
    pub(crate) fn save(&self, to: &mut Vec<u8>) -> Result<(), String> {
        path_of(&self.folder).save(to);
        self.mask.save(to);
        self.left_to_write.save(to);
        // Descriptors may share an open file, and with it a position.
        let mut files: Vec<&Rc<OpenFile>> = Vec::new();
        let mut places: Vec<Option<(usize, bool)>> = Vec::new();
        for descriptor in &self.table {
            places.push(descriptor.as_ref().map(|Descriptor { file, close_on_exec }| {
                let known = files.iter().position(|other| Rc::ptr_eq(other, file));
                let place = known.unwrap_or_else(|| {
                    files.push(file);
                    files.len() - 1
                });
                (place, *close_on_exec)
            }));
        }
        places.save(to);
        files.len().save(to);
        for file in files {
            let kind = Saved::of(&file.kind).ok_or_else(|| match &file.kind {
                Kind::Pipe(_) => "the program has a pipe".to_owned(),
                _ => format!("the program has '{}' open", file.path),
            })?;
            kind.save(to);
            (file.position.get(), file.flags.get()).save(to);
            file.path.save(to);
        }
        Ok(())
    }

    pub(crate) fn load(&mut self, from: &mut Reader) -> Read<()> {
        let folder = Vec::<u8>::load(from)?;
        let root = vec![self.namespace.root()];
        self.folder = match self.namespace.walk(&root, &folder, true) {
            Ok(Found::Folder(steps)) => steps,
            _ => {
                let folder = String::from_utf8_lossy(&folder);
                return Err(Unreadable(format!("the program's working folder '{folder}' is not there")));
            }
        };
        self.mask = State::load(from)?;
        self.left_to_write = State::load(from)?;
        let places: Vec<Option<(usize, bool)>> = State::load(from)?;
        let mut files = Vec::new();
        for _ in 0..usize::load(from)? {
            let kind = Saved::load(from)?.kind();
            let ((position, flags), path): (_, String) = State::load(from)?;
            let file = OpenFile::new(kind, flags, path);
            file.position.set(position);
            files.push(Rc::new(file));
        }
        let descriptor = |(place, close_on_exec): (usize, bool)| {
            let file = files.get(place).ok_or_else(|| Unreadable::new("a descriptor without a file"))?;
            Ok(Descriptor { file: Rc::clone(file), close_on_exec })
        };
        self.table = places.into_iter().map(|place| place.map(descriptor).transpose()).collect::<Read<_>>()?;
        Ok(())
    }
}

/// A file that can be saved.
enum Saved {
    Stream(Stream),
    Text(Vec<u8>),
    Null,
    Zero,
    Random,
}

state!(enum Saved { 0 Stream(stream), 1 Text(text), 2 Null, 3 Zero, 4 Random });

impl Saved {
    fn of(kind: &Kind) -> Option<Self> {
        Some(match kind {
            Kind::Stream(stream) => Self::Stream(*stream),
            Kind::Text(text) => Self::Text(text.to_vec()),
            Kind::Null => Self::Null,
            Kind::Zero => Self::Zero,
            Kind::Random => Self::Random,
            Kind::Host { .. } | Kind::Pipe(_) | Kind::Folder { .. } | Kind::Path { .. } => return None,
        })
    }

    fn kind(self) -> Kind {
        match self {
            Self::Stream(stream) => Kind::Stream(stream),
            Self::Text(text) => Kind::Text(text.into()),
            Self::Null => Kind::Null,
            Self::Zero => Kind::Zero,
            Self::Random => Kind::Random,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Namespace, Stdio};

    fn files() -> Files {
        let namespace = Namespace::new(&[]).expect("a namespace without mounts");
        let root = vec![namespace.root()];
        Files::new(namespace, Stdio::inherit(), root, (b"/program".to_vec(), Rc::from([])))
    }

    #[test]
    fn descriptors_of_one_file_share_its_position_again() {
        let mut saved = files();
        let text = Rc::new(OpenFile::new(Kind::Text(b"abcdef"[..].into()), 0, "/proc/text"));
        let first = saved.add(text.clone(), true, 0).unwrap();
        let second = saved.add(text, false, 10).unwrap();
        saved.read(&saved.get(first).unwrap(), None, &mut [0; 2]).unwrap();
        let mut bytes = Vec::new();
        saved.save(&mut bytes).unwrap();
        let mut loaded = files();
        let mut reader = Reader::new(&bytes);
        loaded.load(&mut reader).unwrap();
        reader.finish().unwrap();
        let mut read = [0; 2];
        loaded.read(&loaded.get(second).unwrap(), None, &mut read).unwrap();
        assert_eq!((&read, loaded.get(first).unwrap().position.get()), (b"cd", 4));
        assert!(loaded.descriptor(first).unwrap().close_on_exec && !loaded.descriptor(second).unwrap().close_on_exec);
        assert!(loaded.get(11).is_err() && loaded.get(2).is_ok());
    }

    #[test]
    fn what_is_outside_is_refused_by_name() {
        let mut with_pipe = files();
        with_pipe.pipe(0).unwrap();
        assert!(with_pipe.save(&mut Vec::new()).unwrap_err().contains("a pipe"));
        let mut with_file = files();
        let file = std::fs::File::open("/proc/self/exe").expect("this test has a file");
        let file = OpenFile::new(Kind::Host { file, writable: false }, 0, "/data/graph");
        with_file.add(Rc::new(file), false, 0).unwrap();
        assert!(with_file.save(&mut Vec::new()).unwrap_err().contains("'/data/graph' open"));
    }
}
