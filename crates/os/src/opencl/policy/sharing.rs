//! Policies with one address for host and devices: `shared`, `zero-copy`, and those that move pages.

use super::{
    super::{
        abi::{Action, Rect},
        command::Step,
        error::Cl,
    },
    Brought, MapAccess, Mapping, MemoryPolicy, Part, Placement,
};
use crate::guest::GuestMemory;
use mem::Bytes;

/// Host and device use the same bytes.
pub struct Shared {
    pub name: &'static str,
    /// Whether memory passed by the program is used directly.
    pub uses: bool,
}

impl MemoryPolicy for Shared {
    fn name(&self) -> &'static str {
        self.name
    }

    fn allocate(&mut self, guest: &mut dyn GuestMemory, size: Bytes, brought: Brought) -> Cl<(Placement, Vec<Action>)> {
        if let Brought::Used(host) = brought
            && self.uses
        {
            return Ok((Placement { size, device: host, owned: false, host: Some(host) }, vec![]));
        }
        let device = guest.map_anonymous(size)?;
        guest.populate(device, size);
        let host = if let Brought::Used(host) = brought { Some(host) } else { None };
        let actions = match brought {
            Brought::Copied(from) | Brought::Used(from) => vec![Action::Copy(Rect::line(device, from, size.0))],
            Brought::Nothing => vec![],
        };
        Ok((Placement { size, device, owned: true, host }, actions))
    }

    fn map(
        &mut self,
        _: &mut dyn GuestMemory,
        placement: &Placement,
        part: Part,
        access: MapAccess,
    ) -> Cl<(Mapping, Vec<Step>)> {
        let pointer = placement.device + Bytes(part.device.offset);
        let rect = part.rect(pointer, part.device.pitch, pointer);
        Ok((Mapping { pointer, rect, written: access.write, staging: None }, Vec::new()))
    }

    fn unmap(&mut self, _: &Mapping) -> Vec<Step> {
        Vec::new()
    }
}
