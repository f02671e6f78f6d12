//! Migration: transfers blocks that a device needs and only another device has.
//!
//! They are copied from device to device where both support that, otherwise through the host's memory. The host's copy
//! stays invalid, because the program has not accessed the blocks. Afterwards both devices hold the same bytes.

use super::{Host, access::lock_alike, call::Handed};
use crate::{accel::DeviceError, error::Result, memory::Object, stats::add, trace::What};
use std::{ops::Range, time::Instant};

/// Size of the pieces that go through the host, so that the uploads overlap with the downloads.
const PIECE: usize = 4 << 20;

impl Host {
    /// Transfers the locked invalid block `index`, and the following ones in the same state, to a device that lacks
    /// them. Returns these blocks, still locked.
    pub(super) fn bring(
        &self,
        object: &Object,
        index: usize,
        device: usize,
        handed: &mut Handed,
    ) -> Result<Range<usize>> {
        let blocks = lock_alike(object, index, object.blocks.len(), self.rules.invalid);
        let begin = Instant::now();
        let mut result = Ok(());
        for from in object.holders[index].beginning_with(object.last()) {
            result = self.carry(object, &blocks, from, device, handed);
            if result.is_ok() {
                break;
            }
        }
        if let Err(error) = result {
            super::access::unlock(object, &blocks, self.rules.invalid);
            return Err(error.into());
        }
        object.handover.mark(&blocks);
        let (_, len) = object.bytes(&blocks);
        self.trace.span(What::Migration, begin, len);
        add(&self.stats.migrations, 1);
        add(&self.stats.migration_bytes, len as u64);
        object.holders[blocks.clone()].iter().for_each(|holders| holders.add(device));
        Ok(blocks)
    }

    /// Copies blocks from one device to another.
    fn carry(
        &self,
        object: &Object,
        blocks: &Range<usize>,
        from: usize,
        to: usize,
        handed: &mut Handed,
    ) -> Result<(), DeviceError> {
        let place = |device: usize| object.place(device).expect("both devices have memory for it");
        let (source, target, (offset, len)) = (place(from), place(to), object.bytes(blocks));
        if let Some(ticket) = self.accels[to].copy_from(&target, &*self.accels[from], &source, offset, len) {
            handed.copied.push(ticket?);
            return Ok(());
        }
        let mut result = Ok(());
        let mut last = None;
        for at in (offset..offset + len).step_by(PIECE) {
            let (piece, alias) = (PIECE.min(offset + len - at), object.alias(at));
            // SAFETY: the alias of locked blocks that the program can't reach; it is not changed until all transfers
            // have completed.
            let moved = unsafe {
                let fetched = self.accels[from].download(&source, at, alias, piece);
                fetched.and_then(|()| self.accels[to].upload(&target, at, alias, piece))
            };
            match moved {
                Ok(ticket) => last = Some(ticket),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        // Uploads complete in order. After a refused one, the earlier ones must not keep reading.
        let landed = last.map_or(Ok(()), |ticket| self.accels[to].wait(ticket));
        self.forget(object, blocks);
        result.and(landed)
    }
}
