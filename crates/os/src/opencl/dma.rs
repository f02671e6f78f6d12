//! Transfers by an engine of the machine: the driver writes down what is to be moved, and hears when that is done.
//!
//! The program's thread pays for the call and for the descriptor, and goes on. On machines without such an engine
//! [`command`](super::command) says who moves bytes.

use super::{
    abi::Rect,
    driver::Driver,
    gpu::{Ended, Transfer},
};
use crate::guest::GuestMemory;
use mem::{Bytes, VirtAddr};

impl Driver {
    /// Has the engine move bytes for a command.
    pub(super) fn start_transfer(
        &mut self,
        event: u64,
        rows: Rect,
        pattern: Option<&[u8]>,
        guest: &mut dyn GuestMemory,
    ) -> Result<(), String> {
        let words = rows.words();
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(pattern.unwrap_or_default());
        let place = self.descriptors.put_bytes(guest, &bytes).map_err(|code| code.to_string())?;
        let descriptor = (place, Bytes(bytes.len() as u64));
        let transfer = Transfer { rows, pattern: pattern.map(<[u8]>::to_vec), descriptor };
        match self.gpus.transfer(event, transfer, guest) {
            Ok(()) => _ = self.transfers.insert(event, (place, rows)),
            Err(fault) => {
                self.descriptors.take(place);
                return Err(fault.to_string());
            }
        }
        Ok(())
    }

    /// The engine has done what a command asked of it.
    pub(super) fn end_transfer(&mut self, ended: Ended, (descriptor, rows): (VirtAddr, Rect)) {
        self.touched.extend(rows.ranges());
        let Ended { launch: event, start, end, .. } = ended;
        self.descriptors.take(descriptor);
        if let Ok(event) = self.events.held_mut(event) {
            event.started(start);
        }
        self.ready.push_back((event, end));
    }
}
