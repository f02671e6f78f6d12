//! The bytes of a line with a mask that says which of them are valid.
//!
//! Write-through caches, byte-masked write-back and false sharing all depend on single bytes, so data never travels
//! without a mask. A [`Block`] holds at most 64 bytes; a larger block (of 4 KB, with sub-blocks) consists of several.

/// A set of bytes of a line: bit n stands for byte n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mask(pub u64);

impl Mask {
    pub const NONE: Self = Self(0);

    /// The first `count` bytes.
    pub const fn first(count: usize) -> Self {
        Self(if count >= 64 { u64::MAX } else { (1 << count) - 1 })
    }

    /// One byte.
    pub const fn byte(number: usize) -> Self {
        Self(1 << number)
    }

    pub const fn has(self, byte: usize) -> bool {
        self.0 >> byte & 1 == 1
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// `count` bytes from `start` on.
    pub const fn range(start: usize, count: usize) -> Self {
        Self(Self::first(count).0 << start)
    }

    /// Number of bytes in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The contiguous runs of bytes, in order: the start and the length of each.
    pub fn pieces(self) -> impl Iterator<Item = (usize, usize)> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let start = left.trailing_zeros() as usize;
            let count = left.checked_shr(start as u32)?.trailing_ones() as usize;
            left &= !Self::range(start, count).0;
            Some((start, count))
        })
    }

    /// The byte numbers, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> + Clone {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (next < 64).then_some(next)
        })
    }
}

/// `N` bytes, of which those in the mask are valid. The others are zero, so that equal blocks compare as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block<const N: usize> {
    bytes: [u8; N],
    mask: Mask,
}

impl<const N: usize> Block<N> {
    pub const EMPTY: Self = Self { bytes: [0; N], mask: Mask::NONE };

    /// A block with all `N` bytes valid.
    pub const fn full(bytes: [u8; N]) -> Self {
        assert!(N <= 64, "a mask has 64 bits");
        Self { bytes, mask: Mask::first(N) }
    }

    /// A block with one valid byte.
    pub fn one(byte: usize, value: u8) -> Self {
        let mut block = Self::EMPTY;
        block.set(byte, value);
        block
    }

    /// A block with the bytes `some`, from `start` on.
    pub fn at(start: usize, some: &[u8]) -> Self {
        let mut bytes = [0; N];
        bytes[start..start + some.len()].copy_from_slice(some);
        Self { bytes, mask: Mask::range(start, some.len()) }
    }

    /// Zeros in `mask`, for uses where only the mask matters.
    pub fn zeros(mask: Mask) -> Self {
        Self { bytes: [0; N], mask: mask.and(Mask::first(N)) }
    }

    /// The bytes that are in `mask`.
    pub fn of(mut bytes: [u8; N], mask: Mask) -> Self {
        let mask = mask.and(Mask::first(N));
        if mask != Mask::first(N) {
            select(&mut bytes, &[0; N], mask);
        }
        Self { bytes, mask }
    }

    /// All bytes; invalid ones are zero.
    pub const fn bytes(&self) -> &[u8; N] {
        &self.bytes
    }

    /// The valid bytes.
    pub const fn mask(&self) -> Mask {
        self.mask
    }

    pub fn is_full(&self) -> bool {
        self.mask == Mask::first(N)
    }

    pub fn get(&self, byte: usize) -> Option<u8> {
        self.mask.has(byte).then(|| self.bytes[byte])
    }

    pub fn set(&mut self, byte: usize, value: u8) {
        self.bytes[byte] = value;
        self.mask = self.mask.or(Mask::byte(byte));
    }

    /// Applies `value` to one byte, if it is valid.
    #[must_use]
    pub fn map(mut self, byte: usize, value: impl Fn(u8) -> u8) -> Self {
        if self.mask.has(byte) {
            self.bytes[byte] = value(self.bytes[byte]);
        }
        self
    }

    /// Overwrites with every valid byte of `newer`.
    pub fn write(&mut self, newer: &Self) {
        if newer.is_full() {
            *self = *newer;
            return;
        }
        let older = std::mem::replace(&mut self.bytes, newer.bytes);
        select(&mut self.bytes, &older, newer.mask);
        self.mask = self.mask.or(newer.mask);
    }

    /// Adds the valid bytes of `older` that are not valid here.
    pub fn fill(&mut self, older: &Self) {
        self.write(&older.only(older.mask.without(self.mask)));
    }

    /// Keeps only the bytes that are also in `mask`.
    pub fn only(&self, mask: Mask) -> Self {
        Self::of(self.bytes, self.mask.and(mask))
    }
}

/// Keeps the `bytes` that are in `mask` and takes the others from `rest`, eight at a time.
fn select<const N: usize>(bytes: &mut [u8; N], rest: &[u8; N], mask: Mask) {
    let (chosen, tail) = bytes.as_chunks_mut::<8>();
    let (others, other_tail) = rest.as_chunks::<8>();
    for (number, (chosen, other)) in chosen.iter_mut().zip(others).enumerate() {
        // Most accesses name all bytes of a word, or none.
        match (mask.0 >> (8 * number)) as u8 {
            0 => *chosen = *other,
            0xff => {}
            some => {
                let spread = spread(some);
                let word = u64::from_le_bytes(*chosen) & spread | u64::from_le_bytes(*other) & !spread;
                *chosen = word.to_le_bytes();
            }
        }
    }
    let first = N - tail.len();
    for (number, (byte, other)) in tail.iter_mut().zip(other_tail).enumerate() {
        *byte = if mask.has(first + number) { *byte } else { *other };
    }
}

/// Expands each set bit to a byte of ones.
#[inline]
const fn spread(bits: u8) -> u64 {
    // Multiplying copies all bits into each byte. Masking leaves byte n only bit n. Adding 0x7f then sets its top bit
    // if bit n was set.
    let own = (bits as u64).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    let top = (own.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) | own) & 0x8080_8080_8080_8080;
    (top >> 7).wrapping_mul(0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_does_not_overwrite_newer_bytes() {
        let mut line = Block::<4>::one(2, 9);
        line.fill(&Block::full([1, 2, 3, 4]));
        assert_eq!(line, Block::full([1, 2, 9, 4]));
    }

    #[test]
    fn a_write_takes_only_the_bytes_it_names() {
        let mut line = Block::full([1, 2, 3, 4]);
        line.write(&Block::one(0, 7));
        assert_eq!(line, Block::full([7, 2, 3, 4]));
        assert_eq!(line.only(Mask::byte(0)), Block::one(0, 7));
    }

    #[test]
    fn any_bytes_of_a_line_can_be_chosen() {
        let bytes: [u8; 64] = std::array::from_fn(|n| n as u8 + 1);
        for mask in [0, 1, 0x80, 0xff00, 0x8040_2010_0804_0201, 0x5555_aaaa_0f0f_f0f0, u64::MAX - 1].map(Mask) {
            let block = Block::of(bytes, mask);
            let expected: [u8; 64] = std::array::from_fn(|n| if mask.has(n) { n as u8 + 1 } else { 0 });
            assert_eq!(*block.bytes(), expected, "{mask:?}");
            let mut older = Block::full([99; 64]);
            older.write(&block);
            assert_eq!(*older.bytes(), expected.map(|byte| if byte == 0 { 99 } else { byte }), "{mask:?}");
        }
    }

    #[test]
    fn pieces_of_a_mask_are_its_bytes_without_gaps() {
        let pieces = |mask: u64| Mask(mask).pieces().collect::<Vec<_>>();
        assert_eq!(pieces(0b1100_1110), [(1, 3), (6, 2)]);
        assert_eq!((pieces(0), pieces(u64::MAX), pieces(1 << 63)), (vec![], vec![(0, 64)], vec![(63, 1)]));
        assert_eq!(Block::<8>::at(2, &[7, 8]), Block::of([9, 9, 7, 8, 9, 9, 9, 9], Mask(0b1100)));
    }

    #[test]
    fn a_block_of_64_bytes_has_a_full_mask() {
        assert!(Block::full([0; 64]).is_full());
        assert_eq!(Mask::first(64), Mask(u64::MAX));
    }
}
