//! The bytes of a machine's memory, as the host sees them: one piece, whatever the channels.

use crate::{spec::Machine, zones};
use dram::Store;
use interconnect::Reporter;
use mem::{Block, Frames, Interleave, LINE, LineAddr, PAGE, PhysAddr, Seen, Share};

/// The bytes of every channel.
pub struct Memories {
    pub stores: Vec<Store>,
    channels: Interleave<usize>,
    /// The addresses of each.
    shares: Vec<Share>,
    /// How many bytes lie one behind the other in a channel as they do outside.
    run: u64,
}

impl Memories {
    pub fn new(machine: &Machine) -> Self {
        let shares = zones::shares(&machine.zones);
        let run = machine.zones.iter().map(|zone| zone.interleave.bytes()).min().unwrap_or(PAGE);
        let stores = shares.iter().map(|_| Store::default()).collect();
        Self { stores, channels: zones::deal(&machine.zones), shares, run }
    }

    /// `count` bytes from `address` on, cut where another channel follows: the channel of each piece, where it lies there, and which
    /// of the bytes it has.
    fn pieces(&self, address: PhysAddr, count: usize) -> Vec<(usize, PhysAddr, std::ops::Range<usize>)> {
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < count {
            let at = PhysAddr(address.0 + done as u64);
            let end = count.min(done + (self.run - at.0 % self.run) as usize);
            let home = *self.channels.of(at.0);
            pieces.push((home, self.shares[home].inside(at), done..end));
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
        for (share, store) in self.shares.iter().zip(&self.stores) {
            for (inside, bytes) in store.lock().pieces(self.run) {
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
