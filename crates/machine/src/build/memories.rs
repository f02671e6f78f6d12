//! The bytes of a machine's memory, as the host sees them: one piece, whatever the channels.

use crate::spec::{Banks, Machine};
use dram::Store;
use interconnect::Reporter;
use mem::{Block, Frames, Interleave, LINE, LineAddr, PhysAddr, Seen, Share};

/// The bytes of every channel.
pub struct Memories {
    pub stores: Vec<Store>,
    channels: Banks,
}

impl Memories {
    pub fn new(machine: &Machine) -> Self {
        let channels = machine.channels();
        Self { stores: (0..channels.count).map(|_| Store::default()).collect(), channels }
    }

    /// The addresses of a channel.
    pub fn share(&self, number: usize) -> Share {
        self.channels.share(number)
    }

    /// `count` bytes from `address` on, cut where another channel follows: the channel of each piece, where it lies there, and which
    /// of the bytes it has.
    fn pieces(&self, address: PhysAddr, count: usize) -> Vec<(usize, PhysAddr, std::ops::Range<usize>)> {
        let (homes, stride) = (self.channels.deal(|channel| channel), self.channels.interleave.bytes());
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < count {
            let at = PhysAddr(address.0 + done as u64);
            let end = count.min(done + (stride - at.0 % stride) as usize);
            let home = *homes.of(at.0);
            pieces.push((home, self.share(home).inside(at), done..end));
            done = end;
        }
        pieces
    }

    pub fn read(&self, address: PhysAddr, bytes: &mut [u8]) {
        for (home, inside, range) in self.pieces(address, bytes.len()) {
            self.stores[home].lock().read(inside, &mut bytes[range]);
        }
    }

    pub fn write(&self, address: PhysAddr, bytes: &[u8]) {
        for (home, inside, range) in self.pieces(address, bytes.len()) {
            self.stores[home].lock().write(inside, &bytes[range]);
        }
    }

    /// All of it as one.
    pub fn all(&self) -> Frames {
        let mut memory = Frames::new();
        for (number, store) in self.stores.iter().enumerate() {
            let share = self.share(number);
            for (inside, bytes) in store.lock().pieces(self.channels.interleave.bytes()) {
                // Frames are larger than what was written: nothing is brought back that is zero all over.
                if bytes.iter().any(|byte| *byte != 0) {
                    memory.write(share.outside(inside), bytes);
                }
            }
        }
        memory
    }
}

/// Puts what a process holds in its memory into the channels, and tells the golden image. `place` says where the machine has what
/// lies at an address, if it has that.
pub fn put(
    process: &mut os::Process,
    stores: &[Store],
    channels: &Interleave<usize>,
    loader: Option<Reporter>,
    place: impl Fn(PhysAddr) -> Option<PhysAddr>,
) {
    let shares: Vec<Share> = channels.shares().into_iter().map(|(_, share)| share).collect();
    let run = shares.iter().filter_map(Share::run).min().unwrap_or(4096);
    for (at, bytes) in process.space.frames().pieces(run) {
        let Some(at) = place(at) else { continue };
        let channel = *channels.of(at.0);
        stores[channel].lock().write(shares[channel].inside(at), bytes);
        let Some(loader) = &loader else { continue };
        for (number, line) in bytes.as_chunks::<LINE>().0.iter().enumerate().filter(|(_, line)| **line != [0; LINE]) {
            loader.tell(LineAddr(at.0 + (number * LINE) as u64), Seen::Wrote(Block::full(*line)));
        }
    }
}
