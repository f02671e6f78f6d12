//! The coalescer: combines the accesses of a wavefront's lanes into requests for lines.
//!
//! Each line that active lanes access is requested once, in the order in which the lanes first access it. When the
//! lines have arrived, their bytes are distributed to the lanes.

use crate::{
    finder::{Finder, Latest},
    map::AddressMap,
};
use gcn3::{
    error::{Access, Fault},
    memop::{AtomicOp, Kind, MemOp, ScalarOp},
};
use mem::{Atomic, Block, LINE, LineAddr, Mask};
use std::ops::Range;

/// What one instruction accesses in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub line: LineAddr,
    /// The bytes of a store. For a load, only the mask is valid until the reply has arrived.
    pub mask: Mask,
    pub bytes: [u8; LINE],
    /// The operation of an atomic access. The bytes are its operands until the reply has arrived, then the old values.
    pub atomic: Option<Atomic>,
}

impl Part {
    /// The bytes in the form in which they travel.
    pub fn block(&self) -> Block<LINE> {
        Block::of(self.bytes, self.mask)
    }
}

/// What one lane, or several consecutive lanes, access in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The number of the line's part.
    pub part: usize,
    pub mask: Mask,
    pub lanes: u8,
}

/// An access of a vector or scalar instruction.
#[derive(Debug)]
pub enum Op {
    Vector(Box<MemOp>),
    Scalar(Box<ScalarOp>),
}

impl Op {
    pub fn is_store(&self) -> bool {
        match self {
            Op::Vector(op) => op.kind == Kind::Store,
            Op::Scalar(op) => op.store,
        }
    }

    /// Whether it must see the writes of other compute units (`glc`), which excludes a first-level cache hit.
    pub fn is_coherent(&self) -> bool {
        match self {
            Op::Vector(op) => op.scope.glc,
            Op::Scalar(op) => op.glc,
        }
    }

    /// The lines it accesses, with the bytes of a store; they are put in `parts`, which is empty.
    pub fn lines(&self, map: &AddressMap, parts: Vec<Part>) -> Result<Vec<Part>, Fault> {
        let access = if self.is_store() { Access::Store } else { Access::Load };
        if let Op::Vector(op) = self
            && let Kind::Atomic { op: atomic, .. } = op.kind
        {
            return atomic_lines(op, atomic, map, parts);
        }
        let mut gathering = Gathering { map, access, region: 0..0, parts, latest: Latest::new() };
        match self {
            Op::Scalar(op) => {
                for word in op.words_in_range() {
                    gathering.add(op.address + 4 * word as u64, op.data[word], 4, None)?;
                }
            }
            Op::Vector(op) => {
                for (place, addresses) in std::iter::once(&op.addresses).chain(&op.more).enumerate() {
                    for element in 0..usize::from(op.elements) {
                        let Some(row) = op.data.get(place * usize::from(op.elements) + element) else { continue };
                        let offset = element as u64 * u64::from(op.stride);
                        let mut left = op.mask;
                        while let Some(lane) = Mask(left).iter().next() {
                            let address = addresses[lane].wrapping_add(offset);
                            let together =
                                if op.element_bytes == 4 { run(&addresses[..], left, lane, address) } else { 1 };
                            if together > 1 {
                                gathering.add_words(address, &row.0[lane..lane + together], lane)?;
                                left &= !Mask::range(lane, together).0;
                            } else {
                                gathering.add(address, row.0[lane], op.element_bytes.into(), Some(lane as u8))?;
                                left &= left - 1;
                            }
                        }
                    }
                }
            }
        }
        Ok(gathering.parts)
    }

    /// Variant of [`lines`](Self::lines) for lanes that are not coalesced here: the requests in lane order. Of
    /// consecutive lanes that access the same line, the first has a request of its own, since it may start a miss, and
    /// the others share one. Atomic accesses are not changed.
    pub fn by_lane(&self, parts: &[Part]) -> Vec<Ask> {
        if parts.iter().any(|part| part.atomic.is_some()) {
            return parts
                .iter()
                .enumerate()
                .map(|(part, Part { mask, .. })| Ask { part, mask: *mask, lanes: 1 })
                .collect();
        }
        let mut asks: Vec<(Option<u8>, Ask)> = Vec::new();
        let mut finder = Finder::new();
        let asked = self.each(|address, _, size, lane| {
            let first = size.min(LINE - place(address));
            for (at, size) in [(address, first), (address + first as u64, size - first)] {
                let line = LineAddr(at & OF_LINE);
                if let Some(part) = finder.find(parts, line).filter(|_| size > 0) {
                    asks.push((lane, Ask { part, mask: Mask::range(place(at), size), lanes: 1 }));
                }
            }
            Ok(())
        });
        debug_assert!(asked.is_ok(), "nothing is checked here");
        asks.sort_by_key(|(lane, ask)| (*lane, ask.part));
        asks.dedup_by(|(lane, ask), (before, all)| {
            let same = lane == before && ask.part == all.part;
            all.mask = if same { all.mask.or(ask.mask) } else { all.mask };
            same
        });
        let mut together: Vec<Ask> = Vec::new();
        for (_, ask) in asks {
            match &mut together[..] {
                [.., first, all] if first.part == ask.part && all.part == ask.part => {
                    all.mask = all.mask.or(ask.mask);
                    all.lanes += 1;
                }
                _ => together.push(ask),
            }
        }
        together
    }

    /// Distributes the bytes of the lines to the lanes of a load or of an atomic access.
    pub fn fill(&mut self, parts: &[Part]) {
        if self.is_store() {
            return;
        }
        if let Op::Vector(op) = self
            && let Kind::Atomic { .. } = op.kind
        {
            return fill_atomic(op, parts);
        }
        let mut filling = Filling { parts, latest: Latest::new() };
        match self {
            Op::Scalar(op) => {
                op.data[..usize::from(op.words)].fill(0);
                for word in op.words_in_range() {
                    op.data[word] = filling.read(op.address + 4 * word as u64, 4);
                }
            }
            Op::Vector(op) => {
                let op = &mut **op;
                for (place, addresses) in std::iter::once(&op.addresses).chain(&op.more).enumerate() {
                    for element in 0..usize::from(op.elements) {
                        let Some(row) = op.data.get_mut(place * usize::from(op.elements) + element) else { continue };
                        let offset = element as u64 * u64::from(op.stride);
                        let mut left = op.mask;
                        while let Some(lane) = Mask(left).iter().next() {
                            let address = addresses[lane].wrapping_add(offset);
                            let together =
                                if op.element_bytes == 4 { run(&addresses[..], left, lane, address) } else { 1 };
                            if together > 1 {
                                filling.read_words(address, &mut row.0[lane..lane + together]);
                                left &= !Mask::range(lane, together).0;
                            } else {
                                row.0[lane] = filling.read(address, op.element_bytes.into());
                                left &= left - 1;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Calls `f` with the address, value, size and lane of every accessed element.
    fn each(&self, mut f: impl FnMut(u64, u32, usize, Option<u8>) -> Result<(), Fault>) -> Result<(), Fault> {
        match self {
            Op::Scalar(op) => {
                for word in op.words_in_range() {
                    f(op.address + 4 * word as u64, op.data[word], 4, None)?;
                }
            }
            Op::Vector(op) => {
                let (elements, stride) = (usize::from(op.elements), u64::from(op.stride));
                let places = std::iter::once(&op.addresses).chain(&op.more);
                for (place, addresses) in places.enumerate() {
                    for element in 0..elements {
                        let Some(row) = op.data.get(place * elements + element) else { continue };
                        for lane in lanes(op.mask) {
                            let address = addresses[lane].wrapping_add(element as u64 * stride);
                            f(address, row.0[lane], op.element_bytes.into(), Some(lane as u8))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Mask for the line number of an address.
const OF_LINE: u64 = !(LINE as u64 - 1);

/// The offset of an address in its line.
fn place(address: u64) -> usize {
    (address & !OF_LINE) as usize
}

/// How many lanes from `lane` on, all of them in `mask`, access consecutive words of one line; the first of them is at
/// `address`, which has the offset that all elements have. At least 1.
#[inline(always)]
fn run(addresses: &[u64], mask: u64, lane: usize, address: u64) -> usize {
    let lanes = (mask >> lane).trailing_ones() as usize;
    let words = (LINE - place(address)) / 4;
    let first = addresses[lane];
    let rest = &addresses[lane + 1..][..lanes.min(words).max(1) - 1];
    let follows = |(number, other): &(usize, &u64)| **other == first.wrapping_add(4 * (*number as u64 + 1));
    1 + rest.iter().enumerate().take_while(follows).count()
}

/// The lines of an access, as its elements are added.
struct Gathering<'m> {
    map: &'m AddressMap,
    access: Access,
    /// The region of the last element; most elements of an access lie in one.
    region: Range<u64>,
    parts: Vec<Part>,
    latest: Latest,
}

impl Gathering<'_> {
    #[inline(always)]
    fn add(&mut self, address: u64, word: u32, size: usize, lane: Option<u8>) -> Result<(), Fault> {
        let Range { start, end } = self.region;
        if address < start || address >= end || end - address < size as u64 {
            self.region = self.map.check(self.access, address, size as u64, lane)?;
        }
        let offset = place(address);
        if offset > LINE - size {
            self.add_bytes(address, &word.to_le_bytes()[..size]);
            return Ok(());
        }
        let store = self.access == Access::Store;
        let part = self.part(address & OF_LINE);
        part.mask.0 |= ((1 << size) - 1) << offset;
        if store {
            match size {
                4 => part.bytes[offset..offset + 4].copy_from_slice(&word.to_le_bytes()),
                1 => part.bytes[offset] = word as u8,
                _ => part.bytes[offset..offset + size].copy_from_slice(&word.to_le_bytes()[..size]),
            }
        }
        Ok(())
    }

    /// Adds consecutive words of one line, those of the lanes from `lane` on.
    fn add_words(&mut self, address: u64, words: &[u32], lane: usize) -> Result<(), Fault> {
        let size = 4 * words.len();
        if !self.region.contains(&address) {
            self.region = self.map.check(self.access, address, 4, Some(lane as u8))?;
        }
        if self.region.end - address < size as u64 {
            // Lane by lane, to find the one that is at fault.
            for (number, word) in words.iter().enumerate() {
                self.add(address + 4 * number as u64, *word, 4, Some((lane + number) as u8))?;
            }
            return Ok(());
        }
        let (offset, store) = (place(address), self.access == Access::Store);
        let part = self.part(address & OF_LINE);
        part.mask = part.mask.or(Mask::range(offset, size));
        if store {
            let places = part.bytes[offset..offset + size].as_chunks_mut::<4>().0;
            places.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        }
        Ok(())
    }

    /// Adds an element that may cross a line boundary.
    fn add_bytes(&mut self, address: u64, bytes: &[u8]) {
        let (first, second) = bytes.split_at(bytes.len().min(LINE - place(address)));
        for (at, bytes) in [(address, first), (address + first.len() as u64, second)] {
            if !bytes.is_empty() {
                let (part, place) = (self.part(at & OF_LINE), place(at));
                part.mask = part.mask.or(Mask::range(place, bytes.len()));
                part.bytes[place..place + bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    /// The part of a line; a new one if there is none.
    #[inline(always)]
    fn part(&mut self, line: u64) -> &mut Part {
        if !self.latest.turn_to(&self.parts, line) {
            self.parts.push(Part { line: LineAddr(line), mask: Mask::NONE, bytes: [0; LINE], atomic: None });
            self.latest.number = self.parts.len() - 1;
        }
        &mut self.parts[self.latest.number]
    }
}

/// The lines of an access that have arrived, as their bytes are distributed.
struct Filling<'p> {
    parts: &'p [Part],
    latest: Latest,
}

impl<'p> Filling<'p> {
    #[inline(always)]
    fn read(&mut self, address: u64, size: usize) -> u32 {
        let offset = place(address);
        match size {
            4 if offset <= LINE - 4 => {
                let bytes = self.line(address & OF_LINE)[offset..offset + 4].try_into();
                u32::from_le_bytes(bytes.expect("a word has four bytes"))
            }
            1 => self.line(address & OF_LINE)[offset].into(),
            _ => self.read_bytes(address, size),
        }
    }

    /// Reads consecutive words of one line.
    fn read_words(&mut self, address: u64, words: &mut [u32]) {
        let offset = place(address);
        let bytes = self.line(address & OF_LINE)[offset..offset + 4 * words.len()].as_chunks::<4>().0;
        words.iter_mut().zip(bytes).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    }

    /// Reads an element that may cross a line boundary.
    fn read_bytes(&mut self, address: u64, size: usize) -> u32 {
        let (mut word, place) = ([0; 4], place(address));
        let first = size.min(LINE - place);
        word[..first].copy_from_slice(&self.line(address & OF_LINE)[place..place + first]);
        if first < size {
            let rest = &self.line((address + first as u64) & OF_LINE)[..size - first];
            word[first..size].copy_from_slice(rest);
        }
        u32::from_le_bytes(word)
    }

    #[inline(always)]
    fn line(&mut self, line: u64) -> &'p [u8; LINE] {
        assert!(self.latest.turn_to(self.parts, line), "every line was asked for");
        &self.parts[self.latest.number].bytes
    }
}

/// The lines of an atomic access. Lanes that change the same element, and all lanes of an operation with two operands,
/// are serialised: each has a part of its own, in lane order.
fn atomic_lines(op: &MemOp, atomic: AtomicOp, map: &AddressMap, mut parts: Vec<Part>) -> Result<Vec<Part>, Fault> {
    let size = usize::from(op.element_bytes);
    let words = size / 4;
    let two = two_operands(atomic);
    for lane in lanes(op.mask) {
        let address = op.addresses[lane];
        let (bytes, lane_number) = (size as u64, Some(lane as u8));
        map.check(Access::Atomic, address, bytes, lane_number)?;
        if !address.is_multiple_of(bytes) {
            let rule = "an atomic access is aligned to its size";
            return Err(Fault::Unaligned { access: Access::Atomic, address, bytes, rule, lane: lane_number });
        }
        let value = |first: usize| -> u64 {
            (0..words).fold(0, |all, word| all | u64::from(op.data[first + word].0[lane]) << (32 * word))
        };
        let (line, place) = (LineAddr(address & !(LINE as u64 - 1)), (address % LINE as u64) as usize);
        let element = Mask::range(place, size);
        let fits = |part: &Part| !two && part.line == line && part.mask.and(element).is_empty();
        // Search behind the last part that has this element, so that lanes stay in order.
        let after = parts.iter().rposition(|part| part.line == line && !part.mask.and(element).is_empty());
        let behind = after.map_or(0, |place| place + 1);
        let number = parts[behind..].iter().position(fits).map_or(parts.len(), |found| behind + found);
        if number == parts.len() {
            let second = if two { value(words) } else { 0 };
            let atomic = Some(Atomic { op: atomic, wide: size == 8, second });
            parts.push(Part { line, mask: Mask::NONE, bytes: [0; LINE], atomic });
        }
        parts[number].mask = parts[number].mask.or(element);
        parts[number].bytes[place..place + size].copy_from_slice(&value(0).to_le_bytes()[..size]);
    }
    Ok(parts)
}

fn two_operands(op: AtomicOp) -> bool {
    matches!(op, AtomicOp::CompareSwap | AtomicOp::FloatCompareSwap | AtomicOp::MaskedOr)
}

/// Gives each lane the old value from its part. Lanes take the parts of their element in the order of creation.
fn fill_atomic(op: &mut MemOp, parts: &[Part]) {
    let Kind::Atomic { op: atomic, .. } = op.kind else { return };
    let size = usize::from(op.element_bytes);
    let two = two_operands(atomic);
    let mut taken: Vec<Mask> = vec![Mask::NONE; parts.len()];
    for lane in lanes(op.mask) {
        let address = op.addresses[lane];
        let (line, place) = (LineAddr(address & !(LINE as u64 - 1)), (address % LINE as u64) as usize);
        let element = Mask::range(place, size);
        let free = |(number, part): &(usize, &Part)| {
            part.line == line && part.mask.and(element) == element && taken[*number].and(element).is_empty()
        };
        let (number, part) = parts.iter().enumerate().find(free).expect("every lane has a part");
        taken[number] = taken[number].or(if two { part.mask } else { element });
        for word in 0..size / 4 {
            let bytes = &part.bytes[place + 4 * word..place + 4 * word + 4];
            let value = u32::from_le_bytes(bytes.try_into().expect("a word has 4 bytes"));
            if let Some(row) = op.data.get_mut(word) {
                row.0[lane] = value;
            }
        }
    }
}

fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    Mask(mask).iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::{Bytes, VirtAddr};

    fn everything() -> AddressMap {
        AddressMap::new([(VirtAddr(0), Bytes(1 << 20), true)].into_iter())
    }

    fn vector(kind: Kind, mask: u64, addresses: impl Fn(usize) -> u64) -> Op {
        let mut op = MemOp::empty();
        op.kind = kind;
        op.mask = mask;
        op.addresses = Box::new(std::array::from_fn(addresses));
        op.data = vec![Default::default()];
        Op::Vector(Box::new(op))
    }

    #[test]
    fn consecutive_words_of_a_wavefront_are_four_lines() {
        let lines = vector(Kind::Load, !0, |lane| 256 + 4 * lane as u64).lines(&everything(), Vec::new()).unwrap();
        let addresses: Vec<u64> = lines.iter().map(|part| part.line.0).collect();
        assert_eq!(addresses, [256, 320, 384, 448]);
        assert!(lines.iter().all(|part| part.mask == Mask::first(64)));
    }

    #[test]
    fn of_lanes_that_are_not_put_together_the_first_of_a_line_asks_for_itself() {
        let op = vector(Kind::Load, 0b1011, |lane| 62 * (lane as u64 / 3) + 4 * (lane as u64 % 3));
        let lines = op.lines(&everything(), Vec::new()).unwrap();
        let asks: Vec<_> = op.by_lane(&lines).iter().map(|ask| (lines[ask.part].line.0, ask.mask, ask.lanes)).collect();
        let others = Mask::range(4, 4).or(Mask::range(62, 2));
        assert_eq!(asks, [(0, Mask::first(4), 1), (0, others, 2), (64, Mask::first(2), 1)]);

        let op = vector(Kind::Load, !0, |lane| 4 * lane as u64);
        let lanes: Vec<_> =
            op.by_lane(&op.lines(&everything(), Vec::new()).unwrap()).iter().map(|ask| ask.lanes).collect();
        assert_eq!(lanes, [1, 15, 1, 15, 1, 15, 1, 15]);
    }

    #[test]
    fn lanes_that_sleep_ask_for_nothing() {
        assert_eq!(vector(Kind::Load, 0, |_| 0).lines(&everything(), Vec::new()), Ok(Vec::new()));
        let lines = vector(Kind::Load, 0b100, |lane| 1000 * lane as u64).lines(&everything(), Vec::new()).unwrap();
        assert_eq!(lines.iter().map(|part| (part.line.0, part.mask)).collect::<Vec<_>>(), [(1984, Mask::range(16, 4))]);
    }

    #[test]
    fn a_word_across_two_lines_comes_from_both() {
        let mut op = vector(Kind::Load, 1, |_| 62);
        let mut lines = op.lines(&everything(), Vec::new()).unwrap();
        assert_eq!(lines.iter().map(|part| part.mask).collect::<Vec<_>>(), [Mask::range(62, 2), Mask::first(2)]);
        (lines[0].bytes[62], lines[0].bytes[63]) = (1, 2);
        (lines[1].bytes[0], lines[1].bytes[1]) = (3, 4);
        op.fill(&lines);
        let Op::Vector(op) = op else { unreachable!("it is a vector access") };
        assert_eq!(op.data[0].0[0], 0x0403_0201);
    }

    #[test]
    fn scattered_lanes_get_the_bytes_of_their_lines() {
        // Lanes go back and forth among `lines` lines, in an order that is not that of the first accesses.
        for lines in [1, 2, 5, 7, 40, 64] {
            let address = |lane: usize| (lane * 37 % lines * 192 + lane * 20 % 60) as u64 & !3;
            let mut op = vector(Kind::Load, 0xffff_ffff_0fff_ffff, address);
            let mut parts = op.lines(&everything(), Vec::new()).unwrap();
            let distinct: std::collections::BTreeSet<LineAddr> = parts.iter().map(|part| part.line).collect();
            assert_eq!(distinct.len(), parts.len(), "each line is requested once");
            for part in &mut parts {
                part.bytes = std::array::from_fn(|byte| (part.line.0 / 64) as u8 ^ byte as u8);
            }
            op.fill(&parts);
            let Op::Vector(op) = op else { unreachable!("it is a vector access") };
            for lane in lanes(op.mask) {
                let byte = |at: u64| (at / 64) as u8 ^ (at % 64) as u8;
                let expected = [0, 1, 2, 3].map(|byte_of_word| byte(address(lane) + byte_of_word));
                assert_eq!(op.data[0].0[lane], u32::from_le_bytes(expected), "lane {lane} of {lines} lines");
            }
        }
    }

    #[test]
    fn of_lanes_that_store_to_one_place_the_last_wins() {
        let mut op = vector(Kind::Store, 0b11, |_| 0);
        let Op::Vector(inner) = &mut op else { unreachable!("it is a vector access") };
        (inner.data[0].0[0], inner.data[0].0[1]) = (7, 9);
        let lines = op.lines(&everything(), Vec::new()).unwrap();
        assert_eq!((lines.len(), lines[0].bytes[0]), (1, 9));
    }
}
