//! The common interface of policies under which host and devices use one address and pages move on demand.
//!
//! A policy decides what to do; the driver's [pager](super::super::pager) does it, one job after another. So no page is
//! in flight when a policy decides, and the policy records where pages will be after its decision has been carried out.

use super::super::{
    Paged,
    device_memory::{DeviceTables, Region},
    error::Cl,
    gpu::{Cause, DeviceFault, Page},
};
use crate::{
    guest::Guard,
    state::{Read, Reader},
};
use mem::PhysAddr;

/// The source or destination of a page move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The host's frame.
    Host,
    Device(PhysAddr),
}

/// A page move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub page: u64,
    pub to: Spot,
    pub from: Spot,
}

/// An action of the pager. Actions are executed in order, each after the end of the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Change the host's access to a region.
    Guard(Region, Guard),
    Move(Vec<Moved>, Cause),
    /// Copy a region from its home to the host.
    Fetch(Region, Cause),
    /// Add a page to the table of a GPU.
    Map(usize, Page),
    /// Make memories of GPUs write back and drop their copies of these pages.
    TakeBack(Vec<u64>),
    /// Remove pages from the tables of GPUs, and invalidate their TLBs and caches for them.
    Unmap(Vec<usize>, Vec<u64>),
    /// Set the home of a page to this frame of device memory.
    Home(u64, PhysAddr),
    /// Free a frame.
    Free(PhysAddr),
    /// Let a faulting access of a GPU continue with its current table.
    Answer(DeviceFault),
    /// Overwrite a copy that is no longer valid, if tests ask for it.
    Spoil(u64, Spot),
}

/// The answer to a page fault of the host.
#[derive(Debug)]
pub enum ForHost {
    /// The page does not belong to the policy.
    NotMine,
    /// Wait until a kernel has ended.
    Later,
    /// Execute these actions (possibly none).
    Do(Vec<Act>),
}

/// The state that a policy can access.
pub struct World<'a> {
    pub tables: &'a mut DeviceTables,
    /// Kernels in flight.
    pub running: usize,
    pub counts: &'a mut Paged,
}

pub trait Paging {
    /// Saves and loads where pages are, for checkpoints. Fails if the policy can't be saved; the text says why.
    fn save(&self, to: &mut Vec<u8>) -> Result<(), String> {
        let _ = to;
        Err("pages that move under this memory policy can't be saved: choose memcpy, zero-copy, managed-eager or managed-fault".into())
    }

    fn load(&mut self, from: &mut Reader) -> Read<()> {
        let _ = from;
        Ok(())
    }

    /// Adds memory that host and devices use from now on; the resulting actions take no time.
    fn add(&mut self, region: Region, world: &mut World<'_>) -> Cl<Vec<Act>>;

    /// Removes memory.
    fn remove(&mut self, region: Region);

    /// Prepares for a kernel on these GPUs that uses these regions.
    fn call(&mut self, bound: &[Region], gpus: &[usize], world: &mut World<'_>) -> Vec<Act>;

    /// Whether memories of GPUs hold copies of host pages, which they must drop before the frames are reused.
    fn takes_back(&self) -> bool {
        false
    }

    /// Called when a kernel that used these regions has ended.
    fn ended(&mut self, bound: &[Region]) {
        let _ = bound;
    }

    /// The actions before the end of the kernel is reported to the program.
    fn give_back(&mut self, bound: &[Region]) -> Vec<Act> {
        let _ = bound;
        Vec::new()
    }

    /// Handles an access of the host to a guarded page.
    fn host(&mut self, page: u64, write: bool, world: &mut World<'_>) -> ForHost;

    /// The number of pieces among which the accessed page is searched; none for a page without a frame, which gets one
    /// like any other memory of the process, without cost.
    fn pieces(&self, page: u64) -> Option<u64> {
        let _ = page;
        Some(1)
    }

    /// Background work that no thread waits for, such as writing back dirty blocks.
    fn leisure(&mut self, world: &mut World<'_>) -> Vec<Act> {
        let _ = world;
        Vec::new()
    }

    /// Handles an access of a GPU to a page missing in its table; none if the page does not belong to the policy.
    fn device(&mut self, fault: DeviceFault, world: &mut World<'_>) -> Option<Vec<Act>> {
        let _ = (fault, world);
        None
    }

    /// Prefetches a region to a GPU or (none) to the host. `undefined`: its contents need not be kept.
    fn migrate(&mut self, region: Region, gpu: Option<usize>, undefined: bool, world: &mut World<'_>) -> Vec<Act> {
        let _ = (region, gpu, undefined, world);
        Vec::new()
    }
}
