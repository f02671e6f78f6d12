//! Who tells us that the program touched a closed page.
//!
//! Two ways, chosen by `ADSM_FAULTS`: page protection with a SIGSEGV handler (quick: 5-9 us a fault), and userfaultfd (9-20 us,
//! served by a thread; system calls such as read(2) on a shared object then just work, and mappings are not split). The second
//! falls back to the first, and says why.

use super::{signal::Mprotect, uffd::Userfaultfd};
use std::{io, ops::Range, sync::Arc};

/// What the program did to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Load,
    Store,
}

/// What the program may do to a page without anybody hearing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    Closed,
    ReadOnly,
    Open,
}

/// A part of a view, with the same bytes in the alias.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub view: usize,
    pub alias: usize,
    pub len: usize,
}

impl Part {
    pub fn range(&self) -> Range<usize> {
        self.view..self.view + self.len
    }
}

/// Opens and closes pages and reports faults to [`crate::memory::fault`].
pub trait FaultEngine: Send + Sync {
    fn name(&self) -> &'static str;

    /// Begins to watch a view whose pages are all readable (or not yet present).
    fn attach(&self, part: Part) -> io::Result<()>;

    /// Ends it.
    fn detach(&self, part: Part);

    /// Changes what the program may do. Must not allocate, and does its work when `from` equals `to` where pages may still
    /// have to be made present.
    fn protect(&self, part: Part, from: Protection, to: Protection) -> io::Result<()>;

    /// Whether a system call that touches a closed page is served, or fails with EFAULT.
    fn serves_system_calls(&self) -> bool;

    /// Whether its openings and closings are cheaper with huge pages.
    fn likes_huge_pages(&self) -> bool {
        false
    }

    /// Makes sure that faults still reach us (somebody may have put a handler of their own in front).
    fn refresh(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The engine in use, and why it is not the one that was asked for.
#[derive(Clone)]
pub struct Engines {
    pub engine: Arc<dyn FaultEngine>,
    pub fell_back: Option<String>,
}

impl Engines {
    /// Page protection and SIGSEGV.
    pub fn mprotect() -> io::Result<Self> {
        Ok(Self { engine: Arc::new(Mprotect::install()?), fell_back: None })
    }

    /// userfaultfd; `user_only` asks for the kind that any user may have, which serves no system calls. Falls back to
    /// page protection.
    pub fn userfaultfd(user_only: bool) -> io::Result<Self> {
        match Userfaultfd::start(user_only) {
            Ok(engine) => Ok(Self { engine: Arc::new(engine), fell_back: None }),
            Err(why) => {
                let reason = format!("userfaultfd can't be used ({why}); page protection and SIGSEGV serve instead");
                Ok(Self { fell_back: Some(reason), ..Self::mprotect()? })
            }
        }
    }
}
