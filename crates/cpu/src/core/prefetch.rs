//! Prefetches of data: lines that a core loads into its L1D before an instruction accesses them.
//!
//! `NextLine` requests the lines after each line that a load accesses. `Stride` has a table of 64 entries, indexed by a
//! hash of the load instruction's address, with the last data address and its distance from the one before; if that
//! distance occurs twice in a row, the addresses ahead are requested. Neither crosses the end of the page, since the
//! core knows the frame of that page only. The paper names no prefetcher; these two are the usual baselines in the
//! literature.

use crate::{Prefetch, PrefetchSpec};
use mem::{Bytes, LINE, PAGE, PhysAddr, VirtAddr};

const TABLE: usize = 64;

/// A load instruction's last address and stride.
#[derive(Clone, Copy, Default)]
struct Entry {
    rip: u64,
    last: u64,
    stride: i64,
    sure: bool,
}

pub struct Prefetcher {
    spec: PrefetchSpec,
    table: Box<[Entry; TABLE]>,
    /// The lines that were requested last, so that they are not requested again at once.
    recent: [u64; 8],
    next: usize,
}

impl Prefetcher {
    pub fn new(spec: PrefetchSpec) -> Self {
        Self { spec, table: Box::new([Entry::default(); TABLE]), recent: [u64::MAX; 8], next: 0 }
    }

    pub fn is_on(&self) -> bool {
        self.spec.kind != Prefetch::None
    }

    /// A load of the instruction at `rip` from an address; `ask` is called with each line to load ahead.
    pub fn load(&mut self, rip: u64, virt: VirtAddr, phys: PhysAddr, mut ask: impl FnMut(VirtAddr, PhysAddr)) {
        let stride = match self.spec.kind {
            Prefetch::None => return,
            Prefetch::NextLine => LINE as i64,
            Prefetch::Stride => match self.learn(rip, virt.0) {
                Some(stride) => stride,
                None => return,
            },
        };
        let own = phys.0 / LINE as u64;
        for step in 1..=self.spec.degree as i64 {
            let distance = stride * step;
            let inside = (virt.0 % PAGE) as i64 + distance;
            if !(0..PAGE as i64).contains(&inside) {
                return;
            }
            let ahead = |address: u64| address.wrapping_add_signed(distance);
            let line = ahead(phys.0) / LINE as u64;
            if line == own || self.recent.contains(&line) {
                continue;
            }
            self.recent[self.next] = line;
            self.next = (self.next + 1) % self.recent.len();
            let start = |address: u64| Bytes(LINE as u64).0 * (address / LINE as u64);
            ask(VirtAddr(start(ahead(virt.0))), PhysAddr(start(ahead(phys.0))));
        }
    }

    /// The stride of a load instruction, if it has occurred twice in a row.
    fn learn(&mut self, rip: u64, address: u64) -> Option<i64> {
        let entry = &mut self.table[(rip ^ rip >> 6) as usize % TABLE];
        if entry.rip != rip {
            *entry = Entry { rip, last: address, ..Entry::default() };
            return None;
        }
        let stride = address.wrapping_sub(entry.last) as i64;
        let same = stride == entry.stride && stride != 0;
        *entry = Entry { rip, last: address, stride, sure: same };
        entry.sure.then_some(stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: Prefetch, loads: &[(u64, u64)]) -> Vec<u64> {
        let mut prefetcher = Prefetcher::new(PrefetchSpec { kind, degree: 2 });
        let mut lines = Vec::new();
        for (rip, address) in loads {
            prefetcher.load(*rip, VirtAddr(*address), PhysAddr(*address), |_, line| lines.push(line.0));
        }
        lines
    }

    #[test]
    fn the_lines_after_a_load_are_requested_once_and_not_beyond_the_page() {
        assert_eq!(asked(Prefetch::NextLine, &[(1, 0x1008), (1, 0x1010), (1, 0x1040)]), [0x1040, 0x1080, 0x10c0]);
        assert_eq!(asked(Prefetch::NextLine, &[(1, 0x1fc0)]), []);
        assert_eq!(asked(Prefetch::None, &[(1, 0x1000)]), []);
    }

    #[test]
    fn a_stride_that_comes_twice_is_followed() {
        let walk: Vec<(u64, u64)> = (0..4).map(|n| (7, 0x1000 + n * 0x100)).collect();
        assert_eq!(asked(Prefetch::Stride, &walk), [0x1300, 0x1400, 0x1500]);
        let down: Vec<(u64, u64)> = (0..3).map(|n| (7, 0x1800 - n * 0x80)).collect();
        assert_eq!(asked(Prefetch::Stride, &down), [0x1680, 0x1600]);
        let others: Vec<(u64, u64)> = (0..4).map(|n| (n, 0x1000 + n * 0x100)).collect();
        assert_eq!(asked(Prefetch::Stride, &others), [], "of different instructions");
    }
}
