//! The initial stack of a program: arguments, environment and the auxiliary vector.

use super::Image;
use crate::memory::{AddressSpace, MapError, PAGE, Place, Rights, USER_END};
use crate::{Fault, GuestMemory};
use mem::VirtAddr;

/// The maximum size of the first thread's stack. It takes up memory only where it has been touched.
pub const STACK_SIZE: u64 = 8 << 20;

/// Entry types of the auxiliary vector, named as in `<elf.h>`.
mod at {
    pub const NULL: u64 = 0;
    pub const PHDR: u64 = 3;
    pub const PHENT: u64 = 4;
    pub const PHNUM: u64 = 5;
    pub const PAGESZ: u64 = 6;
    pub const BASE: u64 = 7;
    pub const FLAGS: u64 = 8;
    pub const ENTRY: u64 = 9;
    pub const UID: u64 = 11;
    pub const EUID: u64 = 12;
    pub const GID: u64 = 13;
    pub const EGID: u64 = 14;
    pub const PLATFORM: u64 = 15;
    pub const HWCAP: u64 = 16;
    pub const CLKTCK: u64 = 17;
    pub const SECURE: u64 = 23;
    pub const RANDOM: u64 = 25;
    pub const HWCAP2: u64 = 26;
    pub const EXECFN: u64 = 31;
}

/// The feature bits of CPUID leaf 1, EDX, up to SSE2: FPU, TSC, CX8, CMOV, MMX, FXSR, SSE, SSE2.
const HWCAP: u64 = 1 | 1 << 4 | 1 << 8 | 1 << 15 | 1 << 23 | 1 << 24 | 1 << 25 | 1 << 26;

/// The inputs to a program's start.
pub struct Start<'a> {
    pub arguments: &'a [Vec<u8>],
    pub environment: &'a [Vec<u8>],
    /// The program's path as the guest knows it.
    pub path: &'a [u8],
    /// For AT_RANDOM, the source of stack-protector values and hash seeds.
    pub random: [u8; 16],
    pub uid: u64,
    pub gid: u64,
}

/// Maps and fills the stack; returns the stack pointer.
pub fn set_up_stack(space: &mut AddressSpace, image: &Image, start: &Start) -> Result<u64, StackError> {
    space.map_at(Place::Exactly(USER_END - STACK_SIZE), STACK_SIZE, Rights::READ_WRITE, "[stack]")?;
    let size: usize = start.arguments.iter().chain(start.environment).map(|text| text.len() + 9).sum();
    // Linux's limit is also a quarter of the stack.
    if size as u64 > STACK_SIZE / 4 {
        return Err(StackError::TooLong);
    }
    let mut top = USER_END - 8;
    let mut push = |space: &mut AddressSpace, bytes: &[u8]| -> Result<u64, Fault> {
        top -= bytes.len() as u64 + 1;
        space.write(VirtAddr(top), bytes)?;
        Ok(top)
    };
    let path = push(space, start.path)?;
    let platform = push(space, b"x86_64")?;
    let random = push(space, &start.random)?;
    let mut strings = |space: &mut AddressSpace, list: &[Vec<u8>]| -> Result<Vec<u64>, Fault> {
        let mut places: Vec<u64> = list.iter().rev().map(|text| push(space, text)).collect::<Result<_, _>>()?;
        places.reverse();
        Ok(places)
    };
    let environment = strings(space, start.environment)?;
    let arguments = strings(space, start.arguments)?;
    let vector = [
        (at::HWCAP, HWCAP),
        (at::PAGESZ, PAGE),
        (at::CLKTCK, 100),
        (at::PHDR, image.headers),
        (at::PHENT, image.header_size),
        (at::PHNUM, image.header_count),
        (at::BASE, image.loader.map_or(0, |loader| loader.base)),
        (at::FLAGS, 0),
        (at::ENTRY, image.entry),
        (at::UID, start.uid),
        (at::EUID, start.uid),
        (at::GID, start.gid),
        (at::EGID, start.gid),
        (at::SECURE, 0),
        (at::RANDOM, random),
        (at::HWCAP2, 0),
        (at::EXECFN, path),
        (at::PLATFORM, platform),
        (at::NULL, 0),
    ];
    let mut words = vec![arguments.len() as u64];
    words.extend(&arguments);
    words.push(0);
    words.extend(&environment);
    words.push(0);
    words.extend(vector.iter().flat_map(|(key, value)| [*key, *value]));
    let pointer = (top - words.len() as u64 * 8) & !15;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    space.write(VirtAddr(pointer), &bytes)?;
    Ok(pointer)
}

/// Why the stack could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    #[error("the arguments and the environment are longer than 2 MiB")]
    TooLong,
    #[error("the stack does not fit into the guest's memory: give it more with --memory")]
    NoRoom,
}

impl From<Fault> for StackError {
    fn from(_: Fault) -> Self {
        StackError::NoRoom
    }
}

impl From<MapError> for StackError {
    fn from(_: MapError) -> Self {
        StackError::NoRoom
    }
}
