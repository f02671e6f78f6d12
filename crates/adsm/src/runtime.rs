//! A runtime: its devices, its settings, and the objects allocated on the devices.

use crate::{
    accel::{
        Accelerator, KernelSource,
        cuda::Cuda,
        opencl::OpenCl,
        sim::{Sim, SimSpec},
    },
    api::{Kernel, Pod, Shared},
    config::{Config, Faults, Placement, Schedule},
    error::{Error, Result},
    host::{Host, lock},
    memory::{self, MOST_DEVICES, Object},
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

/// A runtime: devices, settings, objects. Clones are handles to the same runtime.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    host: Arc<Host>,
    engines: Engines,
    turn: AtomicUsize,
    stats: Arc<Counters>,
    trace: Arc<Trace>,
}

/// The counters of all runtimes, for [`stats`].
static COUNTERS: Mutex<Vec<Weak<Counters>>> = Mutex::new(Vec::new());

/// A kind of device, as `ADSM_DEVICE` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// This number of simulated devices: `sim`, `sim:3`.
    Sim(usize),
    OpenCl,
    Cuda,
}

impl FromStr for DeviceKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sim" => Ok(Self::Sim(1)),
            "opencl" => Ok(Self::OpenCl),
            "cuda" => Ok(Self::Cuda),
            _ => match text.strip_prefix("sim:").and_then(|count| count.parse().ok()) {
                Some(count) => Ok(Self::Sim(count)),
                None => Err("one of sim, sim:COUNT, opencl, cuda".to_owned()),
            },
        }
    }
}

impl DeviceKind {
    /// Opens all devices of this kind.
    pub fn open(self) -> Result<Vec<Arc<dyn Accelerator>>> {
        Ok(match self {
            Self::Sim(count) => (0..count.min(MOST_DEVICES))
                .map(|_| Arc::new(Sim::new(SimSpec::default())) as Arc<dyn Accelerator>)
                .collect(),
            Self::OpenCl => OpenCl::all()?.into_iter().map(|device| Arc::new(device) as Arc<dyn Accelerator>).collect(),
            Self::Cuda => Cuda::all()?.into_iter().map(|cuda| Arc::new(cuda) as Arc<dyn Accelerator>).collect(),
        })
    }
}

impl Runtime {
    /// A runtime as the `ADSM_*` variables describe it; by default with all CUDA devices, or else all OpenCL devices.
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

    /// A runtime with these devices and settings.
    pub fn with(accelerators: Vec<Arc<dyn Accelerator>>, config: Config) -> Result<Self> {
        let config = config.checked()?;
        crate::capi::register_io();
        let engines = match config.faults {
            Faults::Mprotect => Engines::mprotect(),
            Faults::Userfaultfd => Engines::userfaultfd(false),
            Faults::UserfaultfdUserOnly => Engines::userfaultfd(true),
        }
        .map_err(Error::system("a way to hear of page faults"))?;
        let (stats, trace) = (Arc::new(Counters::default()), Arc::new(Trace::new(config.trace.clone())));
        let host = Arc::new(Host::new(accelerators, config, &engines, Arc::clone(&stats), Arc::clone(&trace))?);
        let mut counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
        counters.retain(|weak| weak.strong_count() > 0);
        counters.push(Arc::downgrade(&stats));
        drop(counters);
        Ok(Self(Arc::new(Inner { host, engines, turn: AtomicUsize::new(0), stats, trace })))
    }

    /// Allocates `len` zero elements with one address for CPU and device.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Shared<[T]>> {
        self.alloc_on(self.choose(), len)
    }

    /// Variant of [`alloc`](Self::alloc) with a chosen home: the device whose address for the object is also the CPU's.
    /// Kernels on other devices can use the object too, but its address stored inside other objects is only valid on
    /// its home.
    pub fn alloc_on<T: Pod>(&self, device: usize, len: usize) -> Result<Shared<[T]>> {
        self.shared(device, len, true)
    }

    /// Allocates `len` zero elements with different addresses for CPU and device, see [`Shared::safe`].
    pub fn safe_alloc<T: Pod>(&self, len: usize) -> Result<Shared<[T]>> {
        self.shared(self.choose(), len, false)
    }

    fn shared<T: Pod>(&self, device: usize, len: usize, one_pointer: bool) -> Result<Shared<[T]>> {
        let bytes =
            len.checked_mul(size_of::<T>()).ok_or(Error::Size { bytes: usize::MAX, why: "its length overflows" })?;
        // At least one byte, so that an empty slice has an address too.
        let object = self.0.host.allocate(device, bytes.max(1), one_pointer)?;
        Ok(Shared::new(Arc::clone(&self.0.host), object, len))
    }

    /// Creates a kernel. Its code is loaded when it is first called on a device.
    pub fn kernel(&self, source: KernelSource) -> Kernel {
        Kernel::new(self.clone(), source)
    }

    /// Waits for all calls so far.
    pub fn sync(&self) -> Result<()> {
        self.0.host.sync_all()
    }

    /// The host's side, on which the interfaces are built.
    pub fn host(&self) -> &Arc<Host> {
        &self.0.host
    }

    /// Number of devices, which are numbered from 0.
    pub fn devices(&self) -> usize {
        self.0.host.accels.len()
    }

    /// Sets the scheduling policy of later kernels.
    pub fn set_schedule(&self, schedule: Schedule) -> Result<()> {
        if let Schedule::Fixed(device) = schedule {
            self.0.host.check_device(device)?;
        }
        *lock(&self.0.host.schedule) = schedule;
        Ok(())
    }

    /// Totals since the runtime was created.
    pub fn stats(&self) -> Stats {
        self.0.stats.snapshot()
    }

    /// The fault engine in use, and why it is not the requested one.
    pub fn engine(&self) -> (&'static str, Option<&str>) {
        (self.0.engines.engine.name(), self.0.engines.fell_back.as_deref())
    }

    /// The trace so far, as JSON for Perfetto.
    pub fn trace_json(&self) -> String {
        self.0.trace.json()
    }

    /// The object of this runtime that contains `address`.
    pub fn find(&self, address: usize) -> Result<Arc<Object>> {
        let object = memory::find(address).map_err(|freed| Error::Foreign { address, freed })?.object;
        // The object may belong to another runtime.
        if self.0.host.holds(&object) { Ok(object) } else { Err(Error::Foreign { address, freed: false }) }
    }

    pub(crate) fn write_trace(&self) {
        if let Err(error) = self.0.trace.write() {
            eprintln!("adsm: the trace can't be written: {error}");
        }
    }

    /// The home device of the next object.
    pub(crate) fn choose(&self) -> usize {
        let (host, devices) = (&self.0.host, self.devices());
        match host.config.placement {
            Placement::First => 0,
            Placement::RoundRobin => self.0.turn.fetch_add(1, Ordering::Relaxed) % devices,
            Placement::LeastFilled => {
                let mut filled = vec![0; devices];
                host.objects().iter().for_each(|object| filled[object.home] += object.len);
                (0..devices).min_by_key(|&device| filled[device]).unwrap_or(0)
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.trace.write() {
            eprintln!("adsm: the trace can't be written: {error}");
        }
    }
}

/// The totals of all runtimes of the process.
pub fn stats() -> Stats {
    let counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    counters.iter().filter_map(Weak::upgrade).fold(Stats::default(), |sum, one| sum.plus(&one.snapshot()))
}
