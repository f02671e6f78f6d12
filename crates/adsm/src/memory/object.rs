//! A shared object: bytes of the host, bytes of a device, and a state for each block of them.

use super::Word;
use crate::{
    accel::{Accelerator, DeviceMemory},
    coherence::Rules,
    config::Protocol,
    error::{Error, Result},
    os::{Backing, FaultEngine, Part, Protection, View, page_size, round_up},
};
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

/// See the module.
pub struct Object {
    /// Of the device it lives on.
    pub device: usize,
    /// As asked for.
    pub len: usize,
    /// As it occupies pages.
    room: usize,
    pub block: usize,
    pub memory: DeviceMemory,
    /// The blocks' states; none where CPU and device share their memory.
    pub blocks: Box<[Word]>,
    /// How many calls that use it are in flight.
    pub in_flight: AtomicU32,
    /// Where the next load and the next store would continue a run, and how long the last one was.
    pub loads: Streak,
    pub stores: Streak,
    base: usize,
    host: Option<Host>,
    accel: Arc<dyn Accelerator>,
    engine: Arc<dyn FaultEngine>,
    detects: bool,
}

/// The host's copy.
struct Host {
    backing: Backing,
    view: Option<View>,
}

/// Some blocks of an object that follow each other.
#[derive(Clone)]
pub struct Run {
    pub object: Arc<Object>,
    pub blocks: Range<usize>,
}

impl Object {
    /// Allocates on the device and on the host and shows the one over the other if `one_pointer` asks for it.
    pub fn new(
        device: usize,
        accel: &Arc<dyn Accelerator>,
        engine: &Arc<dyn FaultEngine>,
        rules: &Rules,
        (protocol, block): (Protocol, usize),
        len: usize,
        one_pointer: bool,
    ) -> Result<Self> {
        let abilities = accel.abilities();
        if one_pointer && !abilities.one_pointer && !abilities.shared_memory {
            return Err(Error::NoOnePointer { device: accel.name() });
        }
        let room = match round_up(len, page_size()) {
            Some(room) if len > 0 && room <= isize::MAX as usize => room,
            Some(_) if len == 0 => return Err(Error::Size { bytes: 0, why: "it would have no address" }),
            _ => return Err(Error::Size { bytes: len, why: "no address space is that large" }),
        };
        let memory = accel.allocate(room)?;
        let block = if protocol == Protocol::Rolling { block.min(room) } else { room };
        let mut object = Self {
            device,
            len,
            room,
            block,
            memory,
            blocks: Box::default(),
            in_flight: AtomicU32::new(0),
            loads: Streak::default(),
            stores: Streak::default(),
            base: memory.host.unwrap_or_default(),
            host: None,
            accel: Arc::clone(accel),
            engine: Arc::clone(engine),
            detects: false,
        };
        if memory.host.is_none() {
            object.blocks = (0..room.div_ceil(block)).map(|_| Word::new(rules.initial)).collect();
            object.take_host_memory(one_pointer, rules)?;
        }
        Ok(object)
    }

    /// From here on, dropping the object gives back what there is of it.
    fn take_host_memory(&mut self, one_pointer: bool, rules: &Rules) -> Result<()> {
        let backing = Backing::new(self.room).map_err(Error::system("memory for a shared object"))?;
        let alias = backing.alias();
        let host = self.host.insert(Host { backing, view: None });
        let huge = rules.detects() && self.engine.likes_huge_pages();
        // SAFETY: a device with one pointer reserves the range for nothing else.
        let view = unsafe { host.backing.view(one_pointer.then_some(self.memory.address as usize), huge) }
            .map_err(Error::system("a view of a shared object"))?;
        self.base = view.base() as usize;
        host.view = Some(view);
        // SAFETY: the alias lives until the object is dropped, which unregisters it.
        unsafe { self.accel.register(alias, self.room) }?;
        let whole = self.part(0..self.blocks.len());
        if rules.detects() {
            self.engine.attach(whole).map_err(Error::system("watching a shared object"))?;
            self.detects = true;
            return Ok(());
        }
        // SAFETY: the view just made.
        if unsafe { libc::mprotect(self.base as *mut libc::c_void, self.room, libc::PROT_READ | libc::PROT_WRITE) } != 0
        {
            return Err(Error::system("opening a shared object")(std::io::Error::last_os_error()));
        }
        Ok(())
    }

    /// Where the program sees it.
    pub fn base(&self) -> usize {
        self.base
    }

    /// The addresses of its pages.
    pub fn range(&self) -> Range<usize> {
        self.base..self.base + self.room
    }

    pub fn block_of(&self, address: usize) -> usize {
        (address - self.base) / self.block
    }

    /// Offset and length of some blocks.
    pub fn bytes(&self, blocks: &Range<usize>) -> (usize, usize) {
        let start = blocks.start * self.block;
        (start, (blocks.end * self.block).min(self.room) - start)
    }

    /// Where transfers find the byte at `offset`.
    ///
    /// # Panics
    /// If CPU and device share their memory: there is nothing to transfer then.
    pub fn alias(&self, offset: usize) -> *mut u8 {
        let host = self.host.as_ref().expect("an object that transfers has a host copy");
        debug_assert!(offset < self.room);
        host.backing.alias().wrapping_add(offset)
    }

    fn part(&self, blocks: Range<usize>) -> Part {
        let (offset, len) = self.bytes(&blocks);
        Part { view: self.base + offset, alias: self.alias(offset) as usize, len }
    }

    /// Changes what the program may do to some blocks.
    pub fn protect(&self, blocks: Range<usize>, from: Protection, to: Protection) -> std::io::Result<()> {
        if !self.detects {
            return Ok(());
        }
        self.engine.protect(self.part(blocks), from, to)
    }

    pub fn is_in_flight(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Some(mut host) = self.host.take() {
            let alias = host.backing.alias();
            if self.detects {
                let part = Part { view: self.base, alias: alias as usize, len: self.room };
                self.engine.detach(part);
            }
            // Before the device's range goes, and with it whatever lies over it.
            host.view.take();
            self.accel.unregister(alias);
        }
        // A lost device has given everything back already.
        let _ = self.accel.free(self.memory);
    }
}

/// Whether faults follow each other through the object, and how far to open it at once.
#[derive(Default)]
pub struct Streak(AtomicU64);

impl Streak {
    /// A fault at `block`: how many blocks to open, itself included, at most `limit`. Doubles while faults come where the
    /// last opening ended, and ends at a multiple of its length, so that huge pages are opened whole.
    pub fn at(&self, block: usize, limit: usize) -> usize {
        let packed = self.0.load(Ordering::Relaxed);
        let (expected, last) = ((packed >> 24) as usize, (packed & 0xFF_FFFF) as usize);
        let wish = if block == expected && last > 0 { (last * 2).min(limit.max(1)) } else { 1 };
        let end = ((block + wish) / wish * wish).max(block + 1);
        self.0.store((end as u64) << 24 | wish as u64 & 0xFF_FFFF, Ordering::Relaxed);
        end - block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_double_while_faults_follow_each_other() {
        let streak = Streak::default();
        let counts: Vec<_> = [4, 5, 6, 8, 16].map(|block| streak.at(block, 8)).into();
        assert_eq!(counts, [1, 1, 2, 8, 8], "to 5, 6, 8, 16 and 24");
        assert_eq!(streak.at(3, 8), 1, "elsewhere");
        assert_eq!(streak.at(4, 1), 1, "no more than allowed");
    }
}
