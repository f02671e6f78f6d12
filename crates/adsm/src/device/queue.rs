//! The dirty queue: runs of blocks in the order in which they became dirty.

use crate::memory::{Object, Run};
use std::{collections::VecDeque, sync::Arc};

/// See the module. **Invariant:** no block is in it twice; else an entry left from earlier would evict what was just opened,
/// and a store that needs two blocks could fault for ever.
#[derive(Default)]
pub struct Queue(VecDeque<Run>);

impl Queue {
    /// Room for so many more, so that a fault need not allocate.
    pub fn reserve(&mut self, runs: usize) {
        self.0.reserve(runs);
    }

    /// The youngest. What older entries say of its blocks no longer counts.
    pub fn push(&mut self, run: Run) {
        let mut index = 0;
        while index < self.0.len() {
            let old = &mut self.0[index];
            let (new, blocks) = (&run.blocks, old.blocks.clone());
            let apart = blocks.end <= new.start || new.end <= blocks.start;
            if apart || !Arc::ptr_eq(&old.object, &run.object) {
                index += 1;
                continue;
            }
            let (before, after) = (blocks.start..new.start, new.end..blocks.end);
            match (before.is_empty(), after.is_empty()) {
                (true, true) => {
                    self.0.remove(index);
                }
                (false, true) => old.blocks = before,
                (true, false) => old.blocks = after,
                (false, false) => {
                    old.blocks = before;
                    let rest = Run { object: Arc::clone(&run.object), blocks: after };
                    self.0.insert(index + 1, rest);
                }
            }
        }
        self.0.push_back(run);
    }

    /// The oldest, if there are more than `limit`.
    pub fn pop_over(&mut self, limit: usize) -> Option<Run> {
        if self.0.len() > limit { self.0.pop_front() } else { None }
    }

    /// Nothing of this object is dirty any longer.
    pub fn forget(&mut self, object: &Arc<Object>) {
        self.0.retain(|run| !Arc::ptr_eq(&run.object, object));
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
}
