//! Handle tables: the handles that programs use for objects, and the lifetime of objects.
//!
//! A handle is a number that is never reused and is not the address of anything, so that a stale or invented one is
//! detected. An object lives while the program has references to it or another object holds it.

use std::collections::BTreeMap;

use super::error::{Cl, Code};
use crate::state::{Read, Reader, State};

/// The handles of kind k are `FIRST + (k << 36) + 16 n`.
const FIRST: u64 = 0x0c10_0000_0000_0000;

struct Entry<T> {
    value: T,
    /// The program's references.
    references: u32,
    /// The number of other objects that hold this one.
    holds: u32,
}

/// All objects of one kind.
pub struct Table<T> {
    next: u64,
    /// The error code for an invalid handle.
    invalid: Code,
    entries: BTreeMap<u64, Entry<T>>,
}

impl<T> Table<T> {
    pub fn new(kind: u64, invalid: Code) -> Self {
        Self { next: FIRST + (kind << 36), invalid, entries: BTreeMap::new() }
    }

    /// Adds an object with one reference; returns its handle.
    pub fn insert(&mut self, value: T) -> u64 {
        self.next += 16;
        self.entries.insert(self.next, Entry { value, references: 1, holds: 0 });
        self.next
    }

    fn entry(&mut self, handle: u64) -> Cl<&mut Entry<T>> {
        self.entries.get_mut(&handle).filter(|entry| entry.references > 0).ok_or(self.invalid)
    }

    /// The object of a handle passed by the program.
    pub fn get(&self, handle: u64) -> Cl<&T> {
        let entry = self.entries.get(&handle).filter(|entry| entry.references > 0);
        entry.map(|entry| &entry.value).ok_or(self.invalid)
    }

    pub fn get_mut(&mut self, handle: u64) -> Cl<&mut T> {
        self.entry(handle).map(|entry| &mut entry.value)
    }

    /// An object that is held internally, whether or not the program still has references to it.
    pub fn held(&self, handle: u64) -> Cl<&T> {
        self.entries.get(&handle).map(|entry| &entry.value).ok_or(self.invalid)
    }

    pub fn held_mut(&mut self, handle: u64) -> Cl<&mut T> {
        self.entries.get_mut(&handle).map(|entry| &mut entry.value).ok_or(self.invalid)
    }

    /// All live objects, in order of creation.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.entries.values().map(|entry| &entry.value)
    }

    pub fn retain(&mut self, handle: u64) -> Cl<()> {
        self.entry(handle)?.references += 1;
        Ok(())
    }

    /// Drops one of the program's references; returns the object if it is no longer in use.
    pub fn release(&mut self, handle: u64) -> Cl<Option<T>> {
        self.entry(handle)?.references -= 1;
        Ok(self.remove_unused(handle))
    }

    pub fn hold(&mut self, handle: u64) {
        if let Some(entry) = self.entries.get_mut(&handle) {
            entry.holds += 1;
        }
    }

    /// Drops an internal reference; returns the object if it is no longer in use.
    pub fn unhold(&mut self, handle: u64) -> Option<T> {
        self.entries.get_mut(&handle)?.holds -= 1;
        self.remove_unused(handle)
    }

    pub fn references(&self, handle: u64) -> Cl<u32> {
        let entry = self.entries.get(&handle).filter(|entry| entry.references > 0).ok_or(self.invalid)?;
        Ok(entry.references)
    }

    /// Saves all objects with `save`.
    pub fn save_with(&self, to: &mut Vec<u8>, save: impl Fn(&T, &mut Vec<u8>)) {
        (self.next, self.entries.len()).save(to);
        for (handle, Entry { value, references, holds }) in &self.entries {
            handle.save(to);
            (*references, *holds).save(to);
            save(value, to);
        }
    }

    /// Replaces all objects by saved ones.
    pub fn load_with(&mut self, from: &mut Reader, mut load: impl FnMut(&mut Reader) -> Read<T>) -> Read<()> {
        let count: usize;
        (self.next, count) = State::load(from)?;
        self.entries.clear();
        for _ in 0..count {
            let (handle, (references, holds)) = State::load(from)?;
            self.entries.insert(handle, Entry { value: load(from)?, references, holds });
        }
        Ok(())
    }

    fn remove_unused(&mut self, handle: u64) -> Option<T> {
        let unused = self.entries.get(&handle).is_some_and(|entry| entry.references == 0 && entry.holds == 0);
        unused.then(|| self.entries.remove(&handle))?.map(|entry| entry.value)
    }
}

impl<T: State> Table<T> {
    pub fn save(&self, to: &mut Vec<u8>) {
        self.save_with(to, T::save);
    }

    pub fn load(&mut self, from: &mut Reader) -> Read<()> {
        self.load_with(from, T::load)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::cl, *};

    #[test]
    fn an_object_lives_until_its_last_reference_and_hold_are_gone() {
        let mut table = Table::new(1, cl::INVALID_CONTEXT);
        let handle = table.insert("object");
        table.retain(handle).unwrap();
        table.hold(handle);
        assert_eq!(table.release(handle), Ok(None));
        assert_eq!(table.release(handle), Ok(None), "held");
        assert_eq!(table.get(handle), Err(cl::INVALID_CONTEXT), "the program has no reference");
        assert_eq!(table.held(handle), Ok(&"object"));
        assert_eq!(table.unhold(handle), Some("object"));
        assert_ne!(table.insert("other"), handle, "handles are not given again");
        assert_eq!(table.release(handle), Err(cl::INVALID_CONTEXT));
    }
}
