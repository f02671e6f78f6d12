//! Memory policies: where buffers lie, and what map, unmap, read, write and launch do to their bytes.
//!
//! A policy belongs to the driver, not to the program: the same program runs under each of them. Two are here. `memcpy`
//! keeps buffers in memory of the device; what the host sees of them is copied, as with a GPU on its own board.
//! `shared` gives host and device one and the same bytes. Shared virtual memory (`clSVMAlloc`) is one piece of memory
//! under both: its addresses mean the same everywhere.

use std::collections::BTreeMap;

use mem::{Bytes, VirtAddr};

use super::{
    abi::{Action, Rect},
    command::Step,
    error::Cl,
};
use crate::guest::GuestMemory;

/// Memory that the program brings to a new buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    Nothing,
    /// Its bytes are copied (`CL_MEM_COPY_HOST_PTR`).
    Copied(VirtAddr),
    /// It is to be the buffer's memory on the host's side (`CL_MEM_USE_HOST_PTR`).
    Used(VirtAddr),
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    pub size: Bytes,
    /// What kernels access.
    pub device: VirtAddr,
    /// Whether the driver mapped that memory.
    pub owned: bool,
    /// The program's own memory for it.
    pub host: Option<VirtAddr>,
}

/// A part of a buffer that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// What the program got.
    pub pointer: VirtAddr,
    /// The bytes in the buffer's memory and at `pointer`: `from` there, `to` here.
    pub rect: Rect,
    pub written: bool,
    /// Memory that the driver mapped for it.
    pub staging: Option<Bytes>,
}

/// How a program wants to access what it maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapAccess {
    /// The bytes must be there, to be read or to be kept where they are not written.
    pub fetch: bool,
    pub write: bool,
}

pub trait MemoryPolicy {
    fn name(&self) -> &'static str;

    /// Finds a place for a buffer, and says how its first bytes get there.
    fn allocate(&mut self, guest: &mut dyn GuestMemory, size: Bytes, brought: Brought) -> Cl<(Placement, Vec<Action>)>;

    fn free(&mut self, guest: &mut dyn GuestMemory, placement: &Placement) {
        if placement.owned {
            guest.unmap(placement.device, placement.size);
        }
    }

    /// Maps a part: what the program gets, and what is to be done before.
    fn map(
        &mut self,
        guest: &mut dyn GuestMemory,
        placement: &Placement,
        part: Part,
        access: MapAccess,
    ) -> Cl<(Mapping, Vec<Step>)>;

    fn unmap(&mut self, mapping: &Mapping) -> Vec<Step>;

    /// Copies from a buffer to the program.
    fn read(&mut self, rect: Rect) -> Vec<Step> {
        vec![Step::Guest(Action::Copy(rect))]
    }

    /// Copies from the program to a buffer.
    fn write(&mut self, rect: Rect) -> Vec<Step> {
        vec![Step::Guest(Action::Copy(rect))]
    }

    /// What is to be done before a kernel runs that uses these buffers, and after it.
    fn launch(&mut self, buffers: &[Placement]) -> (Vec<Step>, Vec<Step>) {
        let _ = buffers;
        (Vec::new(), Vec::new())
    }

    /// Shared virtual memory is mapped for the host, or given back to the device.
    fn svm_map(&mut self, address: VirtAddr, size: Bytes, access: MapAccess) -> Vec<Step> {
        let _ = (address, size, access);
        Vec::new()
    }

    fn svm_unmap(&mut self, address: VirtAddr, size: Bytes) -> Vec<Step> {
        let _ = (address, size);
        Vec::new()
    }
}

/// Where bytes in rows and slices begin in a memory, and the distances between rows and between slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub offset: u64,
    pub pitch: [u64; 2],
}

/// A part of a buffer or an image that is to be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes of a row, rows of a slice, slices.
    pub size: [u64; 3],
    /// In the memory that kernels access.
    pub device: Layout,
    /// In the program's own memory for it, if there is such.
    pub host: Layout,
}

impl Part {
    /// Bytes in one piece.
    pub fn line(offset: u64, bytes: u64) -> Self {
        let layout = Layout { offset, pitch: [bytes, bytes] };
        Self { size: [bytes, 1, 1], device: layout, host: layout }
    }

    /// From the first byte to the last in the device's memory.
    fn span(&self) -> u64 {
        let [row, slice] = self.device.pitch;
        slice * (self.size[2] - 1) + row * (self.size[1] - 1) + self.size[0]
    }

    fn rect(&self, to: VirtAddr, to_pitch: [u64; 2], from: VirtAddr) -> Rect {
        Rect { to, from, size: self.size, to_pitch, from_pitch: self.device.pitch }
    }
}

/// Which policy the driver follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyKind {
    #[default]
    Memcpy,
    Shared,
}

impl PolicyKind {
    pub fn make(self) -> Box<dyn MemoryPolicy> {
        match self {
            Self::Memcpy => Box::new(Memcpy::default()),
            Self::Shared => Box::new(Shared),
        }
    }
}

/// The device has memory of its own.
#[derive(Default)]
struct Memcpy {
    /// Shared virtual memory that is mapped to be written, by address.
    written: BTreeMap<VirtAddr, Bytes>,
}

impl MemoryPolicy for Memcpy {
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
        vec![Step::Transfer(rect.bytes()), Step::Guest(Action::Copy(rect))]
    }

    fn write(&mut self, rect: Rect) -> Vec<Step> {
        vec![Step::Guest(Action::Copy(rect)), Step::Transfer(rect.bytes())]
    }

    /// What is mapped to be read comes over the wire; what was mapped to be written goes back.
    fn svm_map(&mut self, address: VirtAddr, size: Bytes, access: MapAccess) -> Vec<Step> {
        if access.write {
            self.written.insert(address, size);
        }
        access.fetch.then_some(Step::Transfer(size)).into_iter().collect()
    }

    fn svm_unmap(&mut self, address: VirtAddr, _: Bytes) -> Vec<Step> {
        self.written.remove(&address).map(Step::Transfer).into_iter().collect()
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

/// Host and device use the same bytes.
struct Shared;

impl MemoryPolicy for Shared {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn allocate(&mut self, guest: &mut dyn GuestMemory, size: Bytes, brought: Brought) -> Cl<(Placement, Vec<Action>)> {
        if let Brought::Used(host) = brought {
            return Ok((Placement { size, device: host, owned: false, host: Some(host) }, vec![]));
        }
        let device = guest.map_anonymous(size)?;
        guest.populate(device, size);
        let actions = match brought {
            Brought::Copied(from) => vec![Action::Copy(Rect::line(device, from, size.0))],
            _ => vec![],
        };
        Ok((Placement { size, device, owned: true, host: None }, actions))
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
