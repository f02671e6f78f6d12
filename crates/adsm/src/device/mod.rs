//! A device and everything of it that is shared: the host's side of the protocols at work.
//!
//! - `access`: a page fault asks for a block.
//! - `evict`: the dirty queue of rolling-update, and transfers that have not landed yet.
//! - `call`: release on a kernel call, acquire on its return.
//!
//! Locks are taken in this order, and shared memory is never touched under any: `calling`, blocks by ascending address,
//! `landing`, `dirty`, `flights`.

mod access;
mod bulk;
mod call;
mod evict;
mod queue;

pub use call::{Flight, Launch, Mode};

use crate::{
    accel::{Accelerator, DeviceError},
    coherence::Rules,
    config::Config,
    error::{Error, Result},
    memory::{self, Object, Registered},
    os::{Engines, FaultEngine},
    stats::Counters,
    trace::Trace,
};
use evict::Landing;
use queue::Queue;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

/// See the module.
pub struct Device {
    pub index: usize,
    pub accel: Arc<dyn Accelerator>,
    pub config: Config,
    pub(crate) rules: Rules,
    pub(crate) engine: Arc<dyn FaultEngine>,
    pub(crate) stats: Arc<Counters>,
    pub(crate) trace: Arc<Trace>,
    process: u32,
    poisons: bool,
    shares_memory: bool,
    objects: Mutex<BTreeMap<usize, Arc<Object>>>,
    dirty: Mutex<Queue>,
    landing: Mutex<VecDeque<Landing>>,
    flights: Mutex<Vec<Arc<Flight>>>,
    calling: Mutex<()>,
    /// The error of a call that returned because the program touched its objects, for the next synchronisation.
    unreported: Mutex<Option<DeviceError>>,
    call_number: AtomicU64,
}

impl Device {
    pub(crate) fn new(
        index: usize,
        accel: Arc<dyn Accelerator>,
        config: Config,
        engines: &Engines,
        stats: Arc<Counters>,
        trace: Arc<Trace>,
    ) -> Self {
        let abilities = accel.abilities();
        Self {
            index,
            rules: Rules::of(config.protocol),
            config,
            engine: Arc::clone(&engines.engine),
            stats,
            trace,
            process: std::process::id(),
            poisons: abilities.poisons,
            shares_memory: abilities.shared_memory,
            accel,
            objects: Mutex::default(),
            dirty: Mutex::default(),
            landing: Mutex::default(),
            flights: Mutex::default(),
            calling: Mutex::default(),
            unreported: Mutex::default(),
            call_number: AtomicU64::new(0),
        }
    }

    /// A new object of zeroes.
    pub fn allocate(self: &Arc<Self>, len: usize, one_pointer: bool) -> Result<Arc<Object>> {
        self.check_process()?;
        let shape = (self.config.protocol, self.config.block);
        let object = Object::new(self.index, &self.accel, &self.engine, &self.rules, shape, len, one_pointer)?;
        let object = Arc::new(object);
        let mut objects = lock(&self.objects);
        objects.insert(object.base(), Arc::clone(&object));
        // What a fault will add to must not allocate then.
        lock(&self.dirty).reserve(2 * objects.len() + self.config.rolling.min(4096) + 2);
        lock(&self.landing).reserve(evict::MOST_LANDING + 2);
        let keeper: Arc<dyn memory::Keeper> = Arc::<Self>::clone(self);
        memory::register(Registered { object: Arc::clone(&object), keeper });
        Ok(object)
    }

    /// Gives an object back. Its bytes are gone, on both sides.
    pub fn free(&self, object: &Arc<Object>) -> Result<()> {
        self.check_process()?;
        if object.is_in_flight() {
            return Err(Error::InFlight { address: object.base() });
        }
        // Whoever comes first frees it; a second free finds nothing.
        let Some(_registered) = memory::unregister(object.base()) else {
            return Err(Error::Foreign { address: object.base(), freed: true });
        };
        lock(&self.objects).remove(&object.base());
        lock(&self.dirty).forget(object);
        self.land_all_of(object);
        Ok(())
    }

    /// Every object that lives here, by ascending address.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        lock(&self.objects).values().cloned().collect()
    }

    /// Whether an object lives here.
    pub fn holds(&self, object: &Arc<Object>) -> bool {
        lock(&self.objects).get(&object.base()).is_some_and(|own| Arc::ptr_eq(own, object))
    }

    /// How many runs of blocks may be dirty: the paper's rule is two for each object. Never less than two: a store that
    /// straddles two blocks needs both at once, or it would fault for ever.
    pub fn rolling_size(&self) -> usize {
        match self.config.rolling {
            0 => 2 * lock(&self.objects).len(),
            fixed => fixed.max(2),
        }
    }

    /// Whether a system call may touch shared objects as they are.
    pub fn serves_system_calls(&self) -> bool {
        !self.rules.detects() || self.shares_memory || self.engine.serves_system_calls()
    }

    pub(crate) fn check_process(&self) -> Result<()> {
        if std::process::id() == self.process { Ok(()) } else { Err(Error::Forked) }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
