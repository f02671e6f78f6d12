//! The fabric that connects GPUs, memory stacks and the host (section `[fabric]` of a machine file), and which cache
//! requests lines in another GPU's memory (section `[remote]`).

use crate::{
    file::{Because, File, MachineError},
    units::{Rate, Size},
    values::{Choice, Crossing, OneOf, Positive},
};
use engine::Time;
use mem::Bytes;
use serde::Deserialize;

/// Links between chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fabric {
    pub kind: Kind,
    /// From one end to another, without the serialisation time of the message.
    pub latency: Time,
    /// Bandwidth of an end's link, in bytes per second and direction.
    pub bandwidth: u64,
    /// Bytes added to each message.
    pub header: u64,
    /// Buffer space of a link's receiving end: messages per lane.
    pub credits: usize,
}

/// Topology of the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PCI Express: each end is connected to a switch. `shared`: a bus that carries one message at a time.
    Tree { shared: bool },
    /// NVLink: one link for each pair of ends.
    PointToPoint,
    /// A switch complex that arbitrates at each of its outputs; `total` limits its aggregate bandwidth.
    Switch { total: Option<u64> },
}

/// Which cache requests lines that lie in another GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// First-level caches send requests to the L2 of that GPU (RDMA).
    L1,
    /// The requester's own L2 sends requests to that GPU's memory (zero-copy) or, if the protocol has homes among L2s,
    /// to its L2.
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

/// Maximum number of ends: GPUs, stacks and the host together.
pub(crate) const MOST_ENDS: usize = 64;

/// Maximum header size in bytes.
const MOST_HEADER: u64 = 4096;

/// Reads the fabric if the file has one.
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
        return Err(file.wrong(path, Some(key), "must be more than 0"));
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
