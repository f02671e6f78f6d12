//! Memory policies: where buffers are placed, and what map, unmap, read, write and launch do to their bytes.
//!
//! A policy is the driver's choice: programs run unchanged under each of them. `memcpy` keeps buffers in device memory;
//! the host gets copies, as with a discrete GPU. Under `shared`, host and device use one memory; under `zero-copy`,
//! devices that have their own memory access the host's. Under the others host and devices use one address, and pages
//! or blocks are moved on demand ([`Paging`]): `managed-eager`, `managed-fault`, and the three protocols of asymmetric
//! distributed shared memory.

mod adsm;
mod copying;
mod eager;
mod hierarchy;
mod on_fault;
mod paging;
mod sharing;

use crate::state::{Read, Reader, state};
pub use adsm::Blocks;
pub use paging::{Act, ForHost, Moved, Paging, Spot, World};

use adsm::{Adsm, Update};
use copying::Memcpy;
use eager::Eager;
pub(super) use hierarchy::Hierarchy;
use on_fault::OnFault;
use sharing::Shared;
use std::{fmt, str::FromStr};

use mem::{Bytes, VirtAddr};

use super::{
    abi::{Action, Rect},
    command::Step,
    device_memory::Spread,
    error::Cl,
    gpu::{DeviceMemory, Memories},
};
use crate::guest::GuestMemory;

/// Program memory passed at the creation of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    Nothing,
    /// The bytes at this address are copied to the buffer (`CL_MEM_COPY_HOST_PTR`).
    Copied(VirtAddr),
    /// The memory at this address is the buffer's memory on the host side (`CL_MEM_USE_HOST_PTR`).
    Used(VirtAddr),
}

/// The placement of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    pub size: Bytes,
    /// The address that kernels access.
    pub device: VirtAddr,
    /// Whether the driver mapped this memory.
    pub owned: bool,
    /// The program's memory for the buffer.
    pub host: Option<VirtAddr>,
}

state!(struct Placement { size, device, owned, host });

/// A mapped part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The pointer returned to the program.
    pub pointer: VirtAddr,
    /// The copy that fills the mapping: `from` the buffer's memory, `to` `pointer`.
    pub rect: Rect,
    pub written: bool,
    /// The size of a staging area that the driver mapped for it.
    pub staging: Option<Bytes>,
}

state!(struct Mapping { pointer, rect, written, staging });

/// How a program accesses a mapped part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapAccess {
    /// Whether the current bytes are needed: to be read, or to be kept where they are not overwritten.
    pub fetch: bool,
    pub write: bool,
}

pub trait MemoryPolicy {
    fn name(&self) -> &'static str;

    /// Places a buffer, and returns the actions that set its initial contents.
    fn allocate(&mut self, guest: &mut dyn GuestMemory, size: Bytes, brought: Brought) -> Cl<(Placement, Vec<Action>)>;

    /// Maps a part; returns the mapping, and the steps that must precede it.
    fn map(
        &mut self,
        guest: &mut dyn GuestMemory,
        placement: &Placement,
        part: Part,
        access: MapAccess,
    ) -> Cl<(Mapping, Vec<Step>)>;

    fn unmap(&mut self, mapping: &Mapping) -> Vec<Step>;

    /// The steps that copy from a buffer to the program.
    fn read(&mut self, rect: Rect) -> Vec<Step> {
        vec![Step::Read(rect)]
    }

    /// The steps that copy from the program to a buffer.
    fn write(&mut self, rect: Rect) -> Vec<Step> {
        vec![Step::Write(rect)]
    }

    /// The steps before and after a kernel that uses these buffers.
    fn launch(&mut self, buffers: &[Placement]) -> (Vec<Step>, Vec<Step>) {
        let _ = buffers;
        (Vec::new(), Vec::new())
    }

    /// The steps to map shared virtual memory for the host; `svm_unmap` gives it back to the device.
    fn svm_map(&mut self, address: VirtAddr, size: Bytes, access: MapAccess) -> Vec<Step> {
        let _ = (address, size, access);
        Vec::new()
    }

    fn svm_unmap(&mut self, address: VirtAddr, size: Bytes) -> Vec<Step> {
        let _ = (address, size);
        Vec::new()
    }

    /// Saves and loads what the policy remembers, for checkpoints.
    fn save(&self, to: &mut Vec<u8>) {
        let _ = to;
    }

    fn load(&mut self, from: &mut Reader) -> Read<()> {
        let _ = from;
        Ok(())
    }
}

/// The offset of a region in a memory, and its row and slice pitch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub offset: u64,
    pub pitch: [u64; 2],
}

/// A part of a buffer or an image to be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes per row, rows per slice, slices.
    pub size: [u64; 3],
    /// The layout in the memory that kernels access.
    pub device: Layout,
    /// The layout in the program's memory for the object, if there is any.
    pub host: Layout,
}

impl Part {
    /// A contiguous part.
    pub fn line(offset: u64, bytes: u64) -> Self {
        let layout = Layout { offset, pitch: [bytes, bytes] };
        Self { size: [bytes, 1, 1], device: layout, host: layout }
    }

    /// The distance from the first byte to the end in device memory.
    fn span(&self) -> u64 {
        let [row, slice] = self.device.pitch;
        slice * (self.size[2] - 1) + row * (self.size[1] - 1) + self.size[0]
    }

    fn rect(&self, to: VirtAddr, to_pitch: [u64; 2], from: VirtAddr) -> Rect {
        Rect { to, from, size: self.size, to_pitch, from_pitch: self.device.pitch }
    }
}

/// The available policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyKind {
    #[default]
    Memcpy,
    ZeroCopy,
    ManagedEager,
    ManagedFault,
    AdsmBatch,
    AdsmLazy,
    AdsmRolling,
    Shared,
}

impl PolicyKind {
    pub const ALL: [Self; 8] = [
        Self::Memcpy,
        Self::ZeroCopy,
        Self::ManagedEager,
        Self::ManagedFault,
        Self::AdsmBatch,
        Self::AdsmLazy,
        Self::AdsmRolling,
        Self::Shared,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::ZeroCopy => "zero-copy",
            Self::ManagedEager => "managed-eager",
            Self::ManagedFault => "managed-fault",
            Self::AdsmBatch => "adsm-batch",
            Self::AdsmLazy => "adsm-lazy",
            Self::AdsmRolling => "adsm-rolling",
            Self::Shared => "shared",
        }
    }

    pub fn make(self) -> Box<dyn MemoryPolicy> {
        match self {
            Self::Memcpy => Box::new(Memcpy::default()),
            // Policies that move pages can't use the program's own memory: its pages may hold other data.
            kind => Box::new(Shared { name: kind.name(), uses: matches!(kind, Self::Shared | Self::ZeroCopy) }),
        }
    }

    /// Creates the policy for devices with these memories.
    pub(super) fn make_for(self, memories: &Memories) -> Box<dyn MemoryPolicy> {
        match self {
            Self::Memcpy => Box::new(Memcpy::new(memories.device != DeviceMemory::Host)),
            // The driver guards whole pages of buffers, so no other data may share these pages.
            _ if memories.copies.is_some() => Box::new(Shared { name: self.name(), uses: false }),
            _ => self.make(),
        }
    }

    /// The paging part of the policy, if it moves pages on demand.
    pub(super) fn paging(self, spread: Spread, follows: bool, blocks: Blocks) -> Option<Box<dyn Paging>> {
        let adsm = |update| -> Option<Box<dyn Paging>> { Some(Box::new(Adsm::new(update, spread, blocks))) };
        match self {
            Self::Memcpy | Self::ZeroCopy | Self::Shared => None,
            Self::ManagedEager => Some(Box::new(Eager::new(spread, follows))),
            Self::ManagedFault => Some(Box::new(OnFault::default())),
            Self::AdsmBatch => adsm(Update::Batch),
            Self::AdsmLazy => adsm(Update::Lazy),
            Self::AdsmRolling => adsm(Update::Rolling),
        }
    }

    /// Whether the policy needs devices with memory of their own.
    pub fn needs_device_memory(self) -> bool {
        !matches!(self, Self::Memcpy | Self::ZeroCopy | Self::Shared)
    }

    /// Fails with an explanation if a machine with these memories can't implement the policy.
    pub fn check(self, memories: &Memories, gpus: usize, spread: Option<Spread>) -> Result<(), String> {
        let name = self.name();
        let split = memories.device != DeviceMemory::Host;
        if !split && self.needs_device_memory() {
            return Err(format!(
                "memory policy {name} moves pages to memory of the GPUs, and on this machine they have none of their own: choose \
                 memcpy, zero-copy or shared"
            ));
        }
        if !split && spread.is_some() {
            return Err("buffers can't be spread: on this machine host and GPUs have one memory".into());
        }
        if split && self == Self::Shared {
            return Err(
                "memory policy shared needs one memory of host and GPUs, and on this machine they have their own: choose zero-copy \
                 to have GPUs use the host's, or managed-fault to have pages move"
                    .into(),
            );
        }
        if split && self == Self::ZeroCopy && !memories.reach_host {
            return Err(
                "memory policy zero-copy needs GPUs that reach the host's memory, and on this machine they do not"
                    .into(),
            );
        }
        if self == Self::ManagedFault && !memories.faults {
            return Err(
                "memory policy managed-fault needs GPUs whose accesses can wait for a page, and those of this machine can't: choose \
                 managed-eager"
                    .into(),
            );
        }
        let apart = matches!(memories.device, DeviceMemory::Each { .. });
        if apart && gpus > 1 && !memories.reach_peers && !matches!(self, Self::ZeroCopy | Self::ManagedFault) {
            return Err(format!(
                "memory policy {name} needs GPUs that reach each other's memory, and those of this machine do not: choose \
                 zero-copy or managed-fault, or have one GPU"
            ));
        }
        match spread {
            Some(Spread::FirstTouch) if !memories.faults => {
                Err("first-touch needs GPUs whose accesses can wait for a page: choose ranges or pages".into())
            }
            Some(Spread::FirstTouch) if !matches!(self, Self::Memcpy | Self::ManagedFault) => {
                Err(format!("first-touch is possible with memcpy and managed-fault; for {name} choose ranges or pages"))
            }
            Some(Spread::Shared) if apart => {
                Err("spread shared needs memory that all GPUs have in common: choose ranges, pages or device N".into())
            }
            Some(Spread::Device(gpu)) if gpu >= gpus => {
                Err(format!("spread device {gpu}: the GPUs are numbered from 0 to {}", gpus - 1))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("'{text}' is not a memory policy: use one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_a_machine_cannot_follow_is_refused_with_the_reason() {
        let apart = Memories {
            device: DeviceMemory::Each { size: Bytes(1 << 20) },
            reach_host: false,
            reach_peers: false,
            faults: false,
            copies: None,
        };
        let refused = |kind: PolicyKind, memories: &Memories, gpus| kind.check(memories, gpus, None).unwrap_err();
        assert!(refused(PolicyKind::ZeroCopy, &apart, 1).contains("reach the host's memory"));
        assert!(refused(PolicyKind::ManagedFault, &apart, 1).contains("wait for a page"));
        assert!(refused(PolicyKind::Memcpy, &apart, 2).contains("reach each other's memory"));
        assert!(refused(PolicyKind::AdsmLazy, &Memories::ONE, 1).contains("none of their own"));
        assert!(refused(PolicyKind::Shared, &apart, 1).contains("one memory of host and GPUs"));
        assert!(PolicyKind::ALL.iter().all(|kind| kind.to_string().parse() == Ok(*kind)));
    }
}
