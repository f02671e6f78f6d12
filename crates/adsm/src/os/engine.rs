//! Fault engines: how the library learns that the program accessed a closed page.
//!
//! There are two, chosen by `ADSM_FAULTS`: page protection with a SIGSEGV handler (fast: 5-9 us per fault), and
//! userfaultfd (9-20 us, served by a thread; system calls such as read(2) on a shared object then work, and mappings
//! are not split). The second falls back to the first, and reports why.

use super::{signal::Mprotect, uffd::Userfaultfd};
use std::{io, ops::Range, sync::Arc};

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Load,
    Store,
}

/// Which accesses to a page cause no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    Closed,
    ReadOnly,
    Open,
}

/// A part of a view, and the same bytes in the alias.
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

/// Changes page protection and reports faults to [`crate::memory::fault`].
pub trait FaultEngine: Send + Sync {
    fn name(&self) -> &'static str;

    /// Starts to watch a view whose pages are all readable (or not yet present).
    fn attach(&self, part: Part) -> io::Result<()>;

    /// Stops watching a view.
    fn detach(&self, part: Part);

    /// Changes the protection of pages. Must not allocate. Where pages may not be present yet, it also works if `from`
    /// equals `to`.
    fn protect(&self, part: Part, from: Protection, to: Protection) -> io::Result<()>;

    /// Whether a system call that accesses a closed page is served; otherwise it fails with EFAULT.
    fn serves_system_calls(&self) -> bool;

    /// Whether protection changes are cheaper with huge pages.
    fn likes_huge_pages(&self) -> bool {
        false
    }

    /// Makes sure that faults still reach this engine, even if another handler was installed later.
    fn refresh(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The engine in use, and why it is not the requested one.
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

    /// userfaultfd; with `user_only`, the variant for unprivileged users, which serves no system calls. Falls back to
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
