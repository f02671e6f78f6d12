//! A kernel ready to run: its code, its grid, and the locations of its parts in memory.

use gcn3::{
    code::Code,
    dispatch::{Dispatch, Places},
};
use std::sync::Arc;

#[derive(Clone)]
pub struct Kernel {
    pub dispatch: Dispatch,
    pub places: Places,
    pub code: Arc<Code>,
}

impl Kernel {
    pub fn name(&self) -> &str {
        &self.dispatch.kernel().name
    }

    /// Number of workgroups in its grid.
    pub fn groups(&self) -> u64 {
        self.dispatch.groups().iter().fold(1, |all: u64, along| all.saturating_mul(u64::from(*along)))
    }

    /// The position of a workgroup in the grid, x fastest.
    pub fn group_id(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.dispatch.groups().map(u64::from);
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }
}
