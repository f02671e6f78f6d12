//! The golden image: the correct contents of memory, kept beside the run and compared with every read.
//!
//! First-level caches (of vectors, scalars and code, of cores, walkers and DMA engines) report every read and every
//! performed write in a journal; caches and memories report atomic accesses, memories the lines that they send and
//! receive, the host its writes. The reports are audited in the order of their times, outside simulated time, so a
//! checked run equals the unchecked one to the cycle.
//!
//! Which values are allowed depends on the machine. If lines may be stale between synchronisations, [`stale`] decides;
//! if accesses have logical times, [`timed`]; if caches are coherent at all times, a read returns the last value
//! written; if there are two coherent sides that meet in memory only, [`two_domains`].

mod stale;
mod timed;
mod two_domains;

pub use two_domains::Side;

use engine::{Auditor, Entry, Time};
use mem::{Block, Frames, LINE, LineAddr, Observation, PhysAddr, Seen, Stamp};
use protocol::roles::Sees;
use stale::Stale;
use std::sync::{Arc, Mutex, PoisonError};
use timed::Timed;
use two_domains::TwoDomains;

/// The values that a byte may have.
type Values = Vec<u8>;

/// The correct contents of memory, and the values that may be read.
pub enum Image {
    /// For caches that are kept coherent.
    Coherent(Frames),
    /// For caches that may hold stale copies.
    Stale(Box<Stale>),
    /// For accesses with logical times.
    Timed(Box<Timed>),
    /// For two sides that meet in memory only: the side of each observer, by its number.
    TwoDomains(Box<TwoDomains>, Vec<Option<Side>>),
}

/// A byte with a value that no read may return.
#[derive(Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub address: u64,
    pub value: u8,
    pub allowed: Values,
}

impl Mismatch {
    fn told(&self, who: &str) -> String {
        let allowed: Vec<String> = self.allowed.iter().map(|value| format!("{value:#04x}")).collect();
        let (value, address) = (self.value, self.address);
        format!("{who} has {value:#04x} at {address:#x}; the correct value is {}", allowed.join(" or "))
    }
}

impl Image {
    pub fn coherent() -> Self {
        Self::Coherent(Frames::new())
    }

    pub fn stale() -> Self {
        Self::Stale(Box::default())
    }

    pub fn timed() -> Self {
        Self::Timed(Box::default())
    }

    /// The image of two sides: the side of each observer in the order of their numbers, and what the GPUs' protocol
    /// guarantees to its readers.
    pub fn two_domains(sides: Vec<Option<Side>>, gpus: Sees, several_gpus: bool) -> Self {
        Self::TwoDomains(Box::new(TwoDomains::new(gpus, several_gpus)), sides)
    }

    /// Processes a report and checks what was read.
    pub fn observe(&mut self, observation: &Observation) -> Result<(), Mismatch> {
        let Observation { who, line, seen, stamp } = observation;
        match self {
            Self::TwoDomains(apart, sides) => {
                return apart.observe(*who, sides.get(who.0 as usize).copied().flatten(), *line, seen);
            }
            Self::Coherent(image) => match seen {
                Seen::Read(found) => return same(image, *line, found),
                Seen::Wrote(new) => write(image, *line, new),
                Seen::Changed { found, new } => {
                    same(image, *line, found)?;
                    write(image, *line, new);
                }
                Seen::Fetched(_) | Seen::Landed(_) | Seen::Synchronised | Seen::Released => {}
            },
            Self::Timed(image) => match seen {
                Seen::Read(found) => return image.read(*line, found, *stamp),
                Seen::Wrote(new) => image.wrote(*line, new, *stamp),
                Seen::Changed { found, new } => {
                    image.read(*line, found, Stamp::MAX)?;
                    image.wrote(*line, new, *stamp);
                }
                Seen::Synchronised | Seen::Released => image.synchronise(),
                Seen::Fetched(_) | Seen::Landed(_) => {}
            },
            Self::Stale(image) => match seen {
                Seen::Read(found) => return image.read(*who, *line, found),
                Seen::Wrote(new) => image.wrote(*who, *line, new),
                Seen::Changed { found, new } => {
                    image.read(*who, *line, found)?;
                    image.wrote(*who, *line, new);
                }
                Seen::Fetched(given) => return image.fetched(*line, given),
                Seen::Landed(data) => image.landed(*line, data),
                Seen::Synchronised => return image.synchronise(),
                Seen::Released => image.release(),
            },
        }
        Ok(())
    }

    /// Checks the contents of memory after everything has been synchronised.
    pub fn compare(&self, memory: &Frames) -> Result<(), String> {
        let compared = match self {
            Self::Coherent(image) => all_same(image, memory),
            Self::TwoDomains(apart, _) => all_same(apart.memory(), memory),
            Self::Stale(image) => image.compare(memory),
            Self::Timed(image) => image.compare(memory),
        };
        compared.map_err(|mismatch| mismatch.told("memory"))
    }
}

fn line_of(image: &Frames, line: LineAddr) -> [u8; LINE] {
    let mut bytes = [0; LINE];
    image.read(PhysAddr(line.0), &mut bytes);
    bytes
}

fn write(image: &mut Frames, line: LineAddr, data: &Block<LINE>) {
    for (start, count) in data.mask().pieces() {
        image.write(PhysAddr(line.0 + start as u64), &data.bytes()[start..start + count]);
    }
}

/// The bytes of a block that differ from those of a line.
fn differing<'a>(right: &'a [u8; LINE], data: &'a Block<LINE>) -> impl Iterator<Item = usize> + 'a {
    // Nearly every read is correct.
    let mask = if data.is_full() && data.bytes() == right { mem::Mask::NONE } else { data.mask() };
    mask.iter().filter(|byte| data.bytes()[*byte] != right[*byte])
}

/// Checks that the bytes of a line equal those of an image.
fn same(image: &Frames, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
    let right = line_of(image, line);
    let wrong = differing(&right, data).next();
    wrong.map_or(Ok(()), |byte| {
        let (address, value) = (line.0 + byte as u64, data.bytes()[byte]);
        Err(Mismatch { address, value, allowed: vec![right[byte]] })
    })
}

/// Checks that memory holds all bytes of an image.
fn all_same(image: &Frames, memory: &Frames) -> Result<(), Mismatch> {
    let wrong = image.pieces(LINE as u64).filter_map(|(address, right)| {
        let mut bytes = [0; LINE];
        bytes.copy_from_slice(right);
        let found = line_of(memory, LineAddr(address.0));
        let byte = (0..LINE).find(|byte| found[*byte] != bytes[*byte])?;
        Some(Mismatch { address: address.0 + byte as u64, value: found[byte], allowed: vec![bytes[byte]] })
    });
    wrong.min_by_key(|mismatch| mismatch.address).map_or(Ok(()), Err)
}

/// Where the image is kept after the run.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Option<Image>>>);

impl Kept {
    /// Checks the contents of memory after the run, once.
    pub fn compare(&self, memory: &Frames) -> Result<(), String> {
        let image = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        image.map_or(Ok(()), |image| image.compare(memory))
    }
}

/// Audits the run: keeps the image and checks the reports.
pub struct Golden {
    image: Option<Image>,
    kept: Kept,
    /// The names of all observers.
    names: Vec<String>,
}

impl Golden {
    pub fn new(image: Image, kept: Kept, names: Vec<String>) -> Self {
        Self { image: Some(image), kept, names }
    }
}

impl Auditor<Observation> for Golden {
    fn audit(&mut self, entries: &mut dyn Iterator<Item = Entry<Observation>>) -> Result<(), (Time, String)> {
        let Some(image) = &mut self.image else { return Ok(()) };
        for Entry { time, item: observation, .. } in entries {
            let Err(mismatch) = image.observe(&observation) else { continue };
            let name = self.names.get(observation.who.0 as usize).map_or("an unknown element", String::as_str);
            let (what, name) = match observation.seen {
                Seen::Landed(_) => ("a wrong value was written back", name),
                Seen::Synchronised => ("a write has not reached memory", "memory"),
                _ => ("a wrong value was read", name),
            };
            return Err((time, format!("{what}: {}", mismatch.told(name))));
        }
        Ok(())
    }
}

impl Drop for Golden {
    fn drop(&mut self) {
        *self.kept.0.lock().unwrap_or_else(PoisonError::into_inner) = self.image.take();
    }
}
