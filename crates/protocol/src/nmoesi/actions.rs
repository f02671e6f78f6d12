//! Actions that several tables of NMOESI share.
//!
//! `dirty` marks the bytes that are newer than those below. A pending store also keeps its bytes in the line, marked
//! `in_flight`: they have not been performed, so no probe takes them along. `early` records that a probe was answered
//! while the line's own request was pending.

use crate::{Block, Kind, Line, Mask, Sharers, Work};

pub type Done = Result<(), &'static str>;

/// Records the requester that waits, and the bytes of its store.
pub fn ask_store<const N: usize>(work: &mut Work<'_, N>) {
    work.line.asked = Some(work.msg.from);
    work.line.data.write(&work.msg.data);
    work.line.in_flight = work.msg.data.mask();
}

/// Requests the line from below for reading.
pub fn get<const N: usize>(work: &mut Work<'_, N>, kind: Kind) {
    work.send(work.place.below, kind, Block::EMPTY);
}

/// Requests the line from below for writing. Bytes written here without coherence travel with the request and are
/// merged below.
pub fn get_x<const N: usize>(work: &mut Work<'_, N>) {
    work.send(work.place.below, Kind::GetX, work.line.data.only(work.line.dirty));
    work.line.data = work.line.data.only(work.line.in_flight);
    work.line.dirty = Mask::NONE;
}

/// Performs a store at once.
pub fn write<const N: usize>(work: &mut Work<'_, N>) {
    crate::common::take_dirty(work);
    work.send(work.msg.from, Kind::Stored, Block::EMPTY);
}

/// Performs the pending store and tells its core.
pub fn stored<const N: usize>(work: &mut Work<'_, N>) -> Done {
    let core = work.line.asked.take().ok_or("has no store to perform")?;
    perform(work);
    work.send(core, Kind::Stored, Block::EMPTY);
    Ok(())
}

/// Writes the bytes of the pending store.
pub fn perform<const N: usize>(work: &mut Work<'_, N>) {
    work.line.dirty = work.line.dirty.or(work.line.in_flight);
    work.line.in_flight = Mask::NONE;
}

/// Asks the level below to take the line back. Bytes that are newer here are kept until the probe comes.
pub fn write_back<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data = work.line.data.only(work.line.dirty);
    work.send(work.place.below, Kind::WriteBack, Block::EMPTY);
}

/// Answers a probe with these bytes.
pub fn flushed<const N: usize>(work: &mut Work<'_, N>, data: Block<N>) {
    work.send(work.place.below, Kind::Flushed, data);
}

/// The bytes that are newer here than below.
pub fn newer<const N: usize>(line: &Line<N>) -> Block<N> {
    line.data.only(line.dirty)
}

/// Sends a message to each of these caches above and counts the answers to await.
pub fn tell<const N: usize>(work: &mut Work<'_, N>, sharers: Sharers, kind: Kind) {
    for number in sharers.numbers() {
        work.send(work.place.above.member(number), kind, Block::EMPTY);
    }
    work.line.acks = sharers.len().into();
}

/// Counts one answer as received.
pub fn count<const N: usize>(work: &mut Work<'_, N>) -> Done {
    work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no answer")?;
    Ok(())
}
