//! The simplest memory: one range of bytes.
//!
//! For tests and for trying out instructions; processes use [`Memory`]s with pages.

use crate::{Access, Memory, Size, Stop};
use std::ops::Range;

/// Bytes from a base address on, readable, writable and executable; any other address faults.
pub struct Flat {
    base: u64,
    bytes: Vec<u8>,
    version: u64,
    /// The range of offsets fetched since the version last changed.
    fetched: Range<usize>,
}

impl Flat {
    /// `length` zero bytes from `base` on.
    pub fn new(base: u64, length: usize) -> Self {
        Flat { base, bytes: vec![0; length], version: 1, fetched: 0..0 }
    }

    /// The bytes. After changing code that has run, call [`Flat::code_changed`].
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Makes CPUs decode all code again.
    pub fn code_changed(&mut self) {
        self.version += 1;
        self.fetched = 0..0;
    }

    /// The offset for a store; stops if it would change fetched code.
    #[inline(always)]
    fn place_to_write(&mut self, address: u64, bytes: u64) -> Result<usize, Stop> {
        let place = self.place(address, bytes, Access::Write)?;
        if place < self.fetched.end && self.fetched.start < place + bytes as usize {
            self.code_changed();
            return Err(Stop::CodeWrite);
        }
        Ok(place)
    }

    #[inline(always)]
    fn place(&self, address: u64, bytes: u64, access: Access) -> Result<usize, Stop> {
        let place = address.wrapping_sub(self.base);
        let length = self.bytes.len() as u64;
        if place <= length && length - place >= bytes {
            return Ok(place as usize);
        }
        let address = if place < length { self.base.wrapping_add(length) } else { address };
        Err(Stop::PageFault { address, access, present: false })
    }

    #[inline(always)]
    fn part<const N: usize>(&self, place: usize) -> [u8; N] {
        self.bytes[place..place + N].try_into().expect("as many as asked for")
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, place: usize, bytes: [u8; N]) {
        self.bytes[place..place + N].copy_from_slice(&bytes);
    }
}

impl Memory for Flat {
    #[inline(always)]
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop> {
        let place = self.place(address, size.bytes(), Access::Read)?;
        Ok(match size {
            Size::B1 => self.bytes[place] as u64,
            Size::B2 => u16::from_le_bytes(self.part(place)) as u64,
            Size::B4 => u32::from_le_bytes(self.part(place)) as u64,
            Size::B8 => u64::from_le_bytes(self.part(place)),
        })
    }

    #[inline(always)]
    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop> {
        let place = self.place_to_write(address, size.bytes())?;
        match size {
            Size::B1 => self.bytes[place] = value as u8,
            Size::B2 => self.put(place, (value as u16).to_le_bytes()),
            Size::B4 => self.put(place, (value as u32).to_le_bytes()),
            Size::B8 => self.put(place, value.to_le_bytes()),
        }
        Ok(())
    }

    #[inline(always)]
    fn load128(&mut self, address: u64) -> Result<u128, Stop> {
        let place = self.place(address, 16, Access::Read)?;
        Ok(u128::from_le_bytes(self.part(place)))
    }

    #[inline(always)]
    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop> {
        let place = self.place_to_write(address, 16)?;
        self.put(place, value.to_le_bytes());
        Ok(())
    }

    fn probe_write(&mut self, address: u64, bytes: u64) -> Result<(), Stop> {
        self.place_to_write(address, bytes).map(|_| ())
    }

    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop> {
        let place = self.place(address, 1, Access::Execute)?;
        let count = bytes.len().min(self.bytes.len() - place);
        bytes[..count].copy_from_slice(&self.bytes[place..place + count]);
        let known = if self.fetched.is_empty() { place..place } else { self.fetched.clone() };
        self.fetched = known.start.min(place)..known.end.max(place + count);
        Ok(count)
    }

    #[inline(always)]
    fn code_version(&self) -> u64 {
        self.version
    }
}
