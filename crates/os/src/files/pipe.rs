//! Pipes between threads of the guest.

use crate::errno::Errno;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// The capacity of a pipe in bytes.
pub const PIPE_SIZE: usize = 64 << 10;

/// Writes of up to this size are atomic.
const ATOMIC: usize = 4096;

#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    readers: usize,
    writers: usize,
}

/// One end of a pipe; it closes with the last descriptor that refers to it.
pub struct PipeEnd {
    pipe: Rc<RefCell<Pipe>>,
    writes: bool,
    /// Set whenever a change on the pipe may let a waiting thread continue.
    stirred: Rc<Cell<bool>>,
}

impl PipeEnd {
    /// Creates a pipe; returns the read end and the write end.
    pub fn pair(stirred: &Rc<Cell<bool>>) -> (PipeEnd, PipeEnd) {
        let pipe = Rc::new(RefCell::new(Pipe { readers: 1, writers: 1, ..Pipe::default() }));
        let end = |writes| PipeEnd { pipe: pipe.clone(), writes, stirred: stirred.clone() };
        (end(false), end(true))
    }

    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Takes bytes out. Returns 0 if the pipe is empty and all writers are closed, EAGAIN if it is empty and a writer
    /// remains.
    pub fn read(&self, bytes: &mut [u8]) -> Result<usize, Errno> {
        let mut pipe = self.pipe.borrow_mut();
        if pipe.bytes.is_empty() && pipe.writers > 0 && !bytes.is_empty() {
            return Err(Errno::EAGAIN);
        }
        let count = bytes.len().min(pipe.bytes.len());
        for (place, byte) in bytes.iter_mut().zip(pipe.bytes.drain(..count)) {
            *place = byte;
        }
        self.stirred.set(true);
        Ok(count)
    }

    /// Puts in as many bytes as fit. Returns EAGAIN if there is no room, EPIPE if all readers are closed.
    pub fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let mut pipe = self.pipe.borrow_mut();
        if pipe.readers == 0 {
            return Err(Errno::EPIPE);
        }
        let room = PIPE_SIZE - pipe.bytes.len();
        if !bytes.is_empty() && (room == 0 || bytes.len() <= ATOMIC && room < bytes.len()) {
            return Err(Errno::EAGAIN);
        }
        let count = room.min(bytes.len());
        pipe.bytes.extend(&bytes[..count]);
        self.stirred.set(true);
        Ok(count)
    }

    /// The number of bytes in the pipe.
    pub fn waiting(&self) -> usize {
        self.pipe.borrow().bytes.len()
    }

    /// Whether the other end is closed.
    pub fn hung_up(&self) -> bool {
        let pipe = self.pipe.borrow();
        if self.writes { pipe.readers == 0 } else { pipe.writers == 0 }
    }

    /// Whether an atomic write would fit.
    pub fn has_room(&self) -> bool {
        PIPE_SIZE - self.waiting() >= ATOMIC
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        let mut pipe = self.pipe.borrow_mut();
        if self.writes {
            pipe.writers -= 1;
        } else {
            pipe.readers -= 1;
        }
        self.stirred.set(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gives_what_it_took_and_ends_with_its_writers() {
        let (reader, writer) = PipeEnd::pair(&Rc::default());
        let mut bytes = [0; 8];
        assert_eq!(reader.read(&mut bytes), Err(Errno::EAGAIN));
        assert_eq!(writer.write(b"abc"), Ok(3));
        assert_eq!((reader.read(&mut bytes), &bytes[..3]), (Ok(3), &b"abc"[..]));
        drop(writer);
        assert_eq!(reader.read(&mut bytes), Ok(0));
    }

    #[test]
    fn a_full_pipe_takes_no_more_and_one_without_readers_takes_nothing() {
        let (reader, writer) = PipeEnd::pair(&Rc::default());
        assert_eq!(writer.write(&[0; PIPE_SIZE + 10]), Ok(PIPE_SIZE));
        assert_eq!(writer.write(b"x"), Err(Errno::EAGAIN));
        drop(reader);
        assert_eq!(writer.write(b"x"), Err(Errno::EPIPE));
    }
}
