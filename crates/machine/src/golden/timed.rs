//! The golden image for protocols with logical time: a read at a time returns the last value written up to that time.
//!
//! For a line with many writes, each byte keeps its values sorted by time. Values that no read can return are dropped:
//! a value equal to the one before it, and values hidden by a later write with an earlier time. A read finds its value
//! by binary search.

use super::{Mismatch, differing, line_of, write};
use mem::{Block, Frames, LINE, LineAddr, Stamp};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Maximum number of writes kept in a list; a line with more switches to values per byte.
const FEW: usize = 8;

#[derive(Default)]
pub struct Timed {
    /// Contents at the last synchronisation.
    base: Frames,
    /// Writes since then, by line. Iterated only where the order does not matter.
    writes: FxHashMap<LineAddr, Writes>,
    /// Every line written before the last synchronisation.
    written: BTreeSet<LineAddr>,
}

enum Writes {
    /// All writes, in the order in which they happened.
    Few(Vec<(Stamp, Block<LINE>)>),
    /// The values of each byte, in ascending time.
    Many(Box<[Vec<(Stamp, u8)>; LINE]>),
}

impl Timed {
    pub fn wrote(&mut self, line: LineAddr, data: &Block<LINE>, stamp: Stamp) {
        let writes = self.writes.entry(line).or_insert_with(|| Writes::Few(Vec::with_capacity(1)));
        if let Writes::Few(few) = writes {
            if few.len() < FEW {
                few.push((stamp, *data));
                return;
            }
            let mut many = Box::new([const { Vec::new() }; LINE]);
            few.iter().for_each(|(stamp, data)| wrote(&mut many, data, *stamp));
            *writes = Writes::Many(many);
        }
        if let Writes::Many(many) = writes {
            wrote(many, data, stamp);
        }
    }

    /// Checks the result of a read at a logical time.
    pub fn read(&self, line: LineAddr, data: &Block<LINE>, stamp: Stamp) -> Result<(), Mismatch> {
        let mut right = line_of(&self.base, line);
        match self.writes.get(&line) {
            None => {}
            Some(Writes::Few(few)) => {
                let mut block = Block::full(right);
                few.iter().filter(|(written, _)| *written <= stamp).for_each(|(_, data)| block.write(data));
                right = *block.bytes();
            }
            Some(Writes::Many(many)) => {
                for byte in data.mask().iter() {
                    let values = &many[byte];
                    let after = values.partition_point(|(written, _)| *written <= stamp);
                    if let Some((_, value)) = after.checked_sub(1).map(|last| values[last]) {
                        right[byte] = value;
                    }
                }
            }
        }
        let wrong = differing(&right, data).next();
        wrong.map_or(Ok(()), |byte| {
            let (address, value) = (line.0 + byte as u64, data.bytes()[byte]);
            Err(Mismatch { address, value, allowed: vec![right[byte]] })
        })
    }

    /// Merges all writes into the base: no cache holds an older value.
    pub fn synchronise(&mut self) {
        for (line, writes) in self.writes.drain() {
            match writes {
                Writes::Few(few) => few.iter().for_each(|(_, data)| write(&mut self.base, line, data)),
                Writes::Many(many) => {
                    let last = many.iter().enumerate().filter_map(|(byte, values)| Some((byte, values.last()?.1)));
                    let mut data = Block::EMPTY;
                    last.for_each(|(byte, value)| data.set(byte, value));
                    write(&mut self.base, line, &data);
                }
            }
            self.written.insert(line);
        }
    }

    /// Checks memory's contents of every line written; to be called after a synchronisation.
    pub fn compare(&self, memory: &Frames) -> Result<(), Mismatch> {
        self.written.iter().try_for_each(|line| self.read(*line, &Block::full(line_of(memory, *line)), Stamp::MAX))
    }
}

fn wrote(many: &mut [Vec<(Stamp, u8)>; LINE], data: &Block<LINE>, stamp: Stamp) {
    for byte in data.mask().iter() {
        let (values, value) = (&mut many[byte], data.bytes()[byte]);
        // Values with a later time were written before and can't be read any more.
        while values.last().is_some_and(|(other, _)| *other >= stamp) {
            values.pop();
        }
        if values.last().is_none_or(|(_, other)| *other != value) {
            values.push((stamp, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_0: LineAddr = LineAddr(0);

    fn byte(value: u8) -> Block<LINE> {
        Block::one(3, value)
    }

    fn read_at(image: &Timed, stamp: Stamp) -> Vec<u8> {
        (0..=9).filter(|value| image.read(LINE_0, &byte(*value), stamp).is_ok()).collect()
    }

    #[test]
    fn a_read_returns_what_was_written_last_up_to_then() {
        let mut image = Timed::default();
        image.wrote(LINE_0, &byte(1), 5);
        image.wrote(LINE_0, &byte(2), 9);
        assert_eq!([4, 5, 8, 9].map(|stamp| read_at(&image, stamp)), [[0], [1], [1], [2]]);
    }

    #[test]
    fn a_line_that_is_written_often_returns_what_it_would_return_if_every_write_were_kept() {
        let mut image = Timed::default();
        let mut all: Vec<(Stamp, u8)> = Vec::new();
        for number in 0..60_u64 {
            let (stamp, value) = (number * 3 - number * number % 7 % (number + 1), (number / 2 % 10) as u8);
            image.wrote(LINE_0, &byte(value), stamp);
            all.push((stamp, value));
            for at in 0..200 {
                let right = all.iter().rev().find(|(stamp, _)| *stamp <= at).map_or(0, |(_, value)| *value);
                assert_eq!(read_at(&image, at), [right], "at {at} after {number}");
            }
        }
        let Some(Writes::Many(many)) = image.writes.get(&LINE_0) else { panic!("there are more than a few") };
        assert!(many[3].len() <= 31, "equal values are kept once: {}", many[3].len());
        image.synchronise();
        assert_eq!(read_at(&image, 0), [9]);
    }
}
