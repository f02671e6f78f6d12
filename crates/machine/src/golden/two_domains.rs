//! The image of two sides that meet in memory only: a CPU, and GPUs whose requests bypass its caches (`[giles 4.2]`).
//!
//! Each side is coherent in itself and knows nothing of the other. So there are three images: one of what each side
//! sees, and one of what memory holds. If the GPUs' protocol guarantees less, their image is a [`stale`](super::stale)
//! one, in which the CPU is one more writer.
//!
//! A line that a side fetches enters its image as memory holds it then; a write changes the image of the writer's side;
//! a write-back changes memory. So a read must return what its own side wrote last or fetched; a written-back line must
//! be what its side sees; and a fetched line must be what memory holds and must not be older than the side's own
//! writes, or a write was lost on the way. A copy that the other side has made stale is correct here: it is the
//! program's task to have it flushed.

use super::{Mismatch, Values, differing, line_of, stale::Stale, write};
use mem::{Block, Frames, LINE, LineAddr, Mask, Observer, PhysAddr, Seen};
use protocol::roles::Sees;
use rustc_hash::FxHashMap;

/// The observer that stands for the CPU if GPUs may hold stale copies.
const OUTSIDE: Observer = Observer(u32::MAX - 1);

/// A side: its members see the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Gpu,
    Cpu,
}

#[derive(Default)]
pub struct TwoDomains {
    memory: Frames,
    views: [View; 2],
    /// The values that GPUs may read if their protocol does not guarantee the newest; their view is then not used.
    stale: Option<Stale>,
    /// Whether accesses of GPUs have logical times: then memory reports their writes.
    by_time: bool,
    /// Whether memory can send a GPU lines that another GPU holds. Writes of the other side then make their copies
    /// differ.
    several_gpus: bool,
}

/// What one side sees.
#[derive(Default)]
struct View {
    bytes: Frames,
    /// Bytes that the side has written and that have not reached memory.
    unlanded: FxHashMap<LineAddr, Mask>,
    /// Bytes of which the side may also hold copies with other values.
    others: FxHashMap<u64, Values>,
}

impl TwoDomains {
    pub fn new(gpus: Sees, several_gpus: bool) -> Self {
        let stale = (gpus != Sees::Newest).then(Stale::default);
        Self { several_gpus, stale, by_time: gpus == Sees::ByTime, ..Self::default() }
    }

    /// Processes a report. An observer that belongs to no side writes to memory.
    pub fn observe(&mut self, who: Observer, side: Option<Side>, line: LineAddr, seen: &Seen) -> Result<(), Mismatch> {
        if let (Some(Side::Gpu), Some(_)) = (side, &self.stale) {
            return self.of_gpus(who, line, seen);
        }
        match (side, seen) {
            (None, Seen::Synchronised | Seen::Released) => return self.synchronise(),
            (Some(_), Seen::Synchronised | Seen::Released) => {}
            (Some(side), Seen::Read(found)) => return self.read(side, line, found),
            (Some(side), Seen::Wrote(new)) => self.wrote(side, line, new),
            (Some(side), Seen::Changed { found, new }) => {
                self.read(side, line, found)?;
                self.wrote(side, line, new);
            }
            (Some(side), Seen::Fetched(data)) => return self.fetched(side, line, data),
            (Some(side), Seen::Landed(data)) => return self.landed(side, line, data),
            (None, Seen::Wrote(new)) => {
                write(&mut self.memory, line, new);
                self.wrote_past(line, new);
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// Processes a report of GPUs whose copies may be stale.
    fn of_gpus(&mut self, who: Observer, line: LineAddr, seen: &Seen) -> Result<(), Mismatch> {
        let Some(stale) = &mut self.stale else { return Ok(()) };
        match seen {
            Seen::Read(found) => return stale.read(who, line, found),
            // Where memory reports writes, the report comes when they arrive there.
            Seen::Wrote(_) if self.by_time => {}
            Seen::Wrote(new) => stale.wrote(who, line, new),
            Seen::Changed { found, new } => {
                stale.read(who, line, found)?;
                stale.wrote(who, line, new);
                if self.by_time {
                    stale.landed(line, new);
                    write(&mut self.memory, line, new);
                }
            }
            Seen::Fetched(given) => return stale.fetched(line, given),
            Seen::Landed(data) => {
                if self.by_time {
                    stale.wrote(who, line, data);
                }
                stale.landed(line, data);
                write(&mut self.memory, line, data);
            }
            Seen::Synchronised => return stale.synchronise(),
            Seen::Released => stale.release(),
        }
        Ok(())
    }

    /// Memory has received bytes that no GPU wrote.
    fn wrote_past(&mut self, line: LineAddr, data: &Block<LINE>) {
        if let Some(stale) = &mut self.stale {
            stale.wrote(OUTSIDE, line, data);
            stale.landed(line, data);
        }
    }

    fn wrote(&mut self, side: Side, line: LineAddr, data: &Block<LINE>) {
        let view = &mut self.views[side as usize];
        write(&mut view.bytes, line, data);
        let unlanded = view.unlanded.entry(line).or_insert(Mask::NONE);
        *unlanded = unlanded.or(data.mask());
        if !view.others.is_empty() {
            data.mask().iter().for_each(|byte| _ = view.others.remove(&(line.0 + byte as u64)));
        }
    }

    fn read(&self, side: Side, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
        self.views[side as usize].shows(line, data)
    }

    /// Memory has sent a line to a side.
    fn fetched(&mut self, side: Side, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
        same(&self.memory, line, data, |_| Values::new())?;
        let view = &mut self.views[side as usize];
        let unlanded = view.unlanded.get(&line).copied().unwrap_or(Mask::NONE);
        view.shows(line, &data.only(unlanded))?;
        if self.several_gpus && side == Side::Gpu {
            let old = line_of(&view.bytes, line);
            for byte in differing(&old, data) {
                let values = view.others.entry(line.0 + byte as u64).or_default();
                values.retain(|value| *value != data.bytes()[byte]);
                values.push(old[byte]);
            }
        }
        write(&mut view.bytes, line, data);
        Ok(())
    }

    /// Memory has received bytes that a side wrote back.
    fn landed(&mut self, side: Side, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
        let view = &mut self.views[side as usize];
        view.shows(line, data)?;
        let unlanded = view.unlanded.remove(&line).unwrap_or(Mask::NONE).without(data.mask());
        if !unlanded.is_empty() {
            view.unlanded.insert(line, unlanded);
        }
        write(&mut self.memory, line, data);
        if side == Side::Cpu {
            self.wrote_past(line, data);
        }
        Ok(())
    }

    /// Every cache has written back all dirty bytes and holds no line.
    fn synchronise(&mut self) -> Result<(), Mismatch> {
        if let Some(stale) = &mut self.stale {
            stale.synchronise()?;
        }
        for view in &mut self.views {
            if let Some((line, mask)) = view.unlanded.iter().min_by_key(|(line, _)| **line) {
                let address = PhysAddr(line.0 + mask.iter().next().unwrap_or(0) as u64);
                let byte = |bytes: &Frames| {
                    let mut byte = [0];
                    bytes.read(address, &mut byte);
                    byte[0]
                };
                let (value, allowed) = (byte(&self.memory), vec![byte(&view.bytes)]);
                return Err(Mismatch { address: address.0, value, allowed });
            }
            view.others.clear();
        }
        Ok(())
    }

    /// The correct contents of memory.
    pub fn memory(&self) -> &Frames {
        &self.memory
    }
}

impl View {
    fn shows(&self, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
        same(&self.bytes, line, data, |address| self.others.get(&address).cloned().unwrap_or_default())
    }
}

/// Checks that the bytes of a line equal those of an image, or have one of the other values that they may have.
fn same(image: &Frames, line: LineAddr, data: &Block<LINE>, others: impl Fn(u64) -> Values) -> Result<(), Mismatch> {
    let right = line_of(image, line);
    for byte in differing(&right, data) {
        let (address, value) = (line.0 + byte as u64, data.bytes()[byte]);
        let mut allowed = others(address);
        if !allowed.contains(&value) {
            allowed.insert(0, right[byte]);
            return Err(Mismatch { address, value, allowed });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_0: LineAddr = LineAddr(0);

    fn byte(value: u8) -> Block<LINE> {
        Block::one(3, value)
    }

    fn whole(value: u8) -> Block<LINE> {
        let mut bytes = [0; LINE];
        bytes[3] = value;
        Block::full(bytes)
    }

    fn wrong(value: u8, right: u8) -> Result<(), Mismatch> {
        Err(Mismatch { address: 3, value, allowed: vec![right] })
    }

    /// The CPU has written 7, which has reached memory; the GPU fetched the line before.
    fn passed() -> TwoDomains {
        let mut image = TwoDomains::new(Sees::Newest, false);
        for side in [Side::Gpu, Side::Cpu] {
            assert_eq!(image.fetched(side, LINE_0, &whole(0)), Ok(()));
        }
        image.wrote(Side::Cpu, LINE_0, &byte(7));
        assert_eq!(image.landed(Side::Cpu, LINE_0, &whole(7)), Ok(()));
        image
    }

    #[test]
    fn a_copy_that_the_other_side_made_stale_is_right_until_it_is_fetched_again() {
        let mut image = passed();
        assert_eq!(image.read(Side::Gpu, LINE_0, &byte(0)), Ok(()));
        assert_eq!(image.read(Side::Gpu, LINE_0, &byte(7)), wrong(7, 0), "nothing brings it there by itself");
        assert_eq!(image.fetched(Side::Gpu, LINE_0, &whole(7)), Ok(()));
        assert_eq!(image.read(Side::Gpu, LINE_0, &byte(0)), wrong(0, 7));
    }

    #[test]
    fn within_a_side_a_read_returns_what_was_written_last() {
        let mut image = passed();
        image.wrote(Side::Cpu, LINE_0, &byte(8));
        assert_eq!(image.read(Side::Cpu, LINE_0, &byte(8)), Ok(()));
        assert_eq!(image.read(Side::Cpu, LINE_0, &byte(7)), wrong(7, 8));
    }

    #[test]
    fn memory_that_gives_an_older_line_or_a_write_back_with_other_bytes_is_noticed() {
        let mut image = passed();
        assert_eq!(image.fetched(Side::Gpu, LINE_0, &whole(0)), wrong(0, 7));
        assert_eq!(image.landed(Side::Gpu, LINE_0, &whole(9)), wrong(9, 0));
    }

    #[test]
    fn a_write_that_is_lost_on_its_way_to_memory_is_noticed_when_the_line_is_fetched_or_all_is_synchronised() {
        let mut image = passed();
        image.wrote(Side::Cpu, LINE_0, &byte(8));
        assert_eq!(image.fetched(Side::Cpu, LINE_0, &whole(7)), wrong(7, 8));
        assert_eq!(image.synchronise(), wrong(7, 8));
        assert_eq!(image.landed(Side::Cpu, LINE_0, &whole(8)), Ok(()));
        assert_eq!(image.synchronise(), Ok(()));
    }

    #[test]
    fn several_gpus_may_hold_copies_that_memory_gave_at_different_times() {
        let mut image = TwoDomains { several_gpus: true, ..passed() };
        assert_eq!(image.fetched(Side::Gpu, LINE_0, &whole(7)), Ok(()));
        for value in [0, 7] {
            assert_eq!(image.read(Side::Gpu, LINE_0, &byte(value)), Ok(()));
        }
        image.wrote(Side::Gpu, LINE_0, &byte(5));
        assert_eq!(image.read(Side::Gpu, LINE_0, &byte(7)), wrong(7, 5));
    }
}
