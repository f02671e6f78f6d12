//! The local data share (LDS): memory shared by the wavefronts of one workgroup.
//!
//! It needs no coherence protocol, so instructions access it directly. Reads beyond its end return 0 and writes there
//! have no effect, as in hardware. A model of bank conflicts sets [`Lds::watched`] and finds the latest access in
//! [`Lds::last`].

use super::simd::Row;

/// The last access to the LDS, if accesses are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LdsAccess {
    /// Participating lanes.
    pub mask: u64,
    /// Byte address of each participating lane.
    pub addresses: Row,
    /// For instructions with two addresses per lane: the second, relative to the first.
    pub second: Option<i32>,
    /// Bytes per lane at each address.
    pub bytes: u8,
    pub kind: LdsKind,
    /// The stored values, if they are recorded: a row for each word at each address.
    pub stored: Vec<Row>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LdsKind {
    #[default]
    Read,
    Write,
    Atomic,
    /// Data moved between lanes, without an access to memory.
    Permute,
}

/// The LDS of a workgroup.
#[derive(Clone, Debug, Default)]
pub struct Lds {
    words: Vec<u32>,
    /// Whether accesses are recorded in `last`, at a small cost.
    pub watched: bool,
    /// Whether stored values are also recorded.
    pub recorded: bool,
    pub last: LdsAccess,
}

impl Lds {
    /// A zeroed LDS of at least `bytes` bytes.
    pub fn new(bytes: u32) -> Self {
        Self { words: vec![0; bytes.div_ceil(4) as usize], ..Self::default() }
    }

    /// Clears it and sets its size.
    pub fn reset(&mut self, bytes: u32) {
        self.words.clear();
        self.words.resize(bytes.div_ceil(4) as usize, 0);
    }

    /// Size in bytes.
    pub fn len(&self) -> u32 {
        4 * self.words.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The word at a byte address; the low two bits are ignored.
    #[inline(always)]
    pub fn word(&self, address: u32) -> u32 {
        self.words.get(address as usize / 4).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub fn set_word(&mut self, address: u32, value: u32) {
        if let Some(word) = self.words.get_mut(address as usize / 4) {
            *word = value;
        }
    }

    /// One or two bytes at an aligned address.
    #[inline(always)]
    pub fn narrow(&self, address: u32, bytes: u32) -> u32 {
        self.word(address) >> (8 * (address & 3)) & (u32::MAX >> (32 - 8 * bytes))
    }

    #[inline(always)]
    pub fn set_narrow(&mut self, address: u32, bytes: u32, value: u32) {
        let (shift, ones) = (8 * (address & 3), u32::MAX >> (32 - 8 * bytes));
        let old = self.word(address);
        self.set_word(address, old & !(ones << shift) | (value & ones) << shift);
    }

    #[inline(always)]
    pub fn double(&self, address: u32) -> u64 {
        u64::from(self.word(address)) | u64::from(self.word(address.wrapping_add(4))) << 32
    }

    #[inline(always)]
    pub fn set_double(&mut self, address: u32, value: u64) {
        self.set_word(address, value as u32);
        self.set_word(address.wrapping_add(4), (value >> 32) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_shorts_share_words() {
        let mut lds = Lds::new(8);
        lds.set_word(4, 0x1122_3344);
        lds.set_narrow(5, 1, 0xabcd);
        lds.set_narrow(6, 2, 0x5566_7788);
        assert_eq!(lds.word(4), 0x7788_cd44);
        assert_eq!((lds.narrow(4, 1), lds.narrow(6, 2)), (0x44, 0x7788));
    }

    #[test]
    fn beyond_the_end_reads_are_zero_and_writes_are_dropped() {
        let mut lds = Lds::new(8);
        lds.set_word(8, 1);
        assert_eq!(lds.word(8), 0);
        lds.set_double(4, !0);
        assert_eq!(lds.double(4), 0xffff_ffff);
    }
}
