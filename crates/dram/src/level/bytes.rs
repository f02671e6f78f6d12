//! The bytes behind a directory: for a GPU's memory, those of the blocks it holds; for the host's memory, all of them.

use crate::Backing;
use mem::{Block, LINE, LineAddr, Mask, PhysAddr, Share};
use protocol::Line;
use rustc_hash::FxHashMap;

pub enum Bytes {
    /// Lines of which something is held, with their dirty marks. Never iterated.
    Some(FxHashMap<LineAddr, Line<LINE>>),
    /// All bytes, and the dirty marks of lines that have any. Never iterated.
    All(Share, Backing, FxHashMap<LineAddr, Mask>),
}

impl Bytes {
    /// A line as input to the store's table.
    pub fn line(&self, address: LineAddr) -> Line<LINE> {
        match self {
            Self::Some(lines) => lines.get(&address).copied().unwrap_or(Line::new(0)),
            Self::All(share, store, marks) => {
                let mut bytes = [0; LINE];
                store.read(share.inside(PhysAddr(address.0)), &mut bytes);
                let dirty = marks.get(&address).copied().unwrap_or(Mask::NONE);
                Line { data: Block::full(bytes), dirty, ..Line::new(0) }
            }
        }
    }

    pub fn keep(&mut self, address: LineAddr, line: Line<LINE>) {
        match self {
            Self::Some(lines) if line == Line::new(0) => _ = lines.remove(&address),
            Self::Some(lines) => _ = lines.insert(address, line),
            Self::All(share, store, marks) => {
                store.write(share.inside(PhysAddr(address.0)), line.data.bytes());
                match line.is_dirty() {
                    true => _ = marks.insert(address, line.dirty),
                    false => _ = marks.remove(&address),
                }
            }
        }
    }
}
