//! What the actions of several tables do alike.

use crate::{Block, Kind, Mask, Work};

/// Remembers who waits for the answer.
pub fn ask<const N: usize>(work: &mut Work<'_, N>) {
    work.line.asked = Some(work.msg.from);
}

/// Takes the bytes of the message where none are held: what is held is newer.
pub fn fill<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data.fill(&work.msg.data);
}

/// Gives the line to the one who waits for it.
pub fn answer<const N: usize>(work: &mut Work<'_, N>, kind: Kind) -> Result<(), &'static str> {
    let to = work.line.asked.take().ok_or("has nobody to answer")?;
    work.send(to, kind, work.line.data);
    Ok(())
}

/// Tells the one who waits that it is done.
pub fn done_asked<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    let to = work.line.asked.take().ok_or("has nobody to tell")?;
    work.send(to, Kind::Done, Block::EMPTY);
    Ok(())
}

/// Sends the message's bytes below and waits for their acknowledgement.
pub fn write_through<const N: usize>(work: &mut Work<'_, N>) {
    work.line.in_flight = work.line.in_flight.or(work.msg.data.mask());
    work.line.acks += 1;
    work.send(work.place.below, Kind::Write, work.msg.data);
}

/// The bytes of an acknowledgement have arrived below.
pub fn landed<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no acknowledgement")?;
    work.line.in_flight = work.line.in_flight.without(work.msg.data.mask());
    Ok(())
}

/// Takes a write from above: its bytes are newer than those below.
pub fn take_dirty<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data.write(&work.msg.data);
    work.line.dirty = work.line.dirty.or(work.msg.data.mask());
}

/// Acknowledges the message's bytes to the one who wrote them.
pub fn acknowledge<const N: usize>(work: &mut Work<'_, N>) {
    work.send(work.msg.from, Kind::Ack, work.msg.data);
}

/// Sends the dirty bytes below.
pub fn write_back<const N: usize>(work: &mut Work<'_, N>) {
    work.send(work.place.below, Kind::Write, work.line.data.only(work.line.dirty));
}

/// Forgets the bytes; what is in flight stays known.
pub fn drop_data<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data = Block::EMPTY;
    work.line.dirty = Mask::NONE;
}
