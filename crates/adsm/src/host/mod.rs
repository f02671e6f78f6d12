//! The host's side of the protocols at work, for every device of a runtime: the devices do nothing but what they are told.
//!
//! - `access`: a page fault asks for a block.
//! - `evict`: the dirty queue of rolling-update, and uploads that have not landed yet.
//! - `arrive`: downloads that were started before anybody asked.
//! - `call`: release on a kernel call, acquire on its return.
//! - `migrate`: a device needs what only another one has.
//! - `schedule`: which device runs a kernel.
//!
//! Locks are taken in this order, and shared memory is never touched under any: `calling`, a flight's `finishing`, an arrival's
//! `landed`, blocks by ascending address, `landing`, `arriving`, `dirty`, `flights`.

mod access;
mod arrive;
mod bulk;
mod call;
mod evict;
mod migrate;
mod queue;
mod schedule;

pub use call::{Flight, Given, Launch, Mode};

use crate::{
    accel::{Accelerator, DeviceError},
    coherence::Rules,
    config::{Config, Schedule},
    error::{Error, Result},
    memory::{self, MOST_DEVICES, Object, Registered},
    os::{Engines, FaultEngine},
    stats::Counters,
    trace::Trace,
};
use arrive::Arriving;
use evict::Landing;
use queue::Queue;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize},
    },
};

/// See the module.
pub struct Host {
    pub accels: Arc<[Arc<dyn Accelerator>]>,
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
    arriving: Mutex<Vec<Arc<Arriving>>>,
    flights: Mutex<Vec<Arc<Flight>>>,
    calling: Mutex<()>,
    /// The error of a call that returned because the program touched its objects, for the next synchronisation.
    unreported: Mutex<Option<DeviceError>>,
    call_number: AtomicU64,
    pub(crate) schedule: Mutex<Schedule>,
    turn: AtomicUsize,
    /// Devices that have told that they are lost.
    lost: Box<[AtomicBool]>,
}

impl Host {
    pub(crate) fn new(
        accels: Vec<Arc<dyn Accelerator>>,
        config: Config,
        engines: &Engines,
        stats: Arc<Counters>,
        trace: Arc<Trace>,
    ) -> Result<Self> {
        if accels.is_empty() || accels.len() > MOST_DEVICES {
            let why = format!("a runtime has 1 to {MOST_DEVICES} devices, not {}", accels.len());
            return Err(Error::NoRuntime { why });
        }
        Ok(Self {
            rules: Rules::of(config.protocol),
            engine: Arc::clone(&engines.engine),
            stats,
            trace,
            process: std::process::id(),
            poisons: accels.iter().any(|accel| accel.abilities().poisons),
            shares_memory: accels.iter().all(|accel| accel.abilities().shared_memory),
            objects: Mutex::default(),
            dirty: Mutex::default(),
            landing: Mutex::default(),
            arriving: Mutex::default(),
            flights: Mutex::default(),
            calling: Mutex::default(),
            unreported: Mutex::default(),
            call_number: AtomicU64::new(0),
            schedule: Mutex::new(config.schedule),
            turn: AtomicUsize::new(0),
            lost: accels.iter().map(|_| AtomicBool::new(false)).collect(),
            accels: accels.into(),
            config,
        })
    }

    /// A new object of zeroes, at home on a device.
    pub fn allocate(self: &Arc<Self>, device: usize, len: usize, one_pointer: bool) -> Result<Arc<Object>> {
        self.check_process()?;
        self.check_device(device)?;
        let shape = (self.config.protocol, self.config.block);
        let object = Object::new(device, &self.accels, &self.engine, &self.rules, shape, len, one_pointer)?;
        let object = Arc::new(object);
        let mut objects = lock(&self.objects);
        objects.insert(object.base(), Arc::clone(&object));
        // What a fault will add to should not allocate then.
        lock(&self.dirty).reserve(2 * objects.len() + self.config.rolling.min(4096) + 2);
        lock(&self.landing).reserve(evict::MOST_LANDING + 2);
        let keeper: Arc<dyn memory::Keeper> = Arc::<Self>::clone(self);
        memory::register(Registered { object: Arc::clone(&object), keeper });
        Ok(object)
    }

    /// Gives an object back. Its bytes are gone, everywhere.
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
        self.end_arrivals_of(object);
        Ok(())
    }

    /// Every object, by ascending address.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        lock(&self.objects).values().cloned().collect()
    }

    /// Whether an object is one of these.
    pub fn holds(&self, object: &Arc<Object>) -> bool {
        lock(&self.objects).get(&object.base()).is_some_and(|own| Arc::ptr_eq(own, object))
    }

    /// How many runs of blocks may be dirty: the paper's rule is two for each object.
    pub fn rolling_size(&self) -> usize {
        match self.config.rolling {
            0 => 2 * lock(&self.objects).len(),
            fixed => fixed,
        }
    }

    /// Whether a system call may touch shared objects as they are.
    pub fn serves_system_calls(&self) -> bool {
        !self.rules.detects() || self.shares_memory || self.engine.serves_system_calls()
    }

    pub(crate) fn check_process(&self) -> Result<()> {
        if std::process::id() == self.process { Ok(()) } else { Err(Error::Forked) }
    }

    pub(crate) fn check_device(&self, device: usize) -> Result<()> {
        if device < self.accels.len() {
            return Ok(());
        }
        let expected = format!("there are {}, and the first is 0", self.accels.len());
        Err(Error::Setting { variable: "device".to_owned(), value: device.to_string(), expected })
    }
}

impl Drop for Host {
    /// A thread that served a fault may have set transfers going for an object that the program freed meanwhile: its memory must
    /// not go before they have ended.
    fn drop(&mut self) {
        if self.check_process().is_err() {
            return;
        }
        for Landing { device, ticket, .. } in lock(&self.landing).iter() {
            let _ = self.accels[*device].wait(*ticket);
        }
        for arriving in lock(&self.arriving).iter() {
            let _ = self.accels[arriving.device].wait(arriving.ticket);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
