//! `memcpy`: devices have memory of their own, and the host gets copies of it.

use super::{
    super::{
        abi::{Action, Rect},
        command::Step,
        error::Cl,
    },
    Brought, MapAccess, Mapping, MemoryPolicy, Part, Placement,
};
use crate::{
    guest::GuestMemory,
    state::{Read, Reader, State},
};
use mem::{Bytes, VirtAddr};
use std::collections::BTreeMap;

/// The `memcpy` policy.
#[derive(Default)]
pub struct Memcpy {
    /// Shared virtual memory that is mapped for writing, by address.
    written: BTreeMap<VirtAddr, Bytes>,
    /// Whether shared virtual memory has a frame on each side, so that its bytes must be copied.
    apart: bool,
}

impl Memcpy {
    pub fn new(apart: bool) -> Self {
        Self { apart, ..Self::default() }
    }
}

impl MemoryPolicy for Memcpy {
    fn save(&self, to: &mut Vec<u8>) {
        self.written.save(to);
    }

    fn load(&mut self, from: &mut Reader) -> Read<()> {
        self.written = State::load(from)?;
        Ok(())
    }

    fn name(&self) -> &'static str {
        "memcpy"
    }

    fn allocate(&mut self, guest: &mut dyn GuestMemory, size: Bytes, brought: Brought) -> Cl<(Placement, Vec<Action>)> {
        let device = guest.map_anonymous(size)?;
        guest.populate(device, size);
        let copy = |from| vec![Action::Copy(Rect::line(device, from, size.0))];
        let (host, actions) = match brought {
            Brought::Nothing => (None, vec![]),
            Brought::Copied(from) => (None, copy(from)),
            Brought::Used(from) => (Some(from), copy(from)),
        };
        Ok((Placement { size, device, owned: true, host }, actions))
    }

    fn read(&mut self, rect: Rect) -> Vec<Step> {
        vec![Step::Transfer(rect.bytes()), Step::Read(rect)]
    }

    fn write(&mut self, rect: Rect) -> Vec<Step> {
        vec![Step::Write(rect), Step::Transfer(rect.bytes())]
    }

    /// Mapping for reading transfers the bytes to the host; unmapping after writing transfers them back.
    fn svm_map(&mut self, address: VirtAddr, size: Bytes, access: MapAccess) -> Vec<Step> {
        if access.write {
            self.written.insert(address, size);
        }
        match access.fetch {
            true if self.apart => self.read(Rect::line(address, address, size.0)),
            true => vec![Step::Transfer(size)],
            false => Vec::new(),
        }
    }

    fn svm_unmap(&mut self, address: VirtAddr, _: Bytes) -> Vec<Step> {
        match self.written.remove(&address) {
            Some(size) if self.apart => self.write(Rect::line(address, address, size.0)),
            size => size.map(Step::Transfer).into_iter().collect(),
        }
    }

    fn map(
        &mut self,
        guest: &mut dyn GuestMemory,
        placement: &Placement,
        part: Part,
        access: MapAccess,
    ) -> Cl<(Mapping, Vec<Step>)> {
        let (pointer, pitch, staging) = match placement.host {
            Some(host) => (host + Bytes(part.host.offset), part.host.pitch, None),
            None => {
                let size = Bytes(part.span());
                (guest.map_anonymous(size)?, part.device.pitch, Some(size))
            }
        };
        let rect = part.rect(pointer, pitch, placement.device + Bytes(part.device.offset));
        let steps = if access.fetch { self.read(rect) } else { Vec::new() };
        Ok((Mapping { pointer, rect, written: access.write, staging }, steps))
    }

    fn unmap(&mut self, mapping: &Mapping) -> Vec<Step> {
        let mut steps = Vec::new();
        if mapping.written {
            let Rect { to, from, to_pitch, from_pitch, size } = mapping.rect;
            steps = self.write(Rect { to: from, from: to, to_pitch: from_pitch, from_pitch: to_pitch, size });
        }
        steps.extend(mapping.staging.map(|size| Step::Unmap(mapping.pointer, size)));
        steps
    }
}
