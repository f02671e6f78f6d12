//! The contents of a machine's memory as the host sees them: one address range, however many channels there are.

use crate::{spec::Machine, zones};
use dram::Store;
use interconnect::Reporter;
use mem::{Block, Frames, Interleave, LINE, LineAddr, PAGE, PhysAddr, Seen, Share};

/// The contents of every channel.
pub struct Memories {
    pub stores: Vec<Store>,
    channels: Interleave<usize>,
    /// The addresses of each channel.
    shares: Vec<Share>,
    /// Number of bytes that are contiguous both in a channel and in the address range.
    run: u64,
}

impl Memories {
    pub fn new(machine: &Machine) -> Self {
        let shares = zones::shares(&machine.zones);
        let run = machine.zones.iter().map(|zone| zone.interleave.bytes()).min().unwrap_or(PAGE);
        let stores = shares.iter().map(|_| Store::default()).collect();
        Self { stores, channels: zones::deal(&machine.zones), shares, run }
    }

    /// Splits `count` bytes from `address` on at channel boundaries. Each piece: the channel, the address within it,
    /// and the range of the bytes.
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

    /// The contents of all channels as one memory.
    pub fn all(&self) -> Frames {
        let mut memory = Frames::new();
        for (share, store) in self.shares.iter().zip(&self.stores) {
            for (inside, bytes) in store.lock().pieces(self.run) {
                // Frames are larger than the written pieces; pieces that are all zero are skipped.
                if bytes.iter().any(|byte| *byte != 0) {
                    memory.write(share.outside(inside), bytes);
                }
            }
        }
        memory
    }
}

/// Copies the contents of a process's memory into the channels, and reports them to the golden image. `place` maps an
/// address of the process to one of the machine, if the machine has it. `landed`: the image keeps apart what memory has received.
pub fn put(
    process: &mut os::Process,
    stores: &[Store],
    channels: &Interleave<usize>,
    loader: Option<Reporter>,
    landed: bool,
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
            let (at, line) = (LineAddr(at.0 + (number * LINE) as u64), Block::full(*line));
            loader.tell(at, Seen::Wrote(line));
            if landed {
                loader.tell(at, Seen::Landed(line));
            }
        }
    }
}
