//! Keeps the machine's memory and the host's memory in step at kernel boundaries.
//!
//! A host that does not run on the machine has memory of its own, at the same addresses. Before a kernel, bytes that
//! the host has changed in the regions that the kernel can reach are copied to the machine; after it, bytes that the
//! kernel has changed are copied back. Both directions compare page by page and copy only differences, so bytes that
//! the host writes while the kernel runs are preserved.

use crate::session::Session;
use mem::{Bytes, LINE, PAGE, PhysAddr, VirtAddr};
use std::ops::Range;

/// Bytes that a kernel has changed: the address and the new bytes.
pub type Changes = Vec<(VirtAddr, Vec<u8>)>;

/// Copies the host's changes to the machine. `read` copies the host's bytes; a page that it cannot read is skipped.
pub fn push(session: &mut Session, regions: &[(VirtAddr, Bytes)], mut read: impl FnMut(VirtAddr, &mut [u8]) -> bool) {
    let (mut host, mut machine) = ([0; PAGE as usize], [0; PAGE as usize]);
    for (address, count) in pages(regions) {
        let (host, machine) = (&mut host[..count], &mut machine[..count]);
        if !read(address, host) {
            continue;
        }
        session.read(PhysAddr(address.0), machine);
        for run in runs(machine, host, LINE) {
            session.write(PhysAddr(address.0 + run.start as u64), &host[run]);
        }
    }
}

/// Bytes in which the machine's memory differs from the host's, with the machine's values.
pub fn pull(
    session: &Session,
    regions: &[(VirtAddr, Bytes)],
    mut read: impl FnMut(VirtAddr, &mut [u8]) -> bool,
) -> Changes {
    let (mut host, mut machine) = ([0; PAGE as usize], [0; PAGE as usize]);
    let mut changes = Vec::new();
    for (address, count) in pages(regions) {
        let (host, machine) = (&mut host[..count], &mut machine[..count]);
        if read(address, host) {
            session.read(PhysAddr(address.0), machine);
            let runs = runs(host, machine, 1);
            changes.extend(runs.map(|run| (VirtAddr(address.0 + run.start as u64), machine[run].to_vec())));
        }
    }
    changes
}

/// The pages of the regions, each with the number of its bytes that belong to a region.
fn pages(regions: &[(VirtAddr, Bytes)]) -> impl Iterator<Item = (VirtAddr, usize)> {
    regions.iter().flat_map(|(base, size)| {
        let (mut at, end) = (base.0, base.0 + size.0);
        std::iter::from_fn(move || {
            let start = at;
            at = end.min((start / PAGE + 1) * PAGE);
            (start < end).then_some((VirtAddr(start), (at - start) as usize))
        })
    })
}

/// Where two byte slices differ: ranges with at least `gap` equal bytes between any two.
fn runs(a: &[u8], b: &[u8], gap: usize) -> impl Iterator<Item = Range<usize>> {
    let (a, b) = if a == b { (&[][..], &[][..]) } else { (a, b) };
    let mut at = 0;
    std::iter::from_fn(move || {
        let differs = |place: &usize| a[*place] != b[*place];
        let start = (at..a.len()).find(differs)?;
        let mut end = start + 1;
        while let Some(next) = (end..a.len().min(end + gap)).find(differs) {
            end = next + 1;
        }
        at = end;
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_as_runs_of_bytes() {
        let old = [0, 0, 0, 0, 0, 0, 0, 0];
        let new = [1, 1, 0, 1, 0, 0, 0, 1];
        assert_eq!(runs(&old, &new, 1).collect::<Vec<_>>(), [0..2, 3..4, 7..8]);
        assert_eq!(runs(&old, &new, 2).collect::<Vec<_>>(), [0..4, 7..8]);
        assert_eq!(runs(&old, &old, 2).next(), None);
    }

    #[test]
    fn regions_are_cut_into_pages() {
        let regions = [(VirtAddr(0x1ff0), Bytes(0x20)), (VirtAddr(0x5000), Bytes(4))];
        let cut = [(VirtAddr(0x1ff0), 0x10), (VirtAddr(0x2000), 0x10), (VirtAddr(0x5000), 4)];
        assert_eq!(pages(&regions).collect::<Vec<_>>(), cut);
    }
}
