//! The machine's memory and the host's, kept in step at the borders of kernels.
//!
//! A host that does not run on the machine has memory of its own, at the same addresses. Before a kernel, what the host has
//! changed in the regions that the kernel can reach goes over; after it, what the kernel has changed comes back. Both are
//! compared page by page, so only what changed moves, and bytes that the host writes while the kernel runs stay.

use crate::session::Session;
use mem::{Bytes, LINE, PAGE, PhysAddr, VirtAddr};
use std::ops::Range;

/// Bytes that a kernel has changed: where they lie, and what they are now.
pub type Changes = Vec<(VirtAddr, Vec<u8>)>;

/// Takes what the host has changed over to the machine. `read` copies the host's bytes; where it can't, nothing goes over.
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

/// What the machine holds other than the host.
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

/// The pages of regions, and how many bytes of each belong to them.
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

/// Where two pieces of memory differ: runs of bytes, with at least `gap` equal ones between any two.
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
