//! Accesses with logical times: a read at a time returns what was written last up to then.
//!
//! Where a line is written often, each byte keeps its values by time, without those that nothing can return any more: a value equal to
//! the one before it, and values that a later write of an earlier time hides. A read finds its value by bisection.

use super::{Mismatch, differing, line_of, write};
use mem::{Block, Frames, LINE, LineAddr, Stamp};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Writes that are kept one by one; a line with more is kept by byte.
const FEW: usize = 8;

#[derive(Default)]
pub struct Timed {
    /// As of the last synchronisation.
    base: Frames,
    /// Writes since, by line. Walked only where the order does not matter.
    writes: FxHashMap<LineAddr, Writes>,
    /// Every line that was written before.
    written: BTreeSet<LineAddr>,
}

enum Writes {
    /// In order.
    Few(Vec<(Stamp, Block<LINE>)>),
    /// Of each byte, its values by rising time.
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

    /// Checks what was read, and when in logical time.
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

    /// No cache holds anything from before.
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

    /// Checks what memory holds of every line that was written; all has been synchronised.
    pub fn compare(&self, memory: &Frames) -> Result<(), Mismatch> {
        self.written.iter().try_for_each(|line| self.read(*line, &Block::full(line_of(memory, *line)), Stamp::MAX))
    }
}

fn wrote(many: &mut [Vec<(Stamp, u8)>; LINE], data: &Block<LINE>, stamp: Stamp) {
    for byte in data.mask().iter() {
        let (values, value) = (&mut many[byte], data.bytes()[byte]);
        // Whatever has a later time was written before, and is not found any more.
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
