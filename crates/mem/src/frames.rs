//! The bytes of a physical memory, allocated only where it has been accessed.
//!
//! Memory consists of frames of 64 KiB. A frame that was never written reads as zeros. Code that accesses one place
//! often looks up its frame once ([`Frames::frame`]) and then uses its [`FrameId`], which stays valid as long as the
//! memory.

use crate::{Bytes, PhysAddr};
use rustc_hash::FxHashMap;

/// The size of a frame.
pub const FRAME: usize = 64 << 10;

/// The number of an allocated frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(u32);

/// A sparse physical memory.
#[derive(Clone, Default)]
pub struct Frames {
    /// Iterated only where the order does not matter.
    index: FxHashMap<u64, FrameId>,
    frames: Vec<Box<[u8; FRAME]>>,
}

impl Frames {
    pub fn new() -> Self {
        Self::default()
    }

    /// The frame of an address; allocated and filled with zeros if it did not exist.
    pub fn frame(&mut self, address: PhysAddr) -> FrameId {
        let frames = &mut self.frames;
        *self.index.entry(address.0 / FRAME as u64).or_insert_with(|| {
            let id = FrameId(u32::try_from(frames.len()).expect("no computer has 2^32 frames of 64 KiB"));
            let zeros = vec![0; FRAME].into_boxed_slice();
            frames.push(zeros.try_into().expect("a frame has the size of a frame"));
            id
        })
    }

    /// The frame of an address, if it is allocated.
    pub fn existing(&self, address: PhysAddr) -> Option<FrameId> {
        self.index.get(&(address.0 / FRAME as u64)).copied()
    }

    #[inline]
    pub fn bytes(&self, frame: FrameId) -> &[u8; FRAME] {
        &self.frames[frame.0 as usize]
    }

    #[inline]
    pub fn bytes_mut(&mut self, frame: FrameId) -> &mut [u8; FRAME] {
        &mut self.frames[frame.0 as usize]
    }

    /// Reads bytes, which may span frames.
    pub fn read(&self, address: PhysAddr, bytes: &mut [u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let (at, place, count) = piece(address, done, bytes.len());
            let part = &mut bytes[done..done + count];
            match self.existing(at) {
                Some(frame) => part.copy_from_slice(&self.bytes(frame)[place..place + count]),
                None => part.fill(0),
            }
            done += count;
        }
    }

    /// Writes bytes, which may span frames.
    pub fn write(&mut self, address: PhysAddr, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let (at, place, count) = piece(address, done, bytes.len());
            let frame = self.frame(at);
            self.bytes_mut(frame)[place..place + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
    }

    /// All allocated memory, in pieces of `size` bytes (at most a frame), in no particular order.
    pub fn pieces(&self, size: u64) -> impl Iterator<Item = (PhysAddr, &[u8])> {
        let size = size.min(FRAME as u64) as usize;
        self.index.iter().flat_map(move |(number, frame)| {
            let base = number * FRAME as u64;
            let pieces = self.bytes(*frame).chunks(size).enumerate();
            pieces.map(move |(n, bytes)| (PhysAddr(base + (n * size) as u64), bytes))
        })
    }

    /// The total size of the allocated frames.
    pub fn size(&self) -> Bytes {
        Bytes((self.frames.len() * FRAME) as u64)
    }
}

/// For an access of `all` bytes of which `done` are complete: the next address, its offset in its frame, and the number
/// of bytes to access in that frame.
fn piece(address: PhysAddr, done: usize, all: usize) -> (PhysAddr, usize, usize) {
    let at = address + Bytes(done as u64);
    let place = at.offset_in(Bytes(FRAME as u64)).0 as usize;
    (at, place, (all - done).min(FRAME - place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_never_written_read_as_zeros_and_take_no_room() {
        let memory = Frames::new();
        let mut bytes = [7; 3];
        memory.read(PhysAddr(1 << 40), &mut bytes);
        assert_eq!((bytes, memory.size()), ([0; 3], Bytes(0)));
    }

    #[test]
    fn an_access_may_span_frames() {
        let mut memory = Frames::new();
        let end_of_frame = PhysAddr(FRAME as u64 - 2);
        memory.write(end_of_frame, &[1, 2, 3, 4]);
        let mut bytes = [0; 6];
        memory.read(PhysAddr(FRAME as u64 - 3), &mut bytes);
        assert_eq!((bytes, memory.size()), ([0, 1, 2, 3, 4, 0], Bytes(2 * FRAME as u64)));
        let first = memory.existing(PhysAddr(0)).unwrap();
        assert_eq!(memory.bytes(first)[FRAME - 1], 2);
    }
}
