//! Where a cache keeps its lines: sets of ways, the least recently used first to go.

use mem::{Bytes, LINE, LineAddr};
use protocol::Line;

/// The shape of a cache, or of one of several banks. Made by [`Shape::new`], which checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    sets: usize,
    ways: usize,
    banks: u64,
    /// So many bytes go to one bank before it is the next one's turn.
    interleave: u64,
}

impl Shape {
    /// A cache of `size` bytes in sets of `ways` lines.
    pub fn new(size: Bytes, ways: usize) -> Result<Self, String> {
        let lines = size.0 as usize / LINE;
        if ways == 0 || !(size.0 as usize).is_multiple_of(LINE) || !lines.is_multiple_of(ways) || lines == 0 {
            return Err(format!("{size} can't be cut into sets of {ways} lines of {LINE} B"));
        }
        let sets = lines / ways;
        if !sets.is_power_of_two() {
            return Err(format!("{size} in {ways} ways make {sets} sets; their number must be a power of two"));
        }
        Ok(Self { sets, ways, banks: 1, interleave: LINE as u64 })
    }

    /// The same as one of `banks` over which addresses are dealt, `interleave` bytes at a time.
    pub fn of_banks(self, banks: usize, interleave: u64) -> Self {
        Self { banks: banks as u64, interleave, ..self }
    }

    fn set(&self, line: LineAddr) -> usize {
        let here = match self.banks {
            1 => line.0,
            _ if self.banks.is_power_of_two() && self.interleave.is_power_of_two() => {
                let (bits, banks) = (self.interleave.trailing_zeros(), self.banks.trailing_zeros());
                (line.0 >> (bits + banks) << bits) | (line.0 & (self.interleave - 1))
            }
            _ => line.0 / (self.interleave * self.banks) * self.interleave + line.0 % self.interleave,
        };
        (here / LINE as u64) as usize & (self.sets - 1)
    }
}

/// A place in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(usize);

const FREE: LineAddr = LineAddr(u64::MAX);

/// Lines with their tags.
pub struct Array {
    shape: Shape,
    tags: Vec<LineAddr>,
    lines: Vec<Line<LINE>>,
    /// When each was used last, in uses.
    used: Vec<u64>,
    uses: u64,
}

impl Array {
    pub fn new(shape: Shape) -> Self {
        let count = shape.sets * shape.ways;
        Self { shape, tags: vec![FREE; count], lines: vec![Line::new(0); count], used: vec![0; count], uses: 0 }
    }

    /// The number of the set that a line belongs to.
    pub fn set(&self, line: LineAddr) -> usize {
        self.shape.set(line)
    }

    fn ways(&self, line: LineAddr) -> std::ops::Range<usize> {
        let first = self.shape.set(line) * self.shape.ways;
        first..first + self.shape.ways
    }

    pub fn find(&self, line: LineAddr) -> Option<Way> {
        self.ways(line).find(|way| self.tags[*way] == line).map(Way)
    }

    /// A way of the line's set that holds nothing.
    pub fn free(&self, line: LineAddr) -> Option<Way> {
        self.ways(line).find(|way| self.tags[*way] == FREE).map(Way)
    }

    /// The least recently used way of the line's set.
    pub fn oldest(&self, line: LineAddr) -> Option<Way> {
        self.ways(line).min_by_key(|way| self.used[*way]).map(Way)
    }

    /// The way of the line's set that was used next after `way`.
    pub fn next_oldest(&self, line: LineAddr, way: Way) -> Option<Way> {
        let after = self.used[way.0];
        self.ways(line).filter(|way| self.used[*way] > after).min_by_key(|way| self.used[*way]).map(Way)
    }

    pub fn line(&self, way: Way) -> &Line<LINE> {
        &self.lines[way.0]
    }

    pub fn line_mut(&mut self, way: Way) -> &mut Line<LINE> {
        &mut self.lines[way.0]
    }

    pub fn tag(&self, way: Way) -> LineAddr {
        self.tags[way.0]
    }

    /// Puts a line in a way.
    pub fn put(&mut self, way: Way, tag: LineAddr, line: Line<LINE>) {
        self.tags[way.0] = tag;
        self.lines[way.0] = line;
    }

    /// The line was used.
    pub fn touch(&mut self, way: Way) {
        self.uses += 1;
        self.used[way.0] = self.uses;
    }

    pub fn clear(&mut self, way: Way) {
        self.tags[way.0] = FREE;
    }

    /// Every line held, in the order of the ways.
    pub fn tags(&self) -> impl Iterator<Item = LineAddr> {
        self.tags.iter().copied().filter(|tag| *tag != FREE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_dealt_over_banks_fill_every_set_of_each() {
        let shape = Shape::new(Bytes(1024), 4).unwrap().of_banks(16, 128);
        let sets: Vec<usize> = [0, 64, 2048, 2112, 4096].map(|address| shape.set(LineAddr(address))).to_vec();
        assert_eq!(sets, [0, 1, 2, 3, 0]);
    }

    #[test]
    fn a_shape_that_does_not_work_out_is_refused() {
        assert!(Shape::new(Bytes(1000), 4).is_err());
        assert!(Shape::new(Bytes(3 * 1024), 4).is_err());
        assert!(Shape::new(Bytes(1024), 0).is_err());
    }
}
