//! The interface between the program's library and the driver: one record per call, in the program's memory.
//!
//! The program's side is `sdk/abi.h` and `sdk/functions.h`. Nothing in a record is trusted: the program can write
//! anything there, at any time.

use crate::state::state;
use mem::{Bytes, VirtAddr};

use crate::guest::{Fault, GuestMemory};

/// The version of the interface.
pub const VERSION: u64 = 1;

/// The maximum number of arguments in a record.
pub const ARGUMENTS: usize = 16;

const TOKEN: u64 = 8;
const RESULT: u64 = 16;
const FIRST_ARGUMENT: u64 = 24;
const ACTION: u64 = FIRST_ARGUMENT + 8 * ARGUMENTS as u64;

/// A call record, as written by the program's library.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub address: VirtAddr,
    pub function: u32,
    /// Zero at first; later the number that the driver assigned to the call.
    pub token: u64,
    pub arguments: [u64; ARGUMENTS],
}

impl Record {
    pub fn read(guest: &mut dyn GuestMemory, address: VirtAddr) -> Result<Self, Fault> {
        let mut bytes = [0; ACTION as usize];
        guest.read(address, &mut bytes)?;
        let word = |at: u64| u64::from_le_bytes(std::array::from_fn(|n| bytes[at as usize + n]));
        let arguments = std::array::from_fn(|n| word(FIRST_ARGUMENT + 8 * n as u64));
        Ok(Self { address, function: word(0) as u32, token: word(TOKEN), arguments })
    }

    /// Writes the call's return value.
    pub fn set_result(&self, guest: &mut dyn GuestMemory, result: u64) -> Result<(), Fault> {
        guest.write_u64(self.address + Bytes(RESULT), result)
    }

    pub fn set_token(&self, guest: &mut dyn GuestMemory, token: u64) -> Result<(), Fault> {
        guest.write_u64(self.address + Bytes(TOKEN), token)
    }

    /// Writes the library's next action; returns the answer of the system call.
    /// `copy_width`: bytes that a copy moves at a time.
    pub fn set_action(&self, guest: &mut dyn GuestMemory, action: &Action, copy_width: u64) -> Result<u64, Fault> {
        let (answer, mut words) = action.words();
        if let Action::Copy(_) = action {
            words.push(copy_width);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        guest.write(self.address + Bytes(ACTION), &bytes)?;
        Ok(answer)
    }
}

/// Answers of the system call other than actions.
pub const RETURN: u64 = 0;
pub const REFUSED: u64 = 6;

/// The source and destination of a copy of bytes in rows and slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    pub to: VirtAddr,
    pub from: VirtAddr,
    /// Bytes per row, rows per slice, slices.
    pub size: [u64; 3],
    /// Distance in bytes between rows, and between slices.
    pub to_pitch: [u64; 2],
    pub from_pitch: [u64; 2],
}

state!(struct Rect { to, from, size, to_pitch, from_pitch });

impl Rect {
    /// A contiguous copy.
    pub fn line(to: VirtAddr, from: VirtAddr, bytes: u64) -> Self {
        Self { to, from, size: [bytes, 1, 1], to_pitch: [0, 0], from_pitch: [0, 0] }
    }

    /// The total number of bytes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.size.iter().fold(1, |all: u64, along| all.saturating_mul(*along)))
    }

    /// Its encoding in a record.
    pub(super) fn words(&self) -> [u64; 9] {
        let Self { to, from, size: [bytes, rows, slices], to_pitch, from_pitch } = *self;
        [to.0, from.0, bytes, rows, slices, to_pitch[0], from_pitch[0], to_pitch[1], from_pitch[1]]
    }

    /// The destination and the source range, including the gaps between rows.
    pub fn ranges(&self) -> [(VirtAddr, Bytes); 2] {
        let last = |count: u64, pitch: u64| count.saturating_sub(1).saturating_mul(pitch);
        let range = |start: VirtAddr, pitch: [u64; 2]| {
            let behind = last(self.size[1], pitch[0]).saturating_add(last(self.size[2], pitch[1]));
            (start, Bytes(self.size[0].saturating_add(behind)))
        };
        [range(self.to, self.to_pitch), range(self.from, self.from_pitch)]
    }

    /// The destination and the source address of each row.
    pub fn rows(self) -> impl Iterator<Item = (VirtAddr, VirtAddr)> {
        (0..self.size[2]).flat_map(move |slice| {
            (0..self.size[1]).map(move |row| {
                let along = |base: VirtAddr, pitch: [u64; 2]| {
                    base + Bytes(slice.wrapping_mul(pitch[1]).wrapping_add(row.wrapping_mul(pitch[0])))
                };
                (along(self.to, self.to_pitch), along(self.from, self.from_pitch))
            })
        })
    }
}

/// An action that the library performs in the program's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Copy(Rect),
    /// Write the lines of a range back from the caches.
    Flush {
        address: VirtAddr,
        size: Bytes,
    },
    Call {
        function: VirtAddr,
        arguments: [u64; 4],
    },
    /// Write text from the program's memory to its standard output.
    Print {
        address: VirtAddr,
        size: Bytes,
    },
    /// Start a thread that serves the driver, so that callbacks run while the program's other threads are busy.
    Serve,
}

state!(enum Action { 0 Copy(rect), 1 Flush { address, size }, 2 Call { function, arguments }, 3 Print { address, size }, 4 Serve });

impl Action {
    fn words(&self) -> (u64, Vec<u64>) {
        match *self {
            Self::Copy(rect) => (2, rect.words().to_vec()),
            Self::Flush { address, size } => (3, vec![address.0, size.0]),
            Self::Call { function, arguments } => (4, [[function.0].as_slice(), &arguments].concat()),
            Self::Print { address, size } => (5, vec![address.0, size.0]),
            Self::Serve => (7, vec![]),
        }
    }
}
