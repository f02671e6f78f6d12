//! What the actions of several tables do alike.

use crate::{Block, Kind, Line, Mask, Msg, Node, Stamps, Work};

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

/// Whether none of the bytes that the message writes is on its way below, and none is kept back until others have landed.
pub fn is_beside<const N: usize>(line: &Line<N>, msg: &Msg<N>) -> bool {
    !line.is_dirty() && line.in_flight.and(msg.data.mask()).is_empty()
}

/// Sends the bytes below that were kept back while others of the line were on their way, and waits for their acknowledgement.
pub fn send_held<const N: usize>(work: &mut Work<'_, N>) {
    let held = std::mem::replace(&mut work.line.dirty, Mask::NONE);
    work.line.in_flight = work.line.in_flight.or(held);
    work.line.acks += 1;
    work.send(work.place.below, Kind::Write, work.line.data.only(held));
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

/// Passes an atomic access on to the controller below. The answer says for whom it was (`of`), unless this controller's own requesters ask.
pub fn pass_on<const N: usize>(work: &mut Work<'_, N>, of: Option<Node>) {
    work.push(Msg { from: work.place.me, to: work.place.below, of, ..*work.msg });
}

/// Hands the answer to an atomic access on to the cache above on whose behalf it was passed on.
pub fn hand_up<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    let to = work.msg.of.ok_or("has nobody to hand the answer to")?;
    work.push(Msg { from: work.place.me, to, of: None, ..*work.msg });
    Ok(())
}

/// Answers a requester's atomic access: a message of a first-level cache to itself, for it knows which of its requesters waits. It takes place
/// when it was written.
pub fn told_above<const N: usize>(work: &mut Work<'_, N>) {
    let (me, written) = (work.place.me, work.msg.stamps.wts);
    let stamps = Stamps { cts: written, ..work.msg.stamps };
    work.push(Msg { from: me, to: me, of: None, stamps, ..*work.msg });
}

/// Tells the one who modifies what it has found.
pub fn found<const N: usize>(work: &mut Work<'_, N>, stamps: Stamps) {
    let (me, msg) = (work.place.me, work.msg);
    let data = work.line.data.only(msg.data.mask());
    work.push(Msg { of: msg.of, stamps, ..Msg::new(me, msg.from, Kind::Modified, msg.line, data) });
}

/// Has the line brought here by a message of this controller to itself.
pub fn bring<const N: usize>(work: &mut Work<'_, N>, kind: Kind) {
    work.push(Msg::new(work.place.me, work.place.me, kind, work.msg.line, Block::EMPTY));
}
