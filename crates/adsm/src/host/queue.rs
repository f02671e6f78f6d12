//! The dirty queue: runs of blocks in the order in which they became dirty.

use crate::memory::{Object, Run};
use std::{collections::VecDeque, sync::Arc};

/// The queue of dirty runs. **Invariant:** no block is in it twice. Otherwise a stale entry would evict a block that
/// was just opened, and a store that needs two blocks could fault forever.
#[derive(Default)]
pub struct Queue {
    runs: VecDeque<Run>,
    /// The run evicted last.
    gone: Option<Run>,
}

impl Queue {
    /// Reserves space for `runs` more runs, so that a fault need not allocate.
    pub fn reserve(&mut self, runs: usize) {
        self.runs.reserve(runs);
    }

    /// Adds the youngest run, and removes its blocks from older entries.
    pub fn push(&mut self, run: Run) {
        let mut index = 0;
        while index < self.runs.len() {
            let old = &mut self.runs[index];
            let (new, blocks) = (&run.blocks, old.blocks.clone());
            let apart = blocks.end <= new.start || new.end <= blocks.start;
            if apart || !Arc::ptr_eq(&old.object, &run.object) {
                index += 1;
                continue;
            }
            let (before, after) = (blocks.start..new.start, new.end..blocks.end);
            match (before.is_empty(), after.is_empty()) {
                (true, true) => {
                    self.runs.remove(index);
                }
                (false, true) => old.blocks = before,
                (true, false) => old.blocks = after,
                (false, false) => {
                    old.blocks = before;
                    let rest = Run { object: Arc::clone(&run.object), blocks: after };
                    self.runs.insert(index + 1, rest);
                }
            }
        }
        self.runs.push_back(run);
    }

    /// Takes the oldest run if there are more than `limit`. A store that straddles two blocks needs both at once. So if
    /// a block was evicted because of its neighbour and is dirty again, the neighbour is kept, although the limit is
    /// then exceeded.
    pub fn pop_over(&mut self, limit: usize) -> Option<Run> {
        if self.runs.len() <= limit {
            return None;
        }
        if let ([old, new], Some(gone)) = (&*self.runs.make_contiguous(), &self.gone) {
            let same = |a: &Run, b: &Run| Arc::ptr_eq(&a.object, &b.object);
            let back = same(gone, new) && gone.blocks.start < new.blocks.end && new.blocks.start < gone.blocks.end;
            let beside = old.blocks.end == new.blocks.start || new.blocks.end == old.blocks.start;
            if back && beside && same(old, new) {
                self.gone = None;
                return None;
            }
        }
        self.gone = self.runs.pop_front();
        self.gone.clone()
    }

    /// Removes the runs of an object.
    pub fn forget(&mut self, object: &Arc<Object>) {
        self.runs.retain(|run| !Arc::ptr_eq(&run.object, object));
        // The object may be freed now.
        self.gone = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Config, Runtime,
        accel::sim::{Sim, SimSpec},
    };

    #[test]
    fn a_block_that_becomes_dirty_again_is_the_youngest_and_only_that() {
        let runtime = Runtime::with(vec![Arc::new(Sim::new(SimSpec::default()))], Config::default()).unwrap();
        let shared = runtime.alloc::<u8>(1).unwrap();
        let mut queue = Queue::default();
        let run = |blocks| Run { object: Arc::clone(shared.object()), blocks };
        for blocks in [0..4, 6..8, 1..2, 7..9] {
            queue.push(run(blocks));
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_over(0)).map(|run| run.blocks).collect();
        assert_eq!(order, [0..1, 2..4, 6..7, 1..2, 7..9]);
    }

    #[test]
    fn of_two_neighbours_one_spares_the_other_once_it_had_to_go_for_it() {
        let runtime = Runtime::with(vec![Arc::new(Sim::new(SimSpec::default()))], Config::default()).unwrap();
        let shared = runtime.alloc::<u8>(1).unwrap();
        let mut queue = Queue::default();
        let mut opened = |block: usize| {
            queue.push(Run { object: Arc::clone(shared.object()), blocks: block..block + 1 });
            queue.pop_over(1).map(|run| run.blocks.start)
        };
        assert_eq!([3, 4, 3].map(&mut opened), [None, Some(3), None], "both are open: the store can be made");
        assert_eq!(opened(9), Some(4), "and then the oldest goes");
    }
}
