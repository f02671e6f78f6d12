//! What joins GPUs, stacks of memory and the host, as a machine file says in `[fabric]`; and in `[remote]` who asks for lines that lie in
//! the memory of another GPU.

use crate::{
    file::{Because, File, MachineError},
    units::{Rate, Size},
    values::{Choice, Crossing, OneOf, Positive},
};
use engine::Time;
use mem::Bytes;
use serde::Deserialize;

/// Wires between chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fabric {
    pub kind: Kind,
    /// From one end to another, beside the time that bytes take to go onto wires.
    pub latency: Time,
    /// Bytes a second, each way, of the wires of an end.
    pub bandwidth: u64,
    /// Bytes that each message has beside its own.
    pub header: u64,
    /// Messages of each lane that the receiving end of a wire has room for.
    pub credits: usize,
}

/// How ends are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PCI Express: each end is wired to a switch. Shared: a bus that carries one message at a time.
    Tree { shared: bool },
    /// NVLink: a wire for each two.
    PointToPoint,
    /// A switch complex, which arbitrates at each of its outputs; it may have a bandwidth as a whole.
    Switch { total: Option<u64> },
}

/// Who asks for lines in the memory of another GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// First-level caches ask the L2 of that GPU (RDMA).
    L1,
    /// The own L2 asks that GPU's memory (zero-copy), or, where the protocol has homes among L2s, its L2.
    L2,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Tree,
    PointToPoint,
    Switch,
}

impl Choice for Word {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("tree", Self::Tree), ("point-to-point", Self::PointToPoint), ("switch", Self::Switch)]
    }
}

impl Choice for Remote {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("l1", Self::L1), ("l2", Self::L2)]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FabricFile {
    #[serde(rename = "kind")]
    _kind: OneOf<Word>,
    latency: Crossing,
    bandwidth: Rate,
    header: Size,
    credits: Positive,
    shared: Option<bool>,
    total: Option<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteFile {
    pub from: OneOf<Remote>,
}

/// Ends that a fabric can join, GPUs, stacks and the host together.
pub(crate) const MOST_ENDS: usize = 64;

/// The most bytes that a header can have.
const MOST_HEADER: u64 = 4096;

/// The fabric, if the file has one.
pub(crate) fn fabric(file: &mut File) -> Result<Option<Fabric>, MachineError> {
    let path = "fabric";
    if !file.founded(path) {
        file.idle(path, &Because::new(path, "the machine has no fabric; a part gives it one (fabric.part)"));
        return Ok(None);
    }
    let OneOf(word) = file.key::<OneOf<Word>>(path, "kind")?;
    let said = Word::words().into_iter().find(|(_, other)| *other == word).map_or("", |(said, _)| said);
    if word != Word::Tree {
        file.idle("fabric.shared", &Because::value("fabric.kind", said, &["tree"]));
    }
    if word != Word::Switch {
        file.idle("fabric.total", &Because::value("fabric.kind", said, &["switch"]));
    }
    let of: FabricFile = file.section(path)?;
    let kind = match (word, of.shared) {
        (Word::Tree, None) => return Err(file.lacks(path, "shared")),
        (Word::Tree, Some(shared)) => Kind::Tree { shared },
        (Word::PointToPoint, _) => Kind::PointToPoint,
        (Word::Switch, _) => Kind::Switch { total: of.total.map(|rate| rate.0.0) },
    };
    let rates = [("bandwidth", Some(of.bandwidth.0)), ("total", of.total.map(|rate| rate.0))];
    if let Some((key, _)) = rates.into_iter().find(|(_, rate)| *rate == Some(Bytes(0))) {
        return Err(file.wrong(path, Some(key), "must be more than nothing"));
    }
    if of.header.0.0 > MOST_HEADER {
        return Err(file.wrong(path, Some("header"), format!("can be {MOST_HEADER} B at most")));
    }
    Ok(Some(Fabric {
        kind,
        latency: of.latency.0,
        bandwidth: of.bandwidth.0.0,
        header: of.header.0.0,
        credits: of.credits.count(),
    }))
}
