//! A shared object: host memory, device memory, and a state for each block.

use super::{Habit, Handover, Holders, Streak, Word};
use crate::{
    accel::{Accelerator, DeviceError, DeviceMemory},
    coherence::Rules,
    config::Protocol,
    error::{Error, Result},
    os::{Backing, FaultEngine, Part, Protection, View, page_size, round_up},
};
use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

/// A shared object.
pub struct Object {
    /// The device whose address for the object is also the program's, if the object has one pointer.
    pub home: usize,
    /// The requested length.
    pub len: usize,
    /// The length rounded up to pages.
    room: usize,
    pub block: usize,
    /// The blocks' states; empty if CPU and device share their memory.
    pub blocks: Box<[Word]>,
    /// For each block, the devices that have it.
    pub holders: Box<[Holders]>,
    /// Number of calls in flight that use it.
    pub in_flight: AtomicU32,
    /// Sequential loads and stores: where the next fault of a sequence would be, and how long the last opening was.
    pub loads: Streak,
    pub stores: Streak,
    pub habit: Habit,
    pub handover: Handover,
    /// The device that used it last.
    last: AtomicUsize,
    /// The object's memory on each device that has used it.
    places: Box<[OnceLock<DeviceMemory>]>,
    base: usize,
    host: Option<HostCopy>,
    accels: Arc<[Arc<dyn Accelerator>]>,
    engine: Arc<dyn FaultEngine>,
    detects: bool,
}

struct HostCopy {
    backing: Backing,
    view: Option<View>,
}

/// Consecutive blocks of an object.
#[derive(Clone)]
pub struct Run {
    pub object: Arc<Object>,
    pub blocks: Range<usize>,
}

impl Object {
    /// Allocates the object on its home and on the host. With `one_pointer`, maps the host memory over the device's
    /// range.
    pub fn new(
        home: usize,
        accels: &Arc<[Arc<dyn Accelerator>]>,
        engine: &Arc<dyn FaultEngine>,
        rules: &Rules,
        (protocol, block): (Protocol, usize),
        len: usize,
        one_pointer: bool,
    ) -> Result<Self> {
        let accel = &accels[home];
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
        let count = if memory.host.is_none() { room.div_ceil(block) } else { 0 };
        let places: Box<[OnceLock<DeviceMemory>]> = accels.iter().map(|_| OnceLock::new()).collect();
        let _ = places[home].set(memory);
        let mut object = Self {
            home,
            len,
            room,
            block,
            blocks: (0..count).map(|_| Word::new(rules.initial)).collect(),
            holders: (0..count).map(|_| Holders::new(home)).collect(),
            in_flight: AtomicU32::new(0),
            loads: Streak::default(),
            stores: Streak::default(),
            habit: Habit::new(count),
            handover: Handover::new(count),
            last: AtomicUsize::new(home),
            places,
            base: memory.host.unwrap_or_default(),
            host: None,
            accels: Arc::clone(accels),
            engine: Arc::clone(engine),
            detects: false,
        };
        if memory.host.is_none() {
            object.take_host_memory(one_pointer.then_some(memory.address as usize), rules)?;
        }
        Ok(object)
    }

    /// From here on, dropping the object frees what has been allocated.
    fn take_host_memory(&mut self, over: Option<usize>, rules: &Rules) -> Result<()> {
        let backing = Backing::new(self.room).map_err(Error::system("memory for a shared object"))?;
        let alias = backing.alias();
        let host = self.host.insert(HostCopy { backing, view: None });
        let huge = rules.detects() && self.engine.likes_huge_pages();
        // SAFETY: a device with one pointer reserves the range for nothing else.
        let view = unsafe { host.backing.view(over, huge) }.map_err(Error::system("a view of a shared object"))?;
        self.base = view.base() as usize;
        host.view = Some(view);
        // SAFETY: the alias lives until the object is dropped, which unregisters it.
        unsafe { self.accels[self.home].register(alias, self.room) }?;
        let whole = self.part(0..self.blocks.len());
        if rules.detects() {
            self.engine.attach(whole).map_err(Error::system("watching a shared object"))?;
            self.detects = true;
            return Ok(());
        }
        // SAFETY: the view just created.
        if unsafe { libc::mprotect(self.base as *mut libc::c_void, self.room, libc::PROT_READ | libc::PROT_WRITE) } != 0
        {
            return Err(Error::system("opening a shared object")(std::io::Error::last_os_error()));
        }
        Ok(())
    }

    /// Its memory on its home.
    pub fn memory(&self) -> DeviceMemory {
        *self.places[self.home].get().expect("an object has memory on its home")
    }

    /// Its memory on a device, if it has any.
    pub fn place(&self, device: usize) -> Option<DeviceMemory> {
        self.places[device].get().copied()
    }

    /// Allocates memory on a device if the object has none there. Only one thread may call this at a time.
    pub fn take_place(&self, device: usize) -> Result<(), DeviceError> {
        if self.place(device).is_some() {
            return Ok(());
        }
        let memory = self.accels[device].allocate(self.room)?;
        // SAFETY: the alias lives until the object is dropped, which unregisters it.
        if let Err(error) = unsafe { self.accels[device].register(self.alias(0), self.room) } {
            let _ = self.accels[device].free(memory);
            return Err(error);
        }
        let _ = self.places[device].set(memory);
        Ok(())
    }

    /// Whether CPU and home share its memory, so that it can't be used on other devices.
    pub fn is_pinned(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The device that used it last: early evictions go there.
    pub fn last(&self) -> usize {
        self.last.load(Ordering::Relaxed)
    }

    pub fn used_by(&self, device: usize) {
        self.last.store(device, Ordering::Relaxed);
    }

    /// Makes the copies of these blocks on test devices unusable, because the host owns the blocks now.
    pub fn poison(&self, blocks: &Range<usize>) {
        let (offset, len) = self.bytes(blocks);
        for (accel, place) in self.accels.iter().zip(&self.places) {
            if let Some(memory) = place.get() {
                accel.poison(memory, offset, len);
            }
        }
    }

    /// The program's address of the object.
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

    /// Offset and length of some blocks, in bytes.
    pub fn bytes(&self, blocks: &Range<usize>) -> (usize, usize) {
        let start = blocks.start * self.block;
        (start, (blocks.end * self.block).min(self.room) - start)
    }

    /// The address at which transfers access the byte at `offset`.
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

    /// Changes the protection of some blocks.
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
        let alias = self.host.as_ref().map(|host| host.backing.alias());
        if let Some(host) = &mut self.host {
            if self.detects {
                let part = Part { view: self.base, alias: host.backing.alias() as usize, len: self.room };
                self.engine.detach(part);
            }
            // Before the device's range is freed, and with it everything mapped over it.
            host.view.take();
        }
        for (accel, place) in self.accels.iter().zip(&self.places) {
            let Some(memory) = place.get() else { continue };
            if let Some(alias) = alias {
                accel.unregister(alias);
            }
            // A lost device has already freed everything.
            let _ = accel.free(*memory);
        }
    }
}
