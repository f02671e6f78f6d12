//! Actions that several tables share.

use crate::{Block, Kind, Line, Mask, Msg, Node, Stamps, Work};

/// Records the sender as waiting for the answer.
pub fn ask<const N: usize>(work: &mut Work<'_, N>) {
    work.line.asked = Some(work.msg.from);
}

/// Fills in the bytes of the message that are not held: held bytes are newer.
pub fn fill<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data.fill(&work.msg.data);
}

/// Sends the line to the waiting node.
pub fn answer<const N: usize>(work: &mut Work<'_, N>, kind: Kind) -> Result<(), &'static str> {
    let to = work.line.asked.take().ok_or("has no requester to answer")?;
    work.send(to, kind, work.line.data);
    Ok(())
}

/// Sends `Done` to the waiting node.
pub fn done_asked<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    let to = work.line.asked.take().ok_or("has no node to notify")?;
    work.send(to, Kind::Done, Block::EMPTY);
    Ok(())
}

/// Sends the message's bytes below and starts to wait for their acknowledgement.
pub fn write_through<const N: usize>(work: &mut Work<'_, N>) {
    work.line.in_flight = work.line.in_flight.or(work.msg.data.mask());
    work.line.acks += 1;
    work.send(work.place.below, Kind::Write, work.msg.data);
}

/// Whether none of the bytes that the message writes is in flight, and no write is held back behind others.
pub fn is_beside<const N: usize>(line: &Line<N>, msg: &Msg<N>) -> bool {
    !line.is_dirty() && line.in_flight.and(msg.data.mask()).is_empty()
}

/// Sends the bytes that were held back to the level below, and starts to wait for their acknowledgement.
pub fn send_held<const N: usize>(work: &mut Work<'_, N>) {
    let held = std::mem::replace(&mut work.line.dirty, Mask::NONE);
    work.line.in_flight = work.line.in_flight.or(held);
    work.line.acks += 1;
    work.send(work.place.below, Kind::Write, work.line.data.only(held));
}

/// Counts an acknowledgement: its bytes have arrived below.
pub fn landed<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no acknowledgement")?;
    work.line.in_flight = work.line.in_flight.without(work.msg.data.mask());
    Ok(())
}

/// Counts an acknowledgement where writes may have overtaken each other: bytes are in flight until the last has
/// arrived.
pub fn landed_in_order<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no acknowledgement")?;
    if work.line.acks == 0 {
        work.line.in_flight = Mask::NONE;
    }
    Ok(())
}

/// Takes a write from above: its bytes are newer than those below.
pub fn take_dirty<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data.write(&work.msg.data);
    work.line.dirty = work.line.dirty.or(work.msg.data.mask());
}

/// Acknowledges the message's bytes to their writer.
pub fn acknowledge<const N: usize>(work: &mut Work<'_, N>) {
    work.send(work.msg.from, Kind::Ack, work.msg.data);
}

/// Sends the dirty bytes below.
pub fn write_back<const N: usize>(work: &mut Work<'_, N>) {
    work.send(work.place.below, Kind::Write, work.line.data.only(work.line.dirty));
}

/// Drops the bytes; bytes in flight stay recorded.
pub fn drop_data<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data = Block::EMPTY;
    work.line.dirty = Mask::NONE;
}

/// Passes an atomic access to the controller below. `of` names the node above that gets the answer; `None` at a
/// first-level cache.
pub fn pass_on<const N: usize>(work: &mut Work<'_, N>, of: Option<Node>) {
    work.push(Msg { from: work.place.me, to: work.place.below, of, ..*work.msg });
}

/// Passes the answer to an atomic access to the cache above that sent the access.
pub fn hand_up<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    let to = work.msg.of.ok_or("has no requester to hand the answer to")?;
    work.push(Msg { from: work.place.me, to, of: None, ..*work.msg });
    Ok(())
}

/// Answers a requester's atomic access by a message of a first-level cache to itself, since the cache knows which
/// requester waits. The time of the access is the time of its write.
pub fn told_above<const N: usize>(work: &mut Work<'_, N>) {
    let (me, written) = (work.place.me, work.msg.stamps.wts);
    let stamps = Stamps { cts: written, ..work.msg.stamps };
    work.push(Msg { from: me, to: me, of: None, stamps, ..*work.msg });
}

/// Answers an atomic access with the bytes found.
pub fn found<const N: usize>(work: &mut Work<'_, N>, stamps: Stamps) {
    let (me, msg) = (work.place.me, work.msg);
    let data = work.line.data.only(msg.data.mask());
    work.push(Msg { of: msg.of, stamps, ..Msg::new(me, msg.from, Kind::Modified, msg.line, data) });
}

/// Fetches the line (or evicts it, by `Evict`) with a message of this controller to itself.
pub fn bring<const N: usize>(work: &mut Work<'_, N>, kind: Kind) {
    work.push(Msg::new(work.place.me, work.place.me, kind, work.msg.line, Block::EMPTY));
}
