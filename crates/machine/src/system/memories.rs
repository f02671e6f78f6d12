//! The bytes of a machine's memory, as the host sees them: one piece, whatever the channels.

use crate::spec::{Banks, Machine};
use dram::{Channel, Store};
use interconnect::Reporter;
use mem::{Block, Frames, LINE, LineAddr, PhysAddr, Seen};

/// The bytes of every channel.
pub struct Memories {
    pub stores: Vec<Store>,
    interleave: u64,
}

impl Memories {
    pub fn new(machine: &Machine) -> Self {
        let Banks { count, interleave } = machine.channels();
        Self { stores: (0..count).map(|_| Store::default()).collect(), interleave }
    }

    pub fn channel(&self, number: usize) -> Channel {
        Channel { number: number as u64, of: self.stores.len() as u64, interleave: self.interleave }
    }

    /// The channel that an address belongs to.
    fn home(&self, address: PhysAddr) -> usize {
        (address.0 / self.interleave) as usize % self.stores.len()
    }

    /// So many bytes from `address` on, cut where another channel follows: where each piece lies, and which bytes it has.
    fn pieces(&self, address: PhysAddr, count: usize) -> impl Iterator<Item = (PhysAddr, std::ops::Range<usize>)> {
        let (interleave, mut done) = (self.interleave, 0);
        std::iter::from_fn(move || {
            let at = PhysAddr(address.0 + done as u64);
            let piece = ((interleave - at.0 % interleave) as usize).min(count - done);
            let range = done..done + piece;
            done += piece;
            (piece > 0).then_some((at, range))
        })
    }

    pub fn read(&self, address: PhysAddr, bytes: &mut [u8]) {
        for (at, range) in self.pieces(address, bytes.len()) {
            let home = self.home(at);
            self.stores[home].lock().read(self.channel(home).inside(at), &mut bytes[range]);
        }
    }

    pub fn write(&self, address: PhysAddr, bytes: &[u8]) {
        for (at, range) in self.pieces(address, bytes.len()) {
            let home = self.home(at);
            self.stores[home].lock().write(self.channel(home).inside(at), &bytes[range]);
        }
    }

    /// All of it as one.
    pub fn all(&self) -> Frames {
        let mut memory = Frames::new();
        for (number, store) in self.stores.iter().enumerate() {
            for (inside, bytes) in store.lock().pieces(self.interleave) {
                // Frames are larger than what was written: nothing is brought back that is zero all over.
                if bytes.iter().any(|byte| *byte != 0) {
                    memory.write(self.channel(number).outside(inside), bytes);
                }
            }
        }
        memory
    }
}

/// Puts what a process holds in its memory into the channels, and tells the golden image.
pub fn put(process: &mut os::Process, stores: &[(Channel, Store)], interleave: u64, loader: Option<Reporter>) {
    for (at, bytes) in process.space.frames().pieces(interleave) {
        let (channel, store) = &stores[(at.0 / interleave) as usize % stores.len()];
        store.lock().write(channel.inside(at), bytes);
        let Some(loader) = &loader else { continue };
        for (number, line) in bytes.as_chunks::<LINE>().0.iter().enumerate().filter(|(_, line)| **line != [0; LINE]) {
            loader.tell(LineAddr(at.0 + (number * LINE) as u64), Seen::Wrote(Block::full(*line)));
        }
    }
}
