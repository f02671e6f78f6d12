//! Memories of GPUs apart from the host's, and the page table of each GPU.
//!
//! A page's frame in device memory is its *home*; all GPUs that can reach it use that frame. The pages of a launch
//! instead have a frame in the memory of each GPU that runs it, so that no kernel fetches its code from a remote
//! memory. The tables here are maps; a timed machine that models table walks builds its own tables from them.

use super::gpu::{DeviceMemory, Memories, Page};
use crate::memory::ZoneFrames;
use crate::state::{Read, Reader, State, Unreadable};
use mem::{Bytes, PAGE, PhysAddr, VirtAddr, Zone};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
    sync::Arc,
};

/// How buffers are distributed over the memories of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// A buffer is split into as many ranges as there are GPUs.
    Ranges,
    /// The buffer's pages are distributed round-robin.
    Pages,
    /// A page is placed with the GPU that touches it first.
    FirstTouch,
    /// In a memory common to all GPUs.
    Shared,
    /// In the memory of this GPU.
    Device(usize),
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "ranges" => Self::Ranges,
            "pages" => Self::Pages,
            "first-touch" => Self::FirstTouch,
            "shared" => Self::Shared,
            _ => match text.strip_prefix("device").and_then(|n| n.trim_start_matches([' ', '-', ':']).parse().ok()) {
                Some(gpu) => Self::Device(gpu),
                None => {
                    return Err(format!(
                        "'{text}' is not a way to spread buffers: use ranges, pages, first-touch, shared, or device N"
                    ));
                }
            },
        })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranges => f.write_str("ranges"),
            Self::Pages => f.write_str("pages"),
            Self::FirstTouch => f.write_str("first-touch"),
            Self::Shared => f.write_str("shared"),
            Self::Device(gpu) => write!(f, "device {gpu}"),
        }
    }
}

/// A range of the process's memory.
pub type Region = (VirtAddr, Bytes);

/// The addresses of the pages of a region.
pub fn pages_of((base, size): Region) -> impl DoubleEndedIterator<Item = u64> {
    let end = (base.0 + size.0).div_ceil(PAGE);
    (base.0 / PAGE..if size.0 == 0 { base.0 / PAGE } else { end }).map(|number| number * PAGE)
}

/// The page of an address.
pub fn page_of(address: VirtAddr) -> u64 {
    address.0 / PAGE * PAGE
}

/// The memories and page tables of all GPUs.
#[derive(Debug)]
pub struct DeviceTables {
    pub memories: Memories,
    pub gpus: usize,
    zones: Vec<ZoneFrames>,
    /// Allocated bytes of a memory whose frames are computed from virtual addresses.
    common: u64,
    /// The page table of each GPU, by page address.
    tables: Vec<BTreeMap<u64, Page>>,
    homes: BTreeMap<u64, PhysAddr>,
}

impl DeviceTables {
    pub fn new(memories: Memories, gpus: usize) -> Self {
        let zones = match memories.device {
            DeviceMemory::Each { size } => (0..gpus).map(|gpu| ZoneFrames::new(Zone::Gpu(gpu), size)).collect(),
            _ => Vec::new(),
        };
        Self { memories, gpus, zones, common: 0, tables: vec![BTreeMap::new(); gpus], homes: BTreeMap::new() }
    }

    pub fn save(&self, to: &mut Vec<u8>) {
        let Self { memories: _, gpus: _, zones, common, tables, homes } = self;
        zones.save(to);
        common.save(to);
        tables.save(to);
        homes.save(to);
    }

    /// Takes over saved tables, of memories like these.
    pub fn load(&mut self, from: &mut Reader) -> Read<()> {
        let zones: Vec<ZoneFrames> = State::load(from)?;
        self.common = State::load(from)?;
        let tables: Vec<BTreeMap<u64, Page>> = State::load(from)?;
        if (zones.len(), tables.len()) != (self.zones.len(), self.tables.len()) {
            return Err(Unreadable::new("it is of another number of GPUs"));
        }
        (self.zones, self.tables) = (zones, tables);
        self.homes = State::load(from)?;
        Ok(())
    }

    /// Whether devices have memory apart from the host's.
    pub fn is_split(&self) -> bool {
        self.memories.device != DeviceMemory::Host
    }

    /// The GPUs for which this GPU's memory is equally near, this GPU included.
    pub fn neighbours(&self, gpu: usize) -> std::ops::Range<usize> {
        match self.memories.device {
            DeviceMemory::Each { .. } => gpu..gpu + 1,
            _ => 0..self.gpus,
        }
    }

    /// Allocates a frame for a page in the memory of a GPU; none if it is full.
    pub fn take(&mut self, gpu: usize, page: u64) -> Option<PhysAddr> {
        match self.memories.device {
            DeviceMemory::Each { .. } => self.zones[gpu].take(),
            DeviceMemory::Common { size } => {
                let used = self.common + PAGE;
                (used <= size.0).then(|| {
                    self.common = used;
                    Zone::Gpu(0).base() + Bytes(page)
                })
            }
            DeviceMemory::Host => None,
        }
    }

    pub fn give_back(&mut self, frame: PhysAddr) {
        match (Zone::of(frame), self.memories.device) {
            (Zone::Gpu(gpu), DeviceMemory::Each { .. }) => self.zones[gpu].give_back(frame),
            (Zone::Gpu(_), DeviceMemory::Common { .. }) => self.common -= PAGE,
            _ => {}
        }
    }

    pub fn map(&mut self, gpu: usize, page: Page) {
        self.tables[gpu].insert(page.at.0, page);
    }

    pub fn unmap(&mut self, gpu: usize, page: u64) {
        self.tables[gpu].remove(&page);
    }

    pub fn mapped(&self, gpu: usize, page: u64) -> Option<Page> {
        self.tables[gpu].get(&page).copied()
    }

    /// All pages that a GPU can reach.
    pub fn all(&self, gpu: usize) -> Arc<Vec<Page>> {
        Arc::new(self.tables[gpu].values().copied().collect())
    }

    pub fn home(&self, page: u64) -> Option<PhysAddr> {
        self.homes.get(&page).copied()
    }

    /// Sets the home of a page, and maps it for all GPUs that can reach it.
    pub fn set_home(&mut self, page: u64, frame: PhysAddr) {
        self.homes.insert(page, frame);
        for gpu in 0..self.gpus {
            if self.memories.reach_peers || Zone::of(frame) == Zone::Gpu(gpu) || !self.is_each() {
                self.map(gpu, Page { at: VirtAddr(page), place: frame, writable: true });
            }
        }
    }

    fn is_each(&self) -> bool {
        matches!(self.memories.device, DeviceMemory::Each { .. })
    }

    /// Gives all pages of a region that have no home one. If there is no room, returns false and changes nothing.
    pub fn settle(&mut self, region: Region, spread: Spread) -> bool {
        let pages: Vec<u64> = pages_of(region).collect();
        let mut done = Vec::new();
        for (n, page) in pages.iter().enumerate() {
            if self.homes.contains_key(page) {
                continue;
            }
            let gpu = match spread {
                Spread::Ranges => n * self.gpus / pages.len(),
                Spread::Pages | Spread::FirstTouch => n % self.gpus,
                Spread::Shared => 0,
                Spread::Device(gpu) => gpu.min(self.gpus - 1),
            };
            let Some(frame) = self.take(gpu, *page) else {
                for page in done {
                    self.release((VirtAddr(page), Bytes(PAGE)));
                }
                return false;
            };
            self.set_home(*page, frame);
            done.push(*page);
        }
        true
    }

    /// Allocates frames for a region in the memory of each of these GPUs. Returns the new frames; none if there is no
    /// room.
    pub fn settle_apart(&mut self, region: Region, gpus: &[usize]) -> Option<Vec<PhysPage>> {
        let mut fresh = Vec::new();
        for page in pages_of(region) {
            for &gpu in gpus {
                if self.mapped(gpu, page).is_some() {
                    continue;
                }
                let frame = self.take(gpu, page)?;
                for near in self.neighbours(gpu) {
                    self.map(near, Page { at: VirtAddr(page), place: frame, writable: true });
                }
                fresh.push(PhysPage { page, frame });
            }
        }
        Some(fresh)
    }

    /// The distinct frames of a page in the tables of these GPUs.
    pub fn places(&self, page: u64, gpus: &[usize]) -> BTreeSet<PhysAddr> {
        gpus.iter().filter_map(|gpu| Some(self.mapped(*gpu, page)?.place)).collect()
    }

    /// Removes a region from all tables and frees its frames; returns those frames.
    pub fn release(&mut self, region: Region) -> Vec<PhysAddr> {
        let mut frames = Vec::new();
        for page in pages_of(region) {
            let mut places = BTreeSet::from_iter(self.homes.remove(&page));
            for table in &mut self.tables {
                places.extend(table.remove(&page).map(|page| page.place));
            }
            for frame in places.into_iter().filter(|frame| Zone::of(*frame) != Zone::Host) {
                self.give_back(frame);
                frames.push(frame);
            }
        }
        frames
    }
}

/// A page, and a frame for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysPage {
    pub page: u64,
    pub frame: PhysAddr,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(gpus: usize, size: u64) -> DeviceTables {
        let device = DeviceMemory::Each { size: Bytes(size) };
        DeviceTables::new(Memories { device, reach_host: true, reach_peers: true, faults: true, copies: None }, gpus)
    }

    const REGION: Region = (VirtAddr(0x10_0000), Bytes(8 * PAGE));

    fn zones(tables: &DeviceTables) -> Vec<Zone> {
        pages_of(REGION).filter_map(|page| tables.home(page)).map(Zone::of).collect()
    }

    #[test]
    fn a_buffer_is_spread_by_ranges_by_pages_or_lies_with_one_gpu() {
        let spread = |spread| {
            let mut tables = tables(4, 1 << 20);
            assert!(tables.settle(REGION, spread));
            zones(&tables)
        };
        assert_eq!(spread(Spread::Ranges), [0, 0, 1, 1, 2, 2, 3, 3].map(Zone::Gpu));
        assert_eq!(spread(Spread::Pages), [0, 1, 2, 3, 0, 1, 2, 3].map(Zone::Gpu));
        assert_eq!(spread(Spread::Device(2)), [2; 8].map(Zone::Gpu));
    }

    #[test]
    fn what_does_not_fit_takes_nothing_and_what_is_released_can_be_used_again() {
        let mut tables = tables(2, 3 * PAGE);
        assert!(!tables.settle(REGION, Spread::Pages));
        assert!(zones(&tables).is_empty());
        let small = (REGION.0, Bytes(6 * PAGE));
        assert!(tables.settle(small, Spread::Pages));
        assert_eq!(tables.release(small).len(), 6);
        assert!(tables.settle(small, Spread::Ranges) && tables.mapped(1, REGION.0.0).is_some());
    }

    #[test]
    fn common_memory_has_its_frames_where_virtual_addresses_say() {
        let device = DeviceMemory::Common { size: Bytes(1 << 20) };
        let memories = Memories { device, reach_host: false, reach_peers: true, faults: false, copies: None };
        let mut tables = DeviceTables::new(memories, 2);
        assert!(tables.settle(REGION, Spread::Shared));
        let place = Zone::Gpu(0).base() + Bytes(REGION.0.0);
        assert_eq!([0, 1].map(|gpu| tables.mapped(gpu, REGION.0.0).map(|page| page.place)), [Some(place); 2]);
    }

    #[test]
    fn ways_to_spread_have_names() {
        for spread in [Spread::Ranges, Spread::Pages, Spread::FirstTouch, Spread::Shared, Spread::Device(3)] {
            assert_eq!(spread.to_string().parse(), Ok(spread));
        }
        assert!("everywhere".parse::<Spread>().is_err());
    }
}
