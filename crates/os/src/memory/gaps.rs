//! The free ranges between areas, so that room for a mapping is found without visiting every area.
//!
//! An AVL tree by address; each node stores the size of the largest gap in its subtree. A program can make tens of
//! thousands of gaps, of any sizes and in any order. Every operation takes time logarithmic in their number.

/// A range without areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub start: u64,
    pub end: u64,
}

#[derive(Clone, Copy)]
struct Node {
    gap: Gap,
    /// The size of the largest gap of this subtree.
    largest: u64,
    height: u32,
    left: u32,
    right: u32,
}

/// The index of a missing node.
const NONE: u32 = u32::MAX;

/// All free ranges; no two of them are adjacent.
pub struct Gaps {
    nodes: Vec<Node>,
    unused: Vec<u32>,
    root: u32,
}

impl Default for Gaps {
    /// The whole address range is free.
    fn default() -> Self {
        let mut gaps = Gaps { nodes: Vec::new(), unused: Vec::new(), root: NONE };
        gaps.put(Gap { start: 0, end: u64::MAX });
        gaps
    }
}

impl Gaps {
    /// Marks a free range as used.
    pub fn occupy(&mut self, start: u64, end: u64) {
        let gap = self.last_from(start).filter(|gap| end <= gap.end);
        let Some(gap) = gap else {
            debug_assert!(false, "an area lies where no gap is");
            return;
        };
        self.root = self.without(self.root, gap.start);
        self.put(Gap { end: start, ..gap });
        self.put(Gap { start: end, ..gap });
    }

    /// Marks a range as free; parts of it may already be free.
    pub fn release(&mut self, start: u64, end: u64) {
        let mut free = Gap { start, end };
        while let Some(gap) = self.last_from(end).filter(|gap| start <= gap.end) {
            self.root = self.without(self.root, gap.start);
            free = Gap { start: free.start.min(gap.start), end: free.end.max(gap.end) };
        }
        self.put(free);
    }

    /// Applies `fits` to gaps of at least `size` bytes that begin below `highest`, from the highest down; returns the
    /// first result.
    pub fn highest(&self, size: u64, highest: u64, fits: &dyn Fn(Gap) -> Option<u64>) -> Option<u64> {
        self.search(self.root, size, highest, fits)
    }

    fn search(&self, at: u32, size: u64, highest: u64, fits: &dyn Fn(Gap) -> Option<u64>) -> Option<u64> {
        let node = self.nodes.get(at as usize).filter(|node| node.largest >= size)?;
        if node.gap.start >= highest {
            return self.search(node.left, size, highest, fits);
        }
        self.search(node.right, size, highest, fits)
            .or_else(|| fits(node.gap).filter(|_| node.gap.end - node.gap.start >= size))
            .or_else(|| self.search(node.left, size, highest, fits))
    }

    /// The last gap that begins at or below an address.
    fn last_from(&self, address: u64) -> Option<Gap> {
        let (mut at, mut found) = (self.root, None);
        while let Some(node) = self.nodes.get(at as usize) {
            if node.gap.start <= address {
                found = Some(node.gap);
                at = node.right;
            } else {
                at = node.left;
            }
        }
        found
    }

    fn put(&mut self, gap: Gap) {
        if gap.start < gap.end {
            self.root = self.with(self.root, gap);
        }
    }

    /// Inserts a gap into a subtree; returns its new root.
    fn with(&mut self, at: u32, gap: Gap) -> u32 {
        if at == NONE {
            let node = Node { gap, largest: gap.end - gap.start, height: 1, left: NONE, right: NONE };
            return match self.unused.pop() {
                Some(place) => {
                    self.nodes[place as usize] = node;
                    place
                }
                None => {
                    self.nodes.push(node);
                    self.nodes.len() as u32 - 1
                }
            };
        }
        let node = self.nodes[at as usize];
        if gap.start < node.gap.start {
            self.nodes[at as usize].left = self.with(node.left, gap);
        } else {
            self.nodes[at as usize].right = self.with(node.right, gap);
        }
        self.balanced(at)
    }

    /// Removes the gap that begins at `start` from a subtree; returns its new root.
    fn without(&mut self, at: u32, start: u64) -> u32 {
        let Some(node) = self.nodes.get(at as usize).copied() else { return NONE };
        if start < node.gap.start {
            self.nodes[at as usize].left = self.without(node.left, start);
        } else if start > node.gap.start {
            self.nodes[at as usize].right = self.without(node.right, start);
        } else if node.left == NONE || node.right == NONE {
            self.unused.push(at);
            return if node.left == NONE { node.right } else { node.left };
        } else {
            // The next gap in order takes this node's place.
            let mut next = node.right;
            while self.nodes[next as usize].left != NONE {
                next = self.nodes[next as usize].left;
            }
            let gap = self.nodes[next as usize].gap;
            self.nodes[at as usize].gap = gap;
            self.nodes[at as usize].right = self.without(node.right, gap.start);
        }
        self.balanced(at)
    }

    fn height(&self, at: u32) -> u32 {
        self.nodes.get(at as usize).map_or(0, |node| node.height)
    }

    /// Updates a node's summary of its subtree: largest gap and height.
    fn sum_up(&mut self, at: u32) {
        let Node { gap, left, right, .. } = self.nodes[at as usize];
        let largest = |at: u32| self.nodes.get(at as usize).map_or(0, |node| node.largest);
        let largest = (gap.end - gap.start).max(largest(left)).max(largest(right));
        let height = 1 + self.height(left).max(self.height(right));
        let node = &mut self.nodes[at as usize];
        (node.largest, node.height) = (largest, height);
    }

    /// Rebalances a subtree after the height of one side has changed by one; returns its new root.
    fn balanced(&mut self, at: u32) -> u32 {
        let Node { left, right, .. } = self.nodes[at as usize];
        if self.height(left) > self.height(right) + 1 {
            let node = self.nodes[left as usize];
            if self.height(node.right) > self.height(node.left) {
                self.nodes[at as usize].left = self.rotated_left(left);
            }
            return self.rotated_right(at);
        }
        if self.height(right) > self.height(left) + 1 {
            let node = self.nodes[right as usize];
            if self.height(node.left) > self.height(node.right) {
                self.nodes[at as usize].right = self.rotated_right(right);
            }
            return self.rotated_left(at);
        }
        self.sum_up(at);
        at
    }

    fn rotated_left(&mut self, at: u32) -> u32 {
        let top = self.nodes[at as usize].right;
        self.nodes[at as usize].right = std::mem::replace(&mut self.nodes[top as usize].left, at);
        self.sum_up(at);
        self.sum_up(top);
        top
    }

    fn rotated_right(&mut self, at: u32) -> u32 {
        let top = self.nodes[at as usize].left;
        self.nodes[at as usize].left = std::mem::replace(&mut self.nodes[top as usize].right, at);
        self.sum_up(at);
        self.sum_up(top);
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::{Pcg64Mcg, rand_core::RngCore};

    impl Gaps {
        /// The gaps in order, and the height of the tree.
        fn list(&self) -> (Vec<Gap>, u32) {
            fn walk(gaps: &Gaps, at: u32, list: &mut Vec<Gap>) {
                let Some(node) = gaps.nodes.get(at as usize) else { return };
                assert!(gaps.height(node.left).abs_diff(gaps.height(node.right)) <= 1, "it is balanced");
                walk(gaps, node.left, list);
                list.push(node.gap);
                walk(gaps, node.right, list);
            }
            let mut list = Vec::new();
            walk(self, self.root, &mut list);
            (list, self.height(self.root))
        }
    }

    #[test]
    fn gaps_are_what_random_areas_leave() {
        const PLACES: u64 = 300;
        let (mut gaps, mut random) = (Gaps::default(), Pcg64Mcg::new(7));
        let mut occupied = [false; PLACES as usize];
        for _ in 0..4_000 {
            let start = random.next_u64() % PLACES;
            let end = (start + 1 + random.next_u64() % 20).min(PLACES);
            let range = start as usize..end as usize;
            if random.next_u64().is_multiple_of(2) {
                gaps.release(start, end);
                occupied[range].fill(false);
            } else if !occupied[range.clone()].contains(&true) {
                gaps.occupy(start, end);
                occupied[range].fill(true);
            }
            let (list, _) = gaps.list();
            for (place, occupied) in occupied.iter().enumerate() {
                let place = place as u64;
                let free = list.iter().any(|gap| gap.start <= place && place < gap.end);
                assert_eq!(free, !occupied);
            }
            assert!(list.windows(2).all(|pair| pair[0].end < pair[1].start), "no two touch");
            let size = 1 + random.next_u64() % 30;
            let fits = |gap: Gap| gap.end.min(PLACES).checked_sub(size).filter(|start| *start >= gap.start);
            let expected = list.iter().rev().find_map(|gap| fits(*gap));
            assert_eq!(gaps.highest(size, PLACES, &fits), expected);
        }
    }

    #[test]
    fn tens_of_thousands_of_gaps_lie_in_a_tree_of_few_levels() {
        let mut gaps = Gaps::default();
        for place in 0..60_000 {
            gaps.occupy(place * 2, place * 2 + 1);
        }
        let (list, height) = gaps.list();
        assert_eq!((list.len(), height <= 22), (60_000, true), "{height} levels");
        for place in 0..60_000 {
            gaps.release(place * 2, place * 2 + 1);
        }
        assert_eq!(gaps.list().0, [Gap { start: 0, end: u64::MAX }]);
    }
}
