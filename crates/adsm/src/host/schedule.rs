//! Which device runs a kernel: the paper's kernel scheduler (`[gmac 4.1, Fig. 5]`).
//!
//! Any device may run any kernel, because blocks migrate to it; the exception is memory that CPU and one device
//! physically share. Lost devices are skipped as long as there is another.

use super::{Host, call::Mode, lock};
use crate::{
    accel::DeviceError,
    config::Schedule,
    error::{Error, Result},
    memory::Object,
};
use std::sync::{Arc, atomic::Ordering};

impl Host {
    /// The device for a kernel that uses these objects: the one that was `asked` for, or else the policy's choice.
    pub fn choose(&self, objects: &[(Arc<Object>, Mode)], asked: Option<usize>) -> Result<usize> {
        let mut must = asked;
        for (object, _) in objects.iter().filter(|(object, _)| object.is_pinned()) {
            let device = *must.get_or_insert(object.home);
            if device != object.home {
                let name = |device: usize| self.accels[device].name();
                return Err(Error::TwoDevices { one: name(device), other: name(object.home) });
            }
        }
        if let Some(device) = must {
            return self.check_device(device).map(|()| device);
        }
        if self.accels.len() == 1 {
            return Ok(0);
        }
        let healthy = |device: &usize| !self.lost[*device].load(Ordering::Relaxed);
        let mut devices: Vec<usize> = (0..self.accels.len()).filter(healthy).collect();
        if devices.is_empty() {
            devices = (0..self.accels.len()).collect();
        }
        let least = |cost: &dyn Fn(usize) -> (usize, usize)| devices.iter().copied().min_by_key(|&device| cost(device));
        let policy = *lock(&self.schedule);
        let chosen = match policy {
            Schedule::Fixed(device) => return self.check_device(device).map(|()| device),
            Schedule::RoundRobin => {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed);
                devices.get(turn % devices.len()).copied()
            }
            Schedule::LeastLoaded => least(&|device| (self.load(device), device)),
            Schedule::Affinity => least(&|device| missing(objects, device)),
        };
        Ok(chosen.unwrap_or(0))
    }

    /// Number of unfinished kernels of a device.
    fn load(&self, device: usize) -> usize {
        let flights: Vec<_> = lock(&self.flights).iter().filter(|flight| flight.device == device).cloned().collect();
        flights.iter().filter(|flight| flight.is_running(&*self.accels[device])).count()
    }

    /// Marks a device as lost if the error reports its loss.
    pub(super) fn heed(&self, device: usize, error: &Error) {
        if matches!(error, Error::Device(DeviceError::Lost { .. })) {
            self.lost[device].store(true, Ordering::Relaxed);
        }
    }
}

/// Number of bytes of some objects that a device lacks, and number of these objects that another device used last.
fn missing(objects: &[(Arc<Object>, Mode)], device: usize) -> (usize, usize) {
    let of = |object: &Arc<Object>| {
        let lacks = |index: &usize| !object.holders[*index].has(device);
        (0..object.blocks.len()).filter(lacks).map(|index| object.bytes(&(index..index + 1)).1).sum::<usize>()
    };
    let strangers = objects.iter().filter(|(object, _)| object.last() != device).count();
    (objects.iter().map(|(object, _)| of(object)).sum(), strangers)
}
