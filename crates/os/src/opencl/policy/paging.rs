//! What the policies have in common under which host and devices use one address, and pages are where they are needed.
//!
//! A policy says what is to be done; the driver's [pager](super::super::pager) does it, one job after the other, so that a policy sees all
//! pages at rest when it is asked. It notes where they will be when its answer has been carried out.

use super::super::{
    Paged,
    device_memory::{DeviceTables, Region},
    error::Cl,
    gpu::{Cause, DeviceFault, Page},
};
use crate::guest::Guard;
use mem::PhysAddr;

/// One side of a move of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The host's frame.
    Host,
    Device(PhysAddr),
}

/// A page that is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub page: u64,
    pub to: Spot,
    pub from: Spot,
}

/// Something to be done, when what was named before it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The host's access to a region changes.
    Guard(Region, Guard),
    Move(Vec<Moved>, Cause),
    /// The host's copy of a region becomes what its home holds.
    Fetch(Region, Cause),
    /// A page is put into the table of a GPU.
    Map(usize, Page),
    /// Memories of GPUs give up what they hold of the host's frames of these pages.
    TakeBack(Vec<u64>),
    /// Pages are taken from the tables of GPUs, which forget what they know of them.
    Unmap(Vec<usize>, Vec<u64>),
    /// A page gets this frame of device memory for its home.
    Home(u64, PhysAddr),
    /// A frame is given back.
    Free(PhysAddr),
    /// An access of a GPU goes on with what its table has now.
    Answer(DeviceFault),
    /// A copy that is no longer valid is overwritten, where that is asked for to find mistakes.
    Spoil(u64, Spot),
}

/// How a fault of the host is answered.
#[derive(Debug)]
pub enum ForHost {
    /// The page is none of the policy's.
    NotMine,
    /// When a kernel that uses it has ended.
    Later,
    /// By doing this, perhaps nothing.
    Do(Vec<Act>),
}

/// What a policy can use.
pub struct World<'a> {
    pub tables: &'a mut DeviceTables,
    /// Kernels under way.
    pub running: usize,
    pub counts: &'a mut Paged,
}

pub trait Paging {
    /// Memory that host and devices use from now on; what is to be done for it takes no time.
    fn add(&mut self, region: Region, world: &mut World<'_>) -> Cl<Vec<Act>>;

    /// That memory is gone.
    fn remove(&mut self, region: Region);

    /// A kernel on these GPUs will use these regions.
    fn call(&mut self, bound: &[Region], gpus: &[usize], world: &mut World<'_>) -> Vec<Act>;

    /// Whether memories of GPUs hold copies of the host's pages, which they have to give up before their frames are used for something else.
    fn takes_back(&self) -> bool {
        false
    }

    /// It has ended.
    fn ended(&mut self, bound: &[Region]) {
        let _ = bound;
    }

    /// What is to be done before the program hears of that.
    fn give_back(&mut self, bound: &[Region]) -> Vec<Act> {
        let _ = bound;
        Vec::new()
    }

    /// The host accesses a page that is guarded.
    fn host(&mut self, page: u64, write: bool, world: &mut World<'_>) -> ForHost;

    /// Work that nobody waits for, such as sending back what was changed.
    fn leisure(&mut self, world: &mut World<'_>) -> Vec<Act> {
        let _ = world;
        Vec::new()
    }

    /// A GPU accesses a page that its table does not have; none if the page is not the policy's.
    fn device(&mut self, fault: DeviceFault, world: &mut World<'_>) -> Option<Vec<Act>> {
        let _ = (fault, world);
        None
    }

    /// The program says that it will need a region on a GPU, or (none) on the host. `undefined`: what it holds is of no use.
    fn migrate(&mut self, region: Region, gpu: Option<usize>, undefined: bool, world: &mut World<'_>) -> Vec<Act> {
        let _ = (region, gpu, undefined, world);
        Vec::new()
    }
}
