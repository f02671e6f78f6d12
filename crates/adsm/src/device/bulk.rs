//! Bulk operations that need not go through page faults (`004_8a0710c761bcf477.txt`, 4.4).

use super::{Device, access::unlock};
use crate::{
    coherence::{Event, Plan},
    error::{Error, Result},
    memory::Object,
    os::Access,
};
use std::{ops::Range, sync::Arc};

impl Device {
    /// Opens every block that holds one of these bytes, as if the program had touched it.
    ///
    /// With rolling-update the first blocks of a long range may be closed again before the last ones are open: go block by
    /// block where that matters.
    pub fn touch(&self, object: &Arc<Object>, bytes: Range<usize>, access: Access) -> Result<()> {
        if object.blocks.is_empty() || !self.rules.detects() || bytes.is_empty() {
            return Ok(());
        }
        for index in bytes.start / object.block..=(bytes.end - 1) / object.block {
            self.access(object, index, Some(access))?;
        }
        Ok(())
    }

    /// Sets bytes of an object: whole blocks on the device, without a transfer; the rest here.
    pub fn fill(&self, object: &Arc<Object>, bytes: Range<usize>, value: u8) -> Result<()> {
        self.settle(object);
        let mut at = bytes.start;
        while at < bytes.end {
            let index = if object.blocks.is_empty() { 0 } else { at / object.block };
            let end = if object.blocks.is_empty() { bytes.end } else { ((index + 1) * object.block).min(bytes.end) };
            let whole = self.rules.detects()
                && object.bytes(&(index..index + 1)) == (at, end - at)
                && !object.blocks.is_empty();
            if whole {
                self.fill_block(object, index, value)?;
            } else {
                self.touch(object, at..end, Access::Store)?;
                // SAFETY: bytes of the program's view; a fault in between is served like any other.
                unsafe { std::ptr::write_bytes((object.base() + at) as *mut u8, value, end - at) };
            }
            at = end;
        }
        Ok(())
    }

    /// As if a kernel had overwritten the whole block: a call without anything to send.
    fn fill_block(&self, object: &Arc<Object>, index: usize, value: u8) -> Result<()> {
        let block = index..index + 1;
        loop {
            let state = object.blocks[index].lock();
            if self.rules.plan(state, Event::Call) == Plan::Stall {
                object.blocks[index].unlock(state);
                self.land_block(object, index)?;
                continue;
            }
            let (from, to) = (self.rules.protection(state), self.rules.protection(self.rules.invalid));
            if let Err(error) = object.protect(block.clone(), from, to) {
                unlock(object, &block, state);
                return Err(Error::system("closing a shared object")(error));
            }
            let (offset, len) = object.bytes(&block);
            if let Err(error) = self.accel.fill(&object.memory, offset, len, value) {
                let _ = object.protect(block.clone(), to, from);
                unlock(object, &block, state);
                return Err(error.into());
            }
            self.forget(object, &block);
            unlock(object, &block, self.rules.invalid);
            return Ok(());
        }
    }
}
