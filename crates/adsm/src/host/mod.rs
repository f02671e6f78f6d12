//! The host's side of the protocols, for all devices of a runtime. The devices only carry out commands.
//!
//! - `access`: page faults.
//! - `evict`: the dirty queue of rolling-update, and uploads in flight.
//! - `arrive`: early downloads.
//! - `call`: release on a kernel call, acquire on its return.
//! - `migrate`: transfers between devices.
//! - `schedule`: which device runs a kernel.
//!
//! **Invariant**: locks are taken in this order, and shared memory is never accessed under any of them: `calling`, a
//! flight's `finishing`, an arrival's `landed`, blocks by ascending address, `landing`, `arriving`, `dirty`, `flights`.

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

/// The host's side of a runtime.
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
    /// The error of a call that returned because the program accessed its objects, for the next synchronisation.
    unreported: Mutex<Option<DeviceError>>,
    call_number: AtomicU64,
    pub(crate) schedule: Mutex<Schedule>,
    turn: AtomicUsize,
    /// Devices that have reported that they are lost.
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

    /// Allocates a new object of zeros with its home on a device.
    pub fn allocate(self: &Arc<Self>, device: usize, len: usize, one_pointer: bool) -> Result<Arc<Object>> {
        self.check_process()?;
        self.check_device(device)?;
        let shape = (self.config.protocol, self.config.block);
        let object = Object::new(device, &self.accels, &self.engine, &self.rules, shape, len, one_pointer)?;
        let object = Arc::new(object);
        let mut objects = lock(&self.objects);
        objects.insert(object.base(), Arc::clone(&object));
        // Reserve space now, so that a fault need not allocate.
        lock(&self.dirty).reserve(2 * objects.len() + self.config.rolling.min(4096) + 2);
        lock(&self.landing).reserve(evict::MOST_LANDING + 2);
        let keeper: Arc<dyn memory::Keeper> = Arc::<Self>::clone(self);
        memory::register(Registered { object: Arc::clone(&object), keeper });
        Ok(object)
    }

    /// Frees an object and its memory on all devices.
    pub fn free(&self, object: &Arc<Object>) -> Result<()> {
        self.check_process()?;
        if object.is_in_flight() {
            return Err(Error::InFlight { address: object.base() });
        }
        // The first free wins; a second one finds nothing.
        let Some(_registered) = memory::unregister(object.base()) else {
            return Err(Error::Foreign { address: object.base(), freed: true });
        };
        lock(&self.objects).remove(&object.base());
        lock(&self.dirty).forget(object);
        self.land_all_of(object);
        self.end_arrivals_of(object);
        Ok(())
    }

    /// All objects, by ascending address.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        lock(&self.objects).values().cloned().collect()
    }

    /// Whether an object belongs to this runtime.
    pub fn holds(&self, object: &Arc<Object>) -> bool {
        lock(&self.objects).get(&object.base()).is_some_and(|own| Arc::ptr_eq(own, object))
    }

    /// Maximum number of dirty runs of blocks: the paper's rule is two per object.
    pub fn rolling_size(&self) -> usize {
        match self.config.rolling {
            0 => 2 * lock(&self.objects).len(),
            fixed => fixed,
        }
    }

    /// Whether system calls may access shared objects directly.
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
    /// Waits for transfers that a thread serving a fault may have started for an object that was freed meanwhile: its
    /// memory must not be freed before they have ended.
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
