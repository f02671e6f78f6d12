//! Bulk operations that bypass page faults (`[gmac 4.4]`).
//!
//! Whole blocks that are set or overwritten are written directly on the device, as if by a kernel, and not fetched
//! first. Partly overwritten blocks are opened like on an access.

use super::{Host, access::unlock, lock};
use crate::{
    accel::{Accelerator, DeviceError, DeviceMemory},
    error::{Error, Result},
    memory::Object,
    os::Access,
};
use std::{ops::Range, ptr, sync::Arc};

impl Host {
    /// Opens every block that contains one of these bytes, as if the program had accessed it.
    ///
    /// With rolling-update the first blocks of a long range may be closed to stores again before the last ones are
    /// open. Process the range in pieces where that matters.
    pub fn touch(&self, object: &Arc<Object>, bytes: Range<usize>, access: Access) -> Result<()> {
        if object.blocks.is_empty() || !self.rules.detects() || bytes.is_empty() {
            self.settle(object);
            return Ok(());
        }
        let (mut index, end) = (bytes.start / object.block, bytes.end.div_ceil(object.block));
        while index < end {
            index = self.access(object, index..end, Some(access))?;
        }
        Ok(())
    }

    /// Sets bytes of an object.
    pub fn fill(&self, object: &Arc<Object>, bytes: Range<usize>, value: u8) -> Result<()> {
        for (block, part) in self.pieces(object, bytes) {
            match block {
                Some(index) => {
                    self.overwrite(object, index, |accel, memory, offset, len| accel.fill(memory, offset, len, value))?;
                }
                None => {
                    self.touch(object, part.clone(), Access::Store)?;
                    // SAFETY: bytes of the program's view; a fault in between is served like any other.
                    unsafe { ptr::write_bytes((object.base() + part.start) as *mut u8, value, part.len()) };
                }
            }
        }
        Ok(())
    }

    /// Copies program memory that is not a shared object into an object.
    ///
    /// # Safety
    /// There must be `bytes.len()` readable bytes at `from`.
    pub unsafe fn write(&self, object: &Arc<Object>, bytes: Range<usize>, from: *const u8) -> Result<()> {
        for (block, part) in self.pieces(object, bytes.clone()) {
            let source = from.wrapping_add(part.start - bytes.start);
            match block {
                Some(index) => self.overwrite(object, index, |accel, memory, offset, len| {
                    // SAFETY: the caller's bytes, which stay unchanged until the upload has completed.
                    let ticket = unsafe { accel.upload(memory, offset, source, len) }?;
                    accel.wait(ticket)
                })?,
                None => {
                    self.touch(object, part.clone(), Access::Store)?;
                    // SAFETY: the caller's bytes, and bytes of the program's view.
                    unsafe { ptr::copy_nonoverlapping(source, (object.base() + part.start) as *mut u8, part.len()) };
                }
            }
        }
        Ok(())
    }

    /// Copies an object into program memory that is not a shared object. Invalid blocks are read from a device and not
    /// kept here.
    ///
    /// # Safety
    /// There must be `bytes.len()` writable bytes at `to`.
    pub unsafe fn read(&self, object: &Arc<Object>, bytes: Range<usize>, to: *mut u8) -> Result<()> {
        self.settle(object);
        let mut at = bytes.start;
        while at < bytes.end {
            let target = to.wrapping_add(at - bytes.start);
            if object.blocks.is_empty() || !self.rules.detects() {
                // SAFETY: the caller's bytes, and an open view.
                unsafe { ptr::copy_nonoverlapping((object.base() + at) as *const u8, target, bytes.len()) };
                return Ok(());
            }
            let index = at / object.block;
            let len = ((index + 1) * object.block).min(bytes.end) - at;
            let state = self.lock_landed(object, index);
            let read = if state == self.rules.invalid {
                let mut result = Ok(());
                for device in object.holders[index].beginning_with(object.last()) {
                    let memory = object.place(device).expect("a device that has a block has memory for it");
                    // SAFETY: the caller's bytes.
                    result = unsafe { self.accels[device].download(&memory, at, target, len) };
                    if result.is_ok() {
                        break;
                    }
                }
                result
            } else {
                // SAFETY: the caller's bytes, and an alias that is valid in every other state.
                unsafe { ptr::copy_nonoverlapping(object.alias(at), target, len) };
                Ok(())
            };
            object.blocks[index].unlock(state);
            read?;
            at += len;
        }
        Ok(())
    }

    /// Splits a range into whole blocks, with their numbers, and parts of blocks.
    fn pieces(&self, object: &Arc<Object>, bytes: Range<usize>) -> Vec<(Option<usize>, Range<usize>)> {
        self.settle(object);
        if object.blocks.is_empty() || !self.rules.detects() {
            return vec![(None, bytes)];
        }
        let (first, last) = (bytes.start / object.block, bytes.end.div_ceil(object.block));
        (first..last)
            .map(|index| {
                let (offset, len) = object.bytes(&(index..index + 1));
                let part = bytes.start.max(offset)..bytes.end.min(offset + len);
                let whole = part == (offset..offset + len);
                (whole.then_some(index), part)
            })
            .filter(|(_, part)| !part.is_empty())
            .collect()
    }

    /// Overwrites a whole block on the device that used the object last, as a kernel would: a call without anything to
    /// send. A failure changes nothing here.
    fn overwrite(
        &self,
        object: &Arc<Object>,
        index: usize,
        write: impl FnOnce(&dyn Accelerator, &DeviceMemory, usize, usize) -> Result<(), DeviceError>,
    ) -> Result<()> {
        let block = index..index + 1;
        let device = object.last();
        let memory = object.place(device).expect("a device that used an object has memory for it");
        let state = self.lock_landed(object, index);
        let (from, to) = (self.rules.protection(state), self.rules.protection(self.rules.invalid));
        if let Err(error) = object.protect(block.clone(), from, to) {
            unlock(object, &block, state);
            return Err(Error::system("closing a shared object")(error));
        }
        let (offset, len) = object.bytes(&block);
        if let Err(error) = write(&*self.accels[device], &memory, offset, len) {
            let _ = object.protect(block.clone(), to, from);
            unlock(object, &block, state);
            return Err(error.into());
        }
        self.forget(object, &block);
        object.handover.mark(&block);
        object.holders[index].only(device);
        unlock(object, &block, self.rules.invalid);
        if object.blocks.len() == 1 {
            lock(&self.dirty).forget(object);
        }
        Ok(())
    }
}
