//! The storage of a cache: sets of ways, each with a tag.
//!
//! A way holds one line of 64 B, or a line of 128 or 256 B that is made of 64 B sectors under one tag. The protocol
//! and the interconnect handle each sector on its own, so sectors are filled and invalidated one by one. Replacing a
//! way evicts all its sectors.

use mem::{Bytes, LINE, LineAddr, PhysAddr, Replacement, Share, Victims, Ways};
use protocol::Line;

/// The geometry of a cache, or of one bank of a cache. Built by [`Shape::new`], which checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    sets: usize,
    ways: usize,
    /// Sectors in a line.
    sectors: usize,
    replacement: Replacement,
    /// The addresses that map to this bank.
    share: Share,
}

impl Shape {
    /// A cache of `size` bytes with `ways` lines in a set and LRU replacement.
    pub fn new(size: Bytes, ways: usize) -> Result<Self, String> {
        Self::of_lines(size, ways, Bytes(LINE as u64))
    }

    /// Variant of [`Shape::new`] with lines of `line` bytes.
    pub fn of_lines(size: Bytes, ways: usize, line: Bytes) -> Result<Self, String> {
        if ![1, 2, 4].contains(&(line.0 / LINE as u64)) || !line.0.is_multiple_of(LINE as u64) {
            return Err(format!("a line of {line} is not made of 1, 2 or 4 sectors of {LINE} B"));
        }
        let lines = (size.0 / line.0) as usize;
        if ways == 0 || !size.0.is_multiple_of(line.0) || !lines.is_multiple_of(ways) || lines == 0 {
            return Err(format!("{size} can't be cut into sets of {ways} lines of {line}"));
        }
        let sets = lines / ways;
        if !sets.is_power_of_two() {
            return Err(format!("{size} in {ways} ways make {sets} sets; their number must be a power of two"));
        }
        let (sectors, replacement) = ((line.0 / LINE as u64) as usize, Replacement::Lru);
        Ok(Self { sets, ways, sectors, replacement, share: Share::ALL })
    }

    /// This shape with another replacement policy.
    pub fn replacing(self, replacement: Replacement) -> Result<Self, String> {
        if replacement == Replacement::Plru && !(self.ways.is_power_of_two() && self.ways <= 64) {
            return Err(format!("a tree needs a power of two of ways, 64 at most, not {}", self.ways));
        }
        Ok(Self { replacement, ..self })
    }

    /// The shape of a bank that holds only the lines of `share`.
    pub fn of_share(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// The bytes of a line.
    pub fn line(&self) -> Bytes {
        Bytes((self.sectors * LINE) as u64)
    }

    /// Capacity in bytes.
    pub fn size(&self) -> Bytes {
        Bytes((self.sets * self.ways * self.sectors * LINE) as u64)
    }

    /// The line's address within this bank, with the other banks' addresses squeezed out.
    fn inside(&self, line: LineAddr) -> u64 {
        self.share.inside(PhysAddr(line.0)).0
    }

    /// The number that selects the line's set, and the line's sector in its way.
    fn place(&self, line: LineAddr) -> (u64, usize) {
        let number = self.inside(line) / LINE as u64;
        match self.sectors as u64 {
            1 => (number, 0),
            sectors => (number / sectors, (number % sectors) as usize),
        }
    }
}

/// The index of one sector of one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(usize);

const FREE: LineAddr = LineAddr(u64::MAX);

/// Lines and their tags.
pub struct Array {
    shape: Shape,
    /// The tag of each sector; `FREE` if it holds nothing.
    tags: Vec<LineAddr>,
    /// How many sectors hold something.
    held: usize,
    lines: Vec<Line<LINE>>,
    ways: Ways,
}

impl Array {
    pub fn new(shape: Shape) -> Self {
        let count = shape.sets * shape.ways * shape.sectors;
        let ways = Ways::new(shape.sets, shape.ways, shape.replacement);
        Self { shape, tags: vec![FREE; count], held: 0, lines: vec![Line::new(0); count], ways }
    }

    /// The index of the line's set.
    pub fn set(&self, line: LineAddr) -> usize {
        self.ways.set(self.shape.place(line).0)
    }

    /// Where the line could be: its sector in each way of its set.
    fn places(&self, line: LineAddr) -> impl Iterator<Item = usize> + use<> {
        let (sectors, (number, sector)) = (self.shape.sectors, self.shape.place(line));
        self.ways.of(self.ways.set(number)).map(move |way| way * sectors + sector)
    }

    /// Ways in a set.
    pub fn ways(&self) -> usize {
        self.ways.per_set()
    }

    /// The lines held in the set of `line`.
    pub fn beside(&self, line: LineAddr) -> impl Iterator<Item = Way> {
        let held = |way: &usize| self.tags[*way] != FREE;
        self.places(line).flat_map(|place| self.sectors(place)).filter(held).map(Way)
    }

    pub fn find(&self, line: LineAddr) -> Option<Way> {
        if self.shape.sectors == 1 {
            let ways = self.ways.of(self.set(line));
            let first = ways.start;
            return self.tags[ways].iter().position(|tag| *tag == line).map(|place| Way(first + place));
        }
        self.places(line).find(|place| self.tags[*place] == line).map(Way)
    }

    /// The sectors of the way that contains the index `place`.
    fn sectors(&self, place: usize) -> std::ops::Range<usize> {
        let first = place / self.shape.sectors * self.shape.sectors;
        first..first + self.shape.sectors
    }

    /// Finds a place for a line that is not held: its sector in the way that already has its tag, or else in an empty
    /// way.
    pub fn free(&self, line: LineAddr) -> Option<Way> {
        if self.shape.sectors == 1 {
            return self.places(line).find(|place| self.tags[*place] == FREE).map(Way);
        }
        let number = |line: LineAddr| self.shape.inside(line) / (LINE * self.shape.sectors) as u64;
        let has_tag = |place: &usize| {
            let held = self.tags[self.sectors(*place)].iter().find(|tag| **tag != FREE);
            held.is_some_and(|tag| number(*tag) == number(line))
        };
        let is_free = |place: &usize| self.tags[self.sectors(*place)].iter().all(|tag| *tag == FREE);
        self.places(line).find(has_tag).or_else(|| self.places(line).find(is_free)).map(Way)
    }

    /// Starts an iteration over the ways of the line's set in replacement order.
    pub fn victims(&self, line: LineAddr) -> Victims {
        self.ways.victims(self.set(line))
    }

    /// The held sectors of the next way in replacement order.
    pub fn next_victim(&mut self, victims: &mut Victims) -> Option<impl Iterator<Item = Way> + Clone + use<>> {
        let way = self.ways.next_victim(victims)?;
        let sectors = self.sectors(way * self.shape.sectors);
        let held: [bool; 4] = std::array::from_fn(|n| n < sectors.len() && self.tags[sectors.start + n] != FREE);
        Some((0..4).filter(move |n| held[*n]).map(move |n| Way(sectors.start + n)))
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

    /// Stores a line and its tag at `way`.
    pub fn put(&mut self, way: Way, tag: LineAddr, line: Line<LINE>) {
        self.held += usize::from(self.tags[way.0] == FREE);
        self.tags[way.0] = tag;
        self.lines[way.0] = line;
    }

    /// Tells the replacement policy that the line was used.
    pub fn touch(&mut self, way: Way) {
        self.ways.touch(way.0 / self.shape.sectors);
    }

    pub fn clear(&mut self, way: Way) {
        self.held -= usize::from(self.tags[way.0] != FREE);
        self.tags[way.0] = FREE;
    }

    /// The tags of all held lines, in the order of the ways.
    pub fn tags(&self) -> impl Iterator<Item = LineAddr> {
        // Most first-level caches are empty when a kernel begins, and need no search.
        let tags = if self.held == 0 { &[] } else { &self.tags[..] };
        tags.iter().copied().filter(|tag| *tag != FREE).take(self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::Stride;

    #[test]
    fn lines_that_are_dealt_over_banks_fill_every_set_of_each() {
        for banks in [16, 12] {
            let shape = Shape::new(Bytes(1024), 4).unwrap().of_share(Share::of(Stride::of(128), 0, banks));
            let array = Array::new(shape);
            let round = 128 * banks;
            let addresses = [0, 64, round, round + 64, 2 * round];
            assert_eq!(addresses.map(|address| array.set(LineAddr(address))), [0, 1, 2, 3, 0]);
        }
    }

    #[test]
    fn a_shape_that_does_not_work_out_is_refused() {
        assert!(Shape::new(Bytes(1000), 4).is_err());
        assert!(Shape::new(Bytes(3 * 1024), 4).is_err());
        assert!(Shape::new(Bytes(1024), 0).is_err());
        assert!(Shape::of_lines(Bytes(1024), 4, Bytes(96)).is_err());
        assert!(Shape::of_lines(Bytes(1024), 4, Bytes(512)).is_err());
        assert!(Shape::new(Bytes(3 * 64), 3).unwrap().replacing(Replacement::Plru).is_err());
    }

    #[test]
    fn sectors_of_a_line_share_a_way_and_go_together() {
        // One set of two ways, each with a tag for 256 B.
        let mut array = Array::new(Shape::of_lines(Bytes(512), 2, Bytes(256)).unwrap());
        let mut bring = |address: u64| {
            let place = array.free(LineAddr(address))?;
            array.put(place, LineAddr(address), Line::new(1));
            array.touch(place);
            Some(place.0)
        };
        assert_eq!([0, 192, 64, 1024].map(&mut bring), [Some(0), Some(3), Some(1), Some(4)]);
        // A third tag finds no free way; another sector of the first tag fits its way.
        assert_eq!([2048, 128].map(&mut bring), [None, Some(2)]);
        array.clear(Way(1));
        let mut victims = array.victims(LineAddr(2048));
        let mut gone = || array.next_victim(&mut victims).map(|held| held.map(|way| way.0).collect::<Vec<_>>());
        assert_eq!((gone(), gone(), gone()), (Some(vec![4]), Some(vec![0, 2, 3]), None));
    }
}
