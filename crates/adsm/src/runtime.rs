//! A runtime: devices, settings, and what is allocated on them.

use crate::{
    accel::{
        Accelerator, KernelSource,
        cuda::Cuda,
        opencl::OpenCl,
        sim::{Sim, SimSpec},
    },
    api::{Kernel, Pod, Shared},
    config::{Config, Faults},
    device::Device,
    error::{Error, Result},
    memory::{self, Object},
    os::Engines,
    stats::{Counters, Stats},
    trace::Trace,
};
use std::{
    str::FromStr,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Which device gets an object when the program does not say. A kernel runs where its objects are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The first device.
    #[default]
    First,
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest bytes in objects.
    LeastFilled,
}

/// See the module. Clones are the same runtime.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    devices: Vec<Arc<Device>>,
    engines: Engines,
    policy: Policy,
    turn: AtomicUsize,
    stats: Arc<Counters>,
    trace: Arc<Trace>,
}

/// Every runtime's counters, for [`stats`].
static COUNTERS: Mutex<Vec<Weak<Counters>>> = Mutex::new(Vec::new());

/// A kind of device, as `ADSM_DEVICE` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    Sim,
    OpenCl,
    Cuda,
}

impl FromStr for DeviceKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sim" => Ok(Self::Sim),
            "opencl" => Ok(Self::OpenCl),
            "cuda" => Ok(Self::Cuda),
            _ => Err("one of sim, opencl, cuda".to_owned()),
        }
    }
}

impl DeviceKind {
    /// Every device of this kind.
    pub fn open(self) -> Result<Vec<Arc<dyn Accelerator>>> {
        Ok(match self {
            Self::Sim => vec![Arc::new(Sim::new(SimSpec::default()))],
            Self::OpenCl => OpenCl::all()?.into_iter().map(|device| Arc::new(device) as Arc<dyn Accelerator>).collect(),
            Self::Cuda => Cuda::all()?.into_iter().map(|cuda| Arc::new(cuda) as Arc<dyn Accelerator>).collect(),
        })
    }
}

impl Runtime {
    /// The devices and settings that the `ADSM_*` variables name; by default every CUDA device, or else every OpenCL device.
    pub fn new() -> Result<Self> {
        let config = Config::from_env()?;
        let variable = "ADSM_DEVICE".to_owned();
        let devices = match std::env::var(&variable) {
            Ok(value) => {
                let kind: Result<DeviceKind, _> = value.parse();
                kind.map_err(|expected| Error::Setting { variable, value, expected })?.open()?
            }
            Err(_) => DeviceKind::Cuda.open().or_else(|no_cuda| {
                DeviceKind::OpenCl.open().map_err(|no_opencl| Error::NoRuntime {
                    why: format!("{no_cuda}; {no_opencl}; ADSM_DEVICE=sim simulates a device"),
                })
            })?,
        };
        Self::with(devices, config)
    }

    /// These devices, these settings.
    pub fn with(accelerators: Vec<Arc<dyn Accelerator>>, config: Config) -> Result<Self> {
        Self::with_policy(accelerators, config, Policy::default())
    }

    pub fn with_policy(accelerators: Vec<Arc<dyn Accelerator>>, config: Config, policy: Policy) -> Result<Self> {
        let config = config.checked()?;
        crate::capi::register_io();
        let engines = match config.faults {
            Faults::Mprotect => Engines::mprotect(),
            Faults::Userfaultfd => Engines::userfaultfd(false),
            Faults::UserfaultfdUserOnly => Engines::userfaultfd(true),
        }
        .map_err(Error::system("a way to hear of page faults"))?;
        let (stats, trace) = (Arc::new(Counters::default()), Arc::new(Trace::new(config.trace.clone())));
        let device = |(index, accel)| {
            let (stats, trace) = (Arc::clone(&stats), Arc::clone(&trace));
            Arc::new(Device::new(index, accel, config.clone(), &engines, stats, trace))
        };
        let devices: Vec<_> = accelerators.into_iter().enumerate().map(device).collect();
        let mut counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
        counters.retain(|weak| weak.strong_count() > 0);
        counters.push(Arc::downgrade(&stats));
        drop(counters);
        Ok(Self(Arc::new(Inner { devices, engines, policy, turn: AtomicUsize::new(0), stats, trace })))
    }

    /// `len` elements of zero that CPU and device know by one address.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Shared<[T]>> {
        self.alloc_on(self.choose()?, len)
    }

    /// The same on a device of the program's choice.
    pub fn alloc_on<T: Pod>(&self, device: usize, len: usize) -> Result<Shared<[T]>> {
        self.shared(device, len, true)
    }

    /// `len` elements of zero that the CPU knows by one address and the device by another, see [`Shared::safe`].
    pub fn safe_alloc<T: Pod>(&self, len: usize) -> Result<Shared<[T]>> {
        self.shared(self.choose()?, len, false)
    }

    fn shared<T: Pod>(&self, device: usize, len: usize, one_pointer: bool) -> Result<Shared<[T]>> {
        let bytes =
            len.checked_mul(size_of::<T>()).ok_or(Error::Size { bytes: usize::MAX, why: "its length overflows" })?;
        let device = self.device(device)?;
        // Nothing is smaller than a byte; an empty slice still has an address.
        let object = device.allocate(bytes.max(1), one_pointer)?;
        Ok(Shared::new(Arc::clone(device), object, len))
    }

    /// Makes a kernel known. Its code is loaded when it is first called on a device.
    pub fn kernel(&self, source: KernelSource) -> Kernel {
        Kernel::new(self.clone(), source)
    }

    /// Waits for every call so far.
    pub fn sync(&self) -> Result<()> {
        // All of them, even if one fails; the first error is told.
        let results: Vec<_> = self.0.devices.iter().map(|device| device.sync_all()).collect();
        results.into_iter().collect()
    }

    pub fn devices(&self) -> &[Arc<Device>] {
        &self.0.devices
    }

    pub fn device(&self, index: usize) -> Result<&Arc<Device>> {
        self.0.devices.get(index).ok_or_else(|| Error::Setting {
            variable: "device".to_owned(),
            value: index.to_string(),
            expected: format!("there are {}", self.0.devices.len()),
        })
    }

    /// Totals since the runtime was made.
    pub fn stats(&self) -> Stats {
        self.0.stats.snapshot()
    }

    /// The way page faults are heard of, and why it is not the one that was asked for.
    pub fn engine(&self) -> (&'static str, Option<&str>) {
        (self.0.engines.engine.name(), self.0.engines.fell_back.as_deref())
    }

    /// The trace so far, in the JSON that Perfetto reads.
    pub fn trace_json(&self) -> String {
        self.0.trace.json()
    }

    /// The object of this runtime in which `address` lies, with its device.
    pub fn find(&self, address: usize) -> Result<(Arc<Object>, &Arc<Device>)> {
        let object = memory::find(address).map_err(|freed| Error::Foreign { address, freed })?.object;
        // An object of another runtime has the number of a device that is not ours.
        let device = self.0.devices.get(object.device).filter(|device| device.holds(&object));
        device.map(|device| (object, device)).ok_or(Error::Foreign { address, freed: false })
    }

    /// The device on which the policy puts the next object.
    pub(crate) fn chosen(&self) -> Result<&Arc<Device>> {
        self.device(self.choose()?)
    }

    pub(crate) fn write_trace(&self) {
        if let Err(error) = self.0.trace.write() {
            eprintln!("adsm: the trace can't be written: {error}");
        }
    }

    fn choose(&self) -> Result<usize> {
        let inner = &self.0;
        Ok(match inner.policy {
            Policy::First => 0,
            Policy::RoundRobin => inner.turn.fetch_add(1, Ordering::Relaxed) % inner.devices.len().max(1),
            Policy::LeastFilled => {
                let filled = |device: &&Arc<Device>| device.objects().iter().map(|object| object.len).sum::<usize>();
                inner.devices.iter().min_by_key(filled).map_or(0, |device| device.index)
            }
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.trace.write() {
            eprintln!("adsm: the trace can't be written: {error}");
        }
    }
}

/// The totals of every runtime of the process.
pub fn stats() -> Stats {
    let counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    counters.iter().filter_map(Weak::upgrade).fold(Stats::default(), |sum, one| sum.plus(&one.snapshot()))
}
