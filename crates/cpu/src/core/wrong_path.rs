//! Wrong paths: what fetch does from a mispredicted branch until the branch is resolved.
//!
//! Without the key `wrong_path`, fetch stops there. With it, lines of code are requested in order from where the branch
//! was predicted to lead, at the rate at which fetch would consume them, until the branch has been executed or the
//! queues of the core would be full. These lines occupy MSHRs and space in caches, and may be of use to the right path
//! later. Nothing on a wrong path is executed, so its loads, stores and further branches are left out. A wrong path
//! does not leave the page of the branch, since the core knows the frame of that page only.

use super::{Pipeline, fetch::line, thread::Front};
use crate::Executed;
use mem::{Bytes, LINE, PAGE, PhysAddr, VirtAddr};

/// About how many instructions a line of code holds.
const INSTRUCTIONS: usize = 16;

/// The wrong path of a thread.
#[derive(Clone, Copy, Debug)]
pub struct WrongPath {
    /// The next line to request.
    virt: VirtAddr,
    phys: PhysAddr,
    /// When to request it.
    pub at: u64,
    /// How many lines fit into the queues.
    left: usize,
}

impl Pipeline {
    /// A branch whose direction was mispredicted has been fetched.
    pub(super) fn leave_path(&mut self, t: usize, now: u64) {
        if !self.spec.wrong_path {
            return;
        }
        let Executed { ref outline, rip, code, taken, .. } = self.executed;
        let after = rip.wrapping_add(u64::from(outline.length));
        let Some(target) = (if taken { Some(after) } else { self.predictor.target(rip) }) else { return };
        if target / PAGE != rip / PAGE {
            return;
        }
        let (virt, phys) = (VirtAddr(target), PhysAddr(code.0 / PAGE * PAGE + target % PAGE));
        let queues = self.spec.fetch_queue + self.spec.micro_op_queue + self.spec.rob;
        self.threads[t].wrong_path = Some(WrongPath { virt, phys, at: now + 1, left: queues.div_ceil(INSTRUCTIONS) });
    }

    /// Requests the next line of each wrong path.
    pub(super) fn follow_wrong_paths(&mut self, now: u64) {
        for t in 0..self.threads.len() {
            let thread = &mut self.threads[t];
            let Some(path) = thread.wrong_path.filter(|path| path.at <= now) else { continue };
            if !matches!(thread.front, Front::Branch(_)) {
                thread.wrong_path = None;
                continue;
            }
            let next = path.virt.align_down(Bytes(LINE as u64)) + Bytes(LINE as u64);
            let ends = path.left == 1 || next.0 / PAGE != path.virt.0 / PAGE;
            let phys = PhysAddr(path.phys.0 / PAGE * PAGE + next.0 % PAGE);
            let at = now + INSTRUCTIONS.div_ceil(self.spec.fetch_width) as u64;
            thread.wrong_path = (!ends).then_some(WrongPath { virt: next, phys, at, left: path.left - 1 });
            self.counts.wrong_path_lines.increment();
            self.need_code(t, line(path.virt, path.phys));
            self.active = true;
        }
    }
}
