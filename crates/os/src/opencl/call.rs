//! One call of an OpenCL function: its arguments and its guest.

use crate::state::state;
use engine::Time;
use mem::{Bytes, VirtAddr};

use super::{
    abi::{ARGUMENTS, Action},
    cl,
    error::{Cl, Code, ensure},
};
use crate::guest::GuestMemory;

/// The maximum length of a string passed by a program.
const LONGEST_TEXT: usize = 64 << 20;

/// The context in which a function executes.
pub struct Call<'a> {
    pub arguments: [u64; ARGUMENTS],
    pub guest: &'a mut dyn GuestMemory,
    pub now: Time,
}

/// The result of a function that did not fail.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The return value, besides the status.
    pub word: u64,
    /// The status, if it is not success although the call has an effect.
    pub status: Option<Code>,
    /// Actions for the library before the call returns.
    pub actions: Vec<Action>,
    /// Events that must complete before the call returns.
    pub until: Vec<u64>,
    /// The status to return if one of these events failed.
    pub failed: Option<Code>,
}

state!(struct Outcome { word, status, actions, until, failed });

impl Outcome {
    pub fn word(word: u64) -> Self {
        Self { word, ..Self::default() }
    }
}

pub const DONE: Cl<Outcome> =
    Ok(Outcome { word: 0, status: None, actions: Vec::new(), until: Vec::new(), failed: None });

impl Call<'_> {
    pub fn word(&self, n: usize) -> u64 {
        self.arguments[n]
    }

    pub fn uint(&self, n: usize) -> u32 {
        self.arguments[n] as u32
    }

    pub fn int(&self, n: usize) -> i32 {
        self.arguments[n] as i32
    }

    /// A `cl_bool` argument.
    pub fn flag(&self, n: usize) -> bool {
        self.uint(n) != 0
    }

    pub fn pointer(&self, n: usize) -> VirtAddr {
        VirtAddr(self.arguments[n])
    }

    /// Reads words such as handles and sizes.
    pub fn words(&mut self, address: VirtAddr, count: usize) -> Cl<Vec<u64>> {
        (0..count as u64).map(|n| Ok(self.guest.read_u64(address + Bytes(8 * n))?)).collect()
    }

    /// Reads three words, an origin or a region, through a pointer argument.
    pub fn triple(&mut self, n: usize) -> Cl<[u64; 3]> {
        let address = self.pointer(n);
        ensure(address.0 != 0, cl::INVALID_VALUE)?;
        let words = self.words(address, 3)?;
        Ok([words[0], words[1], words[2]])
    }

    /// Reads a list given by its length and address; both or neither must be zero.
    pub fn list(&mut self, count: usize, place: usize, invalid: Code) -> Cl<Vec<u64>> {
        let (count, place) = (self.uint(count) as usize, self.pointer(place));
        ensure((count == 0) == (place.0 == 0), invalid)?;
        self.words(place, count).map_err(|_| invalid)
    }

    /// Reads a zero-terminated list of properties, each a name and a value.
    pub fn properties(&mut self, n: usize) -> Cl<Vec<(u64, u64)>> {
        let mut address = self.pointer(n);
        let mut properties = Vec::new();
        while address.0 != 0 && properties.len() < 64 {
            let name = self.guest.read_u64(address)?;
            if name == 0 {
                break;
            }
            properties.push((name, self.guest.read_u64(address + Bytes(8))?));
            address = address + Bytes(16);
        }
        Ok(properties)
    }

    pub fn text(&mut self, address: VirtAddr) -> Cl<String> {
        Ok(String::from_utf8_lossy(&self.guest.read_c_string(address, LONGEST_TEXT)?).into_owned())
    }

    pub fn bytes(&mut self, address: VirtAddr, count: u64) -> Cl<Vec<u8>> {
        ensure(count <= LONGEST_TEXT as u64, cl::OUT_OF_HOST_MEMORY)?;
        let mut bytes = vec![0; count as usize];
        self.guest.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes through a pointer argument, unless it is null.
    pub fn give(&mut self, n: usize, bytes: &[u8]) -> Cl<()> {
        match self.pointer(n) {
            VirtAddr(0) => Ok(()),
            address => Ok(self.guest.write(address, bytes)?),
        }
    }

    pub fn give_uint(&mut self, n: usize, value: u32) -> Cl<()> {
        self.give(n, &value.to_le_bytes())
    }

    pub fn give_word(&mut self, n: usize, value: u64) -> Cl<()> {
        self.give(n, &value.to_le_bytes())
    }

    /// Answers a query whose arguments from `first` on are the buffer's size, the buffer, and the address for the
    /// actual size.
    pub fn info(&mut self, first: usize, value: &[u8]) -> Cl<Outcome> {
        if self.word(first + 1) != 0 {
            ensure(self.word(first) >= value.len() as u64, cl::INVALID_VALUE)?;
            self.give(first + 1, value)?;
        }
        self.give_word(first + 2, value.len() as u64)?;
        DONE
    }

    /// Answers with a list of handles; the arguments from `first` on are the capacity, the buffer, and the address for
    /// the count.
    pub fn give_handles(&mut self, first: usize, handles: &[u64]) -> Cl<Outcome> {
        if self.word(first + 1) != 0 {
            let some = &handles[..handles.len().min(self.uint(first) as usize)];
            self.give(first + 1, &words(some))?;
        }
        self.give_uint(first + 2, handles.len() as u32)?;
        DONE
    }
}

/// Encodes words as bytes.
pub fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub fn word(word: u64) -> Vec<u8> {
    word.to_le_bytes().to_vec()
}

pub fn uint(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

pub fn flag(value: bool) -> Vec<u8> {
    uint(value.into())
}

/// Encodes a null-terminated string.
pub fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}
