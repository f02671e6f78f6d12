//! The image of caches that may hold stale copies between synchronisations (the start and end of kernels).
//!
//! A reader sees its own latest write to a byte, or a write that another has made since the last synchronisation. A
//! byte that the reader has not written itself may also still have its value from that synchronisation. After a
//! synchronisation a byte has the last value of one of its writers, and memory holds it, because the host reads there.
//!
//! The size of the records of a line does not grow with the number of writes. A byte has 256 values and a machine has a
//! fixed number of writers; so after a few writes to a line, each byte keeps the writer of each value, and the last
//! value of each writer.

use super::{Mismatch, Values, differing, line_of, write};
use mem::{Block, Frames, LINE, LineAddr, Observer, PhysAddr};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of writes kept in a list; a line with more switches to records per byte.
const FEW: usize = 8;

#[derive(Default)]
pub struct Stale {
    /// Contents at the last synchronisation.
    base: Frames,
    /// Bytes with several writers before that synchronisation, and the last value of each: the byte may have any of
    /// them. Looked up, never iterated.
    contested: FxHashMap<u64, Values>,
    /// Writes since then, by line. Iterated only in the order of lines.
    writes: FxHashMap<LineAddr, Writes>,
    /// Every line that was written before.
    written: BTreeSet<LineAddr>,
    /// Lines that have been released; some of their bytes may not have reached memory.
    released: BTreeSet<LineAddr>,
    /// The contents of memory.
    memory: Frames,
}

enum Writes {
    /// All writes, in order.
    Few(Vec<(Observer, Block<LINE>)>),
    Many(Box<[ByteWrites; LINE]>),
}

/// The writes to one byte.
#[derive(Default)]
struct ByteWrites {
    /// The last value of each writer.
    last: Vec<(Observer, u8)>,
    /// The writer of each value; `None` if several wrote it.
    by: Vec<(u8, Option<Observer>)>,
}

impl Stale {
    pub fn wrote(&mut self, who: Observer, line: LineAddr, data: &Block<LINE>) {
        let writes = self.writes.entry(line).or_insert_with(|| Writes::Few(Vec::with_capacity(1)));
        if let Writes::Few(few) = writes {
            if few.len() < FEW {
                few.push((who, *data));
                return;
            }
            let mut many = Box::new([const { ByteWrites { last: Vec::new(), by: Vec::new() } }; LINE]);
            few.iter().for_each(|(who, data)| wrote(&mut many, *who, data));
            *writes = Writes::Many(many);
        }
        if let Writes::Many(many) = writes {
            wrote(many, who, data);
        }
    }

    /// Checks the result of a read.
    pub fn read(&self, who: Observer, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
        let base = line_of(&self.base, line);
        let writes = self.writes.get(&line);
        let wrong = match writes {
            None if self.contested.is_empty() => differing(&base, data).next(),
            None => differing(&base, data).find(|byte| {
                let values = self.contested.get(&(line.0 + *byte as u64));
                values.is_none_or(|values| !values.contains(&data.bytes()[*byte]))
            }),
            Some(Writes::Few(few)) => data.mask().iter().find(|byte| {
                let value = data.bytes()[*byte];
                let mut own = None;
                for (writer, written) in few.iter().rev() {
                    match written.get(*byte) {
                        Some(other) if *writer != who && other == value => return false,
                        Some(latest) if *writer == who && own.is_none() => own = Some(latest),
                        _ => {}
                    }
                }
                own.map_or_else(|| !self.had(line, *byte, &base, value), |own| own != value)
            }),
            Some(Writes::Many(many)) => data.mask().iter().find(|byte| {
                let (value, writes) = (data.bytes()[*byte], &many[*byte]);
                let others = writes.writer_of(value).is_some_and(|writer| writer != Some(who));
                let own = || writes.last_of(who);
                !others && own().map_or_else(|| !self.had(line, *byte, &base, value), |own| own != value)
            }),
        };
        wrong.map_or(Ok(()), |byte| {
            let (address, value) = (line.0 + byte as u64, data.bytes()[byte]);
            Err(Mismatch { address, value, allowed: self.allowed(who, line, byte, base[byte]) })
        })
    }

    /// Whether a byte may have had this value at the last synchronisation.
    fn had(&self, line: LineAddr, byte: usize, base: &[u8; LINE], value: u8) -> bool {
        base[byte] == value || self.contested.get(&(line.0 + byte as u64)).is_some_and(|values| values.contains(&value))
    }

    /// The values that a reader may find, for the error message.
    fn allowed(&self, who: Observer, line: LineAddr, byte: usize, base: u8) -> Values {
        let (mut own, mut others) = (None, BTreeSet::new());
        match self.writes.get(&line) {
            None => {}
            Some(Writes::Few(few)) => {
                for (writer, value) in few.iter().filter_map(|(writer, data)| Some((*writer, data.get(byte)?))) {
                    if writer == who {
                        own = Some(value);
                    } else {
                        others.insert(value);
                    }
                }
            }
            Some(Writes::Many(many)) => {
                own = many[byte].last_of(who);
                others.extend(many[byte].by.iter().filter(|(_, by)| *by != Some(who)).map(|(value, _)| *value));
            }
        }
        let before = || match self.contested.get(&(line.0 + byte as u64)) {
            Some(values) => values.clone(),
            None => vec![base],
        };
        others.extend(own.map_or_else(before, |own| vec![own]));
        others.into_iter().collect()
    }

    /// Memory has sent a line.
    pub fn fetched(&self, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
        let held = line_of(&self.memory, line);
        let wrong = differing(&held, data).next();
        wrong.map_or(Ok(()), |byte| {
            let (address, value) = (line.0 + byte as u64, data.bytes()[byte]);
            Err(Mismatch { address, value, allowed: vec![held[byte]] })
        })
    }

    /// Memory has received bytes.
    pub fn landed(&mut self, line: LineAddr, data: &Block<LINE>) {
        write(&mut self.memory, line, data);
    }

    /// Every cache has written back all dirty bytes and holds no stale line; all bytes must have reached memory.
    pub fn synchronise(&mut self) -> Result<(), Mismatch> {
        self.release();
        let lines = std::mem::take(&mut self.released);
        self.written.extend(&lines);
        lines.iter().try_for_each(|line| self.holds(*line, &self.memory))
    }

    /// No cache holds a stale line; bytes that were written may reach memory later.
    pub fn release(&mut self) {
        let mut lines: Vec<(LineAddr, Writes)> = self.writes.drain().collect();
        lines.sort_unstable_by_key(|(line, _)| *line);
        for (line, writes) in &lines {
            for byte in 0..LINE {
                let last = writes.last(byte);
                let Some((_, value)) = last.last() else { continue };
                let address = line.0 + byte as u64;
                self.base.write(PhysAddr(address), &[*value]);
                let values: BTreeSet<u8> = last.iter().map(|(_, value)| *value).collect();
                if values.len() > 1 {
                    self.contested.insert(address, values.into_iter().collect());
                } else if !self.contested.is_empty() {
                    self.contested.remove(&address);
                }
            }
        }
        for (line, _) in lines {
            self.written.remove(&line);
            self.released.insert(line);
        }
    }

    /// Checks the contents of memory of every line written; to be called after a synchronisation.
    pub fn compare(&self, memory: &Frames) -> Result<(), Mismatch> {
        self.written.iter().try_for_each(|line| self.holds(*line, memory))
    }

    /// Checks the contents of memory of a line without writes since the last synchronisation.
    fn holds(&self, line: LineAddr, memory: &Frames) -> Result<(), Mismatch> {
        const NOBODY: Observer = Observer(u32::MAX);
        self.read(NOBODY, line, &Block::full(line_of(memory, line)))
    }
}

impl Writes {
    /// The last value of each writer of a byte.
    fn last(&self, byte: usize) -> Vec<(Observer, u8)> {
        match self {
            Self::Few(few) => {
                let values = few.iter().filter_map(|(who, data)| Some((*who, data.get(byte)?)));
                values.collect::<BTreeMap<_, _>>().into_iter().collect()
            }
            Self::Many(many) => many[byte].last.clone(),
        }
    }
}

fn wrote(many: &mut [ByteWrites; LINE], who: Observer, data: &Block<LINE>) {
    for byte in data.mask().iter() {
        let (writes, value) = (&mut many[byte], data.bytes()[byte]);
        match writes.last.binary_search_by_key(&who, |(who, _)| *who) {
            Ok(place) => writes.last[place].1 = value,
            Err(place) => writes.last.insert(place, (who, value)),
        }
        match writes.by.binary_search_by_key(&value, |(value, _)| *value) {
            Ok(place) if writes.by[place].1 == Some(who) => {}
            Ok(place) => writes.by[place].1 = None,
            Err(place) => writes.by.insert(place, (value, Some(who))),
        }
    }
}

impl ByteWrites {
    fn last_of(&self, who: Observer) -> Option<u8> {
        let place = self.last.binary_search_by_key(&who, |(who, _)| *who).ok()?;
        Some(self.last[place].1)
    }

    /// The writer of this value, if it was written.
    fn writer_of(&self, value: u8) -> Option<Option<Observer>> {
        let place = self.by.binary_search_by_key(&value, |(value, _)| *value).ok()?;
        Some(self.by[place].1)
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

    fn may_read(image: &Stale, who: Observer) -> Values {
        (0..=9).filter(|value| image.read(who, LINE_0, &byte(*value)).is_ok()).collect()
    }

    /// Memory receives the written bytes in between.
    fn synchronise(image: &mut Stale, value: u8) {
        image.landed(LINE_0, &byte(value));
        assert_eq!(image.synchronise(), Ok(()));
    }

    #[test]
    fn a_writer_sees_its_own_write_and_others_may_be_stale_until_they_synchronise() {
        let mut image = Stale::default();
        image.wrote(A, LINE_0, &byte(7));
        assert_eq!(may_read(&image, A), [7]);
        assert_eq!(may_read(&image, B), [0, 7]);
        synchronise(&mut image, 7);
        assert_eq!(may_read(&image, B), [7]);
    }

    #[test]
    fn of_several_writers_the_last_value_of_any_stays() {
        let mut image = Stale::default();
        image.wrote(A, LINE_0, &byte(1));
        image.wrote(A, LINE_0, &byte(2));
        image.wrote(B, LINE_0, &byte(3));
        assert_eq!(may_read(&image, A), [2, 3]);
        synchronise(&mut image, 2);
        assert_eq!(may_read(&image, A), [2, 3]);
    }

    #[test]
    fn a_line_that_is_written_often_allows_what_it_would_allow_if_every_write_were_kept() {
        let mut image = Stale::default();
        let mut all: Vec<(Observer, u8)> = Vec::new();
        for number in 0..40_u32 {
            let (who, value) = (Observer(number * number % 3), (number * 7 % 10) as u8);
            image.wrote(who, LINE_0, &byte(value));
            all.push((who, value));
            for reader in (0..4).map(Observer) {
                let own = all.iter().rev().find(|(who, _)| *who == reader).map(|(_, value)| *value);
                let others = all.iter().filter(|(who, _)| *who != reader).map(|(_, value)| *value);
                let right: BTreeSet<u8> = others.chain([own.unwrap_or(0)]).collect();
                assert_eq!(may_read(&image, reader), right.iter().copied().collect::<Values>(), "{reader:?} {number}");
                let told = image.allowed(reader, LINE_0, 3, 0);
                assert_eq!(told, right.into_iter().collect::<Values>(), "{reader:?} {number}");
            }
        }
        let Some(Writes::Many(many)) = image.writes.get(&LINE_0) else { panic!("there are more than a few") };
        assert!(many[3].by.len() <= 10 && many[3].last.len() <= 3);
    }

    #[test]
    fn memory_that_lost_a_write_is_noticed_when_all_is_synchronised_and_in_the_end() {
        let wrong = Err(Mismatch { address: 3, value: 0, allowed: vec![1] });
        let mut image = Stale::default();
        image.wrote(A, LINE_0, &byte(1));
        assert_eq!(image.synchronise(), wrong);
        let mut memory = Frames::new();
        assert_eq!(image.compare(&memory), wrong);
        memory.write(PhysAddr(3), &[1]);
        assert_eq!(image.compare(&memory), Ok(()));
    }

    #[test]
    fn memory_returns_the_bytes_that_it_received() {
        let mut image = Stale::default();
        image.landed(LINE_0, &byte(1));
        assert_eq!(image.fetched(LINE_0, &byte(1)), Ok(()));
        assert_eq!(image.fetched(LINE_0, &byte(2)), Err(Mismatch { address: 3, value: 2, allowed: vec![1] }));
    }
}
