//! Actions that MESI's tables share.
//!
//! A modified line counts as dirty in every byte, so that it is written back whole. A store that waits for the right
//! to write keeps its bytes in the line, marked dirty; when the line comes, it fills the other bytes.

use crate::{Block, Kind, Mask, Node, Sharers, Table, Work};

type Done = Result<(), &'static str>;

/// Whether a line occupies a way: not if it is being evicted, in the write-back queue or after it.
pub fn takes_room(table: &Table, state: u8) -> bool {
    let name = table.states[usize::from(state)];
    state != table.initial() && !name.starts_with("I_WB") && name != "S_Evict"
}

/// Sends a request below.
pub fn request<const N: usize>(work: &mut Work<'_, N>, kind: Kind) {
    work.send(work.place.below, kind, Block::EMPTY);
}

/// Marks the whole line as dirty.
pub fn modify<const N: usize>(work: &mut Work<'_, N>) {
    work.line.dirty = Mask::first(N);
}

/// Marks the line as clean.
pub fn clean<const N: usize>(work: &mut Work<'_, N>) {
    work.line.dirty = Mask::NONE;
}

/// Drops the line except for the bytes of a waiting store.
pub fn keep_store<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data = work.line.data.only(work.line.dirty);
}

/// Performs a store at once.
pub fn write<const N: usize>(work: &mut Work<'_, N>) {
    work.line.data.write(&work.msg.data);
    modify(work);
    work.send(work.msg.from, Kind::Stored, Block::EMPTY);
}

/// Performs the store that has waited.
pub fn stored<const N: usize>(work: &mut Work<'_, N>) -> Done {
    let core = work.line.asked.take().ok_or("has no store to perform")?;
    modify(work);
    work.send(core, Kind::Stored, Block::EMPTY);
    Ok(())
}

/// Sends the line below as a write-back, and waits for the acknowledgement.
pub fn write_back<const N: usize>(work: &mut Work<'_, N>, kind: Kind) {
    work.line.acks = 1;
    work.send(work.place.below, kind, work.line.data);
}

/// Takes a modified line from above, or from its holder.
pub fn take<const N: usize>(work: &mut Work<'_, N>) {
    if !work.msg.data.mask().is_empty() {
        work.line.data.write(&work.msg.data);
        modify(work);
    }
}

/// Counts one acknowledgement.
pub fn count<const N: usize>(work: &mut Work<'_, N>) -> Done {
    work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no acknowledgement")?;
    Ok(())
}

/// Counts an acknowledgement that came before the answer that announces it.
pub fn early<const N: usize>(work: &mut Work<'_, N>) {
    work.line.early += 1;
}

/// Starts to wait for the announced acknowledgements that have not come yet.
pub fn await_acks<const N: usize>(work: &mut Work<'_, N>) -> Done {
    let awaited = work.msg.acks.checked_sub(work.line.early);
    work.line.acks = awaited.ok_or("has got more acknowledgements than there are")?.into();
    work.line.early = 0;
    Ok(())
}

/// Records on whose behalf the line is given up.
pub fn join<const N: usize>(work: &mut Work<'_, N>) {
    work.line.join = work.msg.of;
}

/// The line's bytes if it is dirty; otherwise none.
pub fn changed<const N: usize>(work: &Work<'_, N>) -> Block<N> {
    if work.line.is_dirty() { work.line.data } else { Block::EMPTY }
}

/// Sends the line to the node on whose behalf it was requested.
pub fn forward<const N: usize>(work: &mut Work<'_, N>, kind: Kind) -> Done {
    let to = work.line.join.take().or(work.msg.of).ok_or("has no node to give the line to")?;
    work.send(to, kind, work.line.data);
    Ok(())
}

/// Acknowledges an invalidation to the node that wants to write and to the directory, which may be the same.
pub fn acknowledge_invalidation<const N: usize>(work: &mut Work<'_, N>) -> Done {
    let of = work.line.join.take().or(work.msg.of).ok_or("has no node to acknowledge to")?;
    if of == work.place.below {
        work.send(of, Kind::Flushed, Block::EMPTY);
    } else {
        work.send(of, Kind::InvAck, Block::EMPTY);
        work.send(work.place.below, Kind::InvAck, Block::EMPTY);
    }
    Ok(())
}

/// Sends a message to each of a set of nodes above, and starts to wait for their answers.
pub fn tell<const N: usize>(work: &mut Work<'_, N>, sharers: Sharers, kind: Kind, of: Node) {
    for number in sharers.numbers() {
        let to = work.place.above.member(number);
        work.send_for(to, kind, Block::EMPTY, Some(of), 0);
    }
    work.line.acks = sharers.len().into();
}

/// Records the requester as one more holder.
pub fn hold<const N: usize>(work: &mut Work<'_, N>) {
    work.line.sharers.add(work.place.sharer(work.msg.from));
}

/// Records the requester as the only holder.
pub fn hold_alone<const N: usize>(work: &mut Work<'_, N>) {
    work.line.sharers = work.place.sharer(work.msg.from);
}

/// Records the waiting node as one more holder.
pub fn hold_asked<const N: usize>(work: &mut Work<'_, N>) -> Done {
    let asked = work.line.asked.ok_or("knows no waiting requester")?;
    work.line.sharers.add(work.place.sharer(asked));
    Ok(())
}

/// Records the waiting node as the only holder.
pub fn hold_asked_alone<const N: usize>(work: &mut Work<'_, N>) -> Done {
    let asked = work.line.asked.ok_or("knows no waiting requester")?;
    work.line.sharers = work.place.sharer(asked);
    Ok(())
}

/// The holders of the line except the requester.
pub fn others<const N: usize>(work: &Work<'_, N>) -> Sharers {
    work.line.sharers.without(work.place.sharer(work.msg.from))
}
