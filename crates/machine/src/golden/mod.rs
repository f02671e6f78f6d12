//! The golden image: what memory holds if everything is right, kept beside the run and compared with every read.
//!
//! First-level caches (of vectors, scalars and code, of cores, walkers and DMA engines) report every read and every performed write in a
//! journal, caches and memories their atomic accesses, memories what they give and get, the host what it writes: in the order of
//! their times, outside simulated time, so that a run that is checked is the run that is not, to the cycle. Which values are right
//! depends on the machine: where lines may be stale between synchronisations, [`stale`] says; where accesses have logical times,
//! [`timed`]; where caches are kept coherent at all times, a read returns what was written last; where two sides are coherent each
//! in itself and meet in memory only, [`two_domains`].

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

/// Values that a byte may have.
type Values = Vec<u8>;

/// What memory holds, and what may be read.
pub enum Image {
    /// Caches are kept coherent.
    Coherent(Frames),
    /// Copies may be stale.
    Stale(Box<Stale>),
    /// Accesses have logical times.
    Timed(Box<Timed>),
    /// Two sides meet in memory only: the side of each who reports, by its number.
    TwoDomains(Box<TwoDomains>, Vec<Option<Side>>),
}

/// A byte that nobody may read.
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
        format!("{who} has {value:#04x} at {address:#x}; right would be {}", allowed.join(" or "))
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

    /// The sides of all who report, in the order of their numbers, and what GPUs are promised among themselves.
    pub fn two_domains(sides: Vec<Option<Side>>, gpus: Sees, several_gpus: bool) -> Self {
        Self::TwoDomains(Box::new(TwoDomains::new(gpus, several_gpus)), sides)
    }

    /// Takes a report, and checks what was read.
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

    /// Checks what memory holds in the end; everything has been synchronised.
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

/// The bytes of a block that are not those of a line.
fn differing<'a>(right: &'a [u8; LINE], data: &'a Block<LINE>) -> impl Iterator<Item = usize> + 'a {
    // Nearly all that is read is right.
    let mask = if data.is_full() && data.bytes() == right { mem::Mask::NONE } else { data.mask() };
    mask.iter().filter(|byte| data.bytes()[*byte] != right[*byte])
}

/// Whether bytes of a line are those of an image.
fn same(image: &Frames, line: LineAddr, data: &Block<LINE>) -> Result<(), Mismatch> {
    let right = line_of(image, line);
    let wrong = differing(&right, data).next();
    wrong.map_or(Ok(()), |byte| {
        let (address, value) = (line.0 + byte as u64, data.bytes()[byte]);
        Err(Mismatch { address, value, allowed: vec![right[byte]] })
    })
}

/// Whether memory holds all that an image holds.
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

/// Where the image is found when the run is over.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Option<Image>>>);

impl Kept {
    /// Checks what memory holds when the run is over, once.
    pub fn compare(&self, memory: &Frames) -> Result<(), String> {
        let image = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        image.map_or(Ok(()), |image| image.compare(memory))
    }
}

/// Keeps the image and checks the run.
pub struct Golden {
    image: Option<Image>,
    kept: Kept,
    /// What all who report are called.
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
            let name = self.names.get(observation.who.0 as usize).map_or("somebody", String::as_str);
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
