//! The golden image: what memory holds if everything is right, kept beside the run and compared with every read.
//!
//! Every read and write is reported to it by wires like any other, in the order of their times. These wires hold nobody up:
//! what is checked takes as long as what is not, only the run ends when the last report is in. Lines of the protocols so far may be stale between
//! synchronisations: a reader sees its own latest write to a byte, or one that somebody else made since the last
//! synchronisation; a byte it has not written itself may also still have the value of then. After a synchronisation, a
//! byte has the last value of one of its writers. Where accesses have logical times, a read at a time returns what was written
//! last up to then. Where caches are kept coherent at all times, a read returns what was written last. Where two sides are coherent
//! each in itself and meet in memory only, [`apart`] says what is right.

mod apart;

pub use apart::Side;

use apart::Apart;
use engine::{Context, EventCount, Inlet, Lane};
use mem::{Block, Frames, LINE, LineAddr, Observation, Observer, PhysAddr, Seen, Stamp};
use rustc_hash::FxHashMap;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

/// Values that a byte may have.
type Values = Vec<u8>;

/// What memory holds, and what may be read.
#[derive(Default)]
pub struct Image {
    /// As of the last synchronisation.
    base: Frames,
    /// Bytes that several wrote before it: any of their last values.
    contested: FxHashMap<u64, Values>,
    /// Writes since, by line, in order.
    writes: BTreeMap<LineAddr, Vec<Write>>,
    /// Every line that was written.
    written: BTreeSet<LineAddr>,
    /// Whether logical time says what is newest.
    timed: bool,
    /// Whether everybody sees what was written last, whoever wrote it.
    coherent: bool,
    /// Where two sides meet in memory only, what is known instead of all this; and the side of each who reports.
    apart: Option<(Apart, Vec<Option<Side>>)>,
}

struct Write {
    who: Observer,
    data: Block<LINE>,
    /// When, in logical time.
    stamp: Stamp,
}

/// A byte that nobody may read.
#[derive(Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub address: u64,
    pub value: u8,
    pub allowed: Values,
}

impl Mismatch {
    fn told(&self, who: &str) -> String {
        let allowed: Vec<String> = self.allowed.iter().map(|value| format!("{value:#04x}")).collect();
        let (value, address) = (self.value, self.address);
        format!("{who} has {value:#04x} at {address:#x}; right would be {}", allowed.join(" or "))
    }
}

impl Image {
    /// `timed`: accesses have logical times, and those of a line's writes rise. `coherent`: no copy is ever stale.
    pub fn new(timed: bool, coherent: bool) -> Self {
        Self { timed, coherent, ..Self::default() }
    }

    /// For two sides that meet in memory only: everybody's, in the order of their numbers.
    pub fn apart(sides: Vec<Option<Side>>, several_gpus: bool) -> Self {
        Self { apart: Some((Apart::new(several_gpus), sides)), ..Self::default() }
    }

    /// Takes a report, and checks what was read.
    pub fn observe(&mut self, observation: &Observation) -> Result<(), Mismatch> {
        let Observation { who, line, seen, stamp } = observation;
        if let Some((apart, sides)) = &mut self.apart {
            return apart.observe(sides.get(who.0 as usize).copied().flatten(), *line, seen);
        }
        match seen {
            Seen::Read(found) => return self.read(*who, *line, found, *stamp),
            Seen::Changed { found, new } => {
                self.read(*who, *line, found, Stamp::MAX)?;
                self.wrote(*who, *line, *new, *stamp);
            }
            Seen::Wrote(new) => self.wrote(*who, *line, *new, *stamp),
            Seen::Synchronised => self.synchronise(),
            Seen::Fetched(_) | Seen::Landed(_) => {}
        }
        Ok(())
    }

    pub fn wrote(&mut self, who: Observer, line: LineAddr, data: Block<LINE>, stamp: Stamp) {
        if self.coherent {
            for byte in data.mask().iter() {
                self.base.write(PhysAddr(line.0 + byte as u64), &data.bytes()[byte..=byte]);
            }
            return;
        }
        self.writes.entry(line).or_default().push(Write { who, data, stamp });
        self.written.insert(line);
    }

    /// Checks what somebody read, and when in logical time.
    pub fn read(&self, who: Observer, line: LineAddr, data: &Block<LINE>, stamp: Stamp) -> Result<(), Mismatch> {
        let mut base = [0; LINE];
        self.base.read(PhysAddr(line.0), &mut base);
        let writes = self.writes.get(&line).map_or(&[][..], Vec::as_slice);
        for byte in data.mask().iter() {
            let value = data.bytes()[byte];
            if writes.is_empty() && self.contested.is_empty() && value == base[byte] {
                continue;
            }
            let address = line.0 + byte as u64;
            let allowed = match self.timed {
                true => {
                    let past = writes.iter().rev().filter(|write| write.stamp <= stamp);
                    vec![past.into_iter().find_map(|write| write.data.get(byte)).unwrap_or(base[byte])]
                }
                false => self.may_read(who, writes, (address, byte), base[byte]),
            };
            if !allowed.contains(&value) {
                return Err(Mismatch { address, value, allowed });
            }
        }
        Ok(())
    }

    /// What somebody may read where lines may be stale.
    fn may_read(&self, who: Observer, writes: &[Write], (address, byte): (u64, usize), base: u8) -> Values {
        let own = writes.iter().rev().filter(|write| write.who == who).find_map(|write| write.data.get(byte));
        let others = writes.iter().filter(|write| write.who != who).filter_map(|write| write.data.get(byte));
        let mut allowed: Values = own.into_iter().chain(others).collect();
        if own.is_none() {
            match self.contested.get(&address) {
                Some(values) => allowed.extend(values),
                None => allowed.push(base),
            }
        }
        allowed
    }

    /// Everybody has written back and nobody holds anything stale.
    pub fn synchronise(&mut self) {
        for (line, writes) in std::mem::take(&mut self.writes) {
            if self.timed {
                for (byte, value) in writes
                    .iter()
                    .flat_map(|write| write.data.mask().iter().map(|byte| (byte, write.data.bytes()[byte])))
                {
                    self.base.write(PhysAddr(line.0 + byte as u64), &[value]);
                }
                continue;
            }
            for byte in 0..LINE {
                let mut last: BTreeMap<Observer, u8> = BTreeMap::new();
                for write in &writes {
                    if let Some(value) = write.data.get(byte) {
                        last.insert(write.who, value);
                    }
                }
                let Some(value) = last.values().next_back().copied() else { continue };
                let address = line.0 + byte as u64;
                self.base.write(PhysAddr(address), &[value]);
                self.contested.remove(&address);
                let values: BTreeSet<u8> = last.into_values().collect();
                if values.len() > 1 {
                    self.contested.insert(address, values.into_iter().collect());
                }
            }
        }
    }

    /// Checks what memory holds in the end; everything has been synchronised.
    pub fn compare(&self, memory: &Frames) -> Result<(), String> {
        // Nobody has written since: whoever reads sees what a reader may see.
        let nobody = Observer(u32::MAX);
        let held = |line: LineAddr| {
            let mut bytes = [0; LINE];
            memory.read(PhysAddr(line.0), &mut bytes);
            bytes
        };
        let exact = if self.coherent { Some(&self.base) } else { self.apart.as_ref().map(|(apart, _)| apart.memory()) };
        for (address, right) in exact.into_iter().flat_map(|image| image.pieces(LINE as u64)) {
            let found = held(LineAddr(address.0));
            if let Some(byte) = (0..LINE).find(|byte| found[*byte] != right[*byte]) {
                let (address, value, allowed) = (address.0 + byte as u64, found[byte], vec![right[byte]]);
                return Err(Mismatch { address, value, allowed }.told("memory"));
            }
        }
        for &line in &self.written {
            let found = Block::full(held(line));
            self.read(nobody, line, &found, Stamp::MAX).map_err(|mismatch| mismatch.told("memory"))?;
        }
        Ok(())
    }
}

/// Where the image is found when the run is over.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Image>>);

impl Kept {
    pub fn take(&self) -> Image {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The context that keeps the image.
pub struct Golden {
    pub image: Image,
    pub kept: Kept,
    /// From everybody who reports, and what they are called.
    pub from: Vec<Inlet<Observation>>,
    pub names: Vec<String>,
    pub bell: EventCount,
}

impl Golden {
    pub async fn run(mut self, cx: Context) {
        for inlet in &self.from {
            inlet.ring(&self.bell);
        }
        loop {
            // Everything that was reported of this cycle: writes count before reads, whose order among each other in one
            // cycle is nobody's; a synchronisation comes last.
            let mut now: Vec<Observation> = Vec::new();
            for inlet in &self.from {
                now.extend(std::iter::from_fn(|| inlet.try_recv(Lane::Request)));
            }
            // Where copies are kept coherent, only one cache accesses a line that is written, and tells of it in order.
            now.sort_by_key(|observation| match observation.seen {
                _ if self.image.coherent || self.image.apart.is_some() => 0,
                Seen::Wrote(_) | Seen::Changed { .. } | Seen::Landed(_) => 0,
                Seen::Read(_) | Seen::Fetched(_) => 1,
                Seen::Synchronised => 2,
            });
            for observation in now {
                if let Err(mismatch) = self.image.observe(&observation) {
                    let name = self.names.get(observation.who.0 as usize).map_or("somebody", String::as_str);
                    let (what, name) = match observation.seen {
                        Seen::Landed(_) => ("a wrong value was written back", name),
                        Seen::Synchronised => ("a write has not reached memory", "memory"),
                        _ => ("a wrong value was read", name),
                    };
                    return cx.fail(format!("{what}: {}", mismatch.told(name)));
                }
            }
            self.bell.next().await;
        }
    }
}

impl Drop for Golden {
    fn drop(&mut self) {
        *self.kept.0.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_0: LineAddr = LineAddr(0);
    const A: Observer = Observer(0);
    const B: Observer = Observer(1);

    fn byte(value: u8) -> Block<LINE> {
        Block::one(3, value)
    }

    fn may_read(image: &Image, who: Observer) -> Values {
        (0..=9).filter(|value| image.read(who, LINE_0, &byte(*value), 0).is_ok()).collect()
    }

    #[test]
    fn a_writer_sees_its_own_write_and_others_may_be_stale_until_they_synchronise() {
        let mut image = Image::new(false, false);
        image.wrote(A, LINE_0, byte(7), 0);
        assert_eq!(may_read(&image, A), [7]);
        assert_eq!(may_read(&image, B), [0, 7]);
        image.synchronise();
        assert_eq!(may_read(&image, B), [7]);
    }

    #[test]
    fn of_several_writers_the_last_value_of_any_stays() {
        let mut image = Image::new(false, false);
        image.wrote(A, LINE_0, byte(1), 0);
        image.wrote(A, LINE_0, byte(2), 0);
        image.wrote(B, LINE_0, byte(3), 0);
        assert_eq!(may_read(&image, A), [2, 3]);
        image.synchronise();
        assert_eq!(may_read(&image, A), [2, 3]);
    }

    #[test]
    fn in_logical_time_a_read_returns_what_was_written_last_up_to_then() {
        let mut image = Image::new(true, false);
        image.wrote(A, LINE_0, byte(1), 5);
        image.wrote(B, LINE_0, byte(2), 9);
        let read_at =
            |stamp| (0..=9).filter(|value| image.read(A, LINE_0, &byte(*value), stamp).is_ok()).collect::<Values>();
        assert_eq!([read_at(4), read_at(5), read_at(8), read_at(9)], [[0], [1], [1], [2]]);
    }

    #[test]
    fn memory_that_lost_a_write_is_noticed() {
        let mut image = Image::new(false, false);
        image.wrote(A, LINE_0, byte(1), 0);
        image.synchronise();
        let mut memory = Frames::new();
        assert_eq!(image.compare(&memory), Err("memory has 0x00 at 0x3; right would be 0x01".to_owned()));
        memory.write(PhysAddr(3), &[1]);
        assert_eq!(image.compare(&memory), Ok(()));
    }
}
