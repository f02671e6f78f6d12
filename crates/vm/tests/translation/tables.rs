//! Page tables in a memory, as a kernel would write them.

use mem::{Frames, PhysAddr, VirtAddr};

const PRESENT: u64 = 1;
const WRITABLE: u64 = 2;
const LEAF: u64 = 1 << 7;

/// The first byte behind all tables; pages are placed from here on.
pub const BEHIND: u64 = 1 << 32;

#[derive(Clone)]
pub struct Tables {
    pub frames: Frames,
    pub root: PhysAddr,
    next: u64,
}

impl Tables {
    pub fn new() -> Tables {
        Tables { frames: Frames::new(), root: PhysAddr(0x1000), next: 0x2000 }
    }

    /// Tables that map page n to frame n, for each of `pages`, both counted in 4 KiB.
    pub fn of(pages: impl IntoIterator<Item = u64>) -> Tables {
        let mut tables = Tables::new();
        pages.into_iter().for_each(|page| tables.map(virt(page), phys(page)));
        tables
    }

    fn read(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.frames.read(PhysAddr(at), &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn write(&mut self, at: u64, entry: u64) {
        self.frames.write(PhysAddr(at), &entry.to_le_bytes());
    }

    /// The address of an entry at level `lowest` for an address; the tables above it are created.
    fn entry(&mut self, address: VirtAddr, lowest: u32) -> u64 {
        let mut table = self.root.0;
        for level in (lowest..4).rev() {
            let at = table + (address.0 >> (12 + 9 * level) & 511) * 8;
            if level == lowest {
                return at;
            }
            if self.read(at) & PRESENT == 0 {
                self.write(at, self.next | PRESENT | WRITABLE);
                self.next += 0x1000;
            }
            table = self.read(at) & !0xfff;
        }
        unreachable!("the lowest level is one of four")
    }

    pub fn map(&mut self, address: VirtAddr, frame: PhysAddr) {
        let at = self.entry(address, 0);
        self.write(at, frame.0 | PRESENT | WRITABLE);
    }

    pub fn map_read_only(&mut self, address: VirtAddr, frame: PhysAddr) {
        let at = self.entry(address, 0);
        self.write(at, frame.0 | PRESENT);
    }

    pub fn unmap(&mut self, address: VirtAddr) {
        let at = self.entry(address, 0);
        self.write(at, 0);
    }

    pub fn map_huge(&mut self, address: VirtAddr, frame: PhysAddr) {
        let at = self.entry(address, 1);
        self.write(at, frame.0 | PRESENT | WRITABLE | LEAF);
    }

    pub fn map_giant(&mut self, address: VirtAddr, frame: PhysAddr) {
        let at = self.entry(address, 2);
        self.write(at, frame.0 | PRESENT | WRITABLE | LEAF);
    }
}

/// The first byte of a virtual page.
pub fn virt(page: u64) -> VirtAddr {
    VirtAddr(0x7f00_0000_0000 + page * 4096)
}

/// The address that tests usually map the page to.
pub fn phys(page: u64) -> PhysAddr {
    PhysAddr(BEHIND + page * 4096)
}
