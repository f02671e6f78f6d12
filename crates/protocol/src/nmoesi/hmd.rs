//! The HMD, the directory of the host's memory (`[umh 5.2]`): for each block it records the holders and the owner. The
//! HMD has no tags because every block has an entry.
//!
//! One record stands for a block; the bytes are in its [`store`](super::store), the node with the next number. Above it
//! are the GPUs' memories ([`smd`](super::smd)), which hold whole blocks, and the CPU's last-level cache, which holds
//! single lines: it is granted one line and probed for each line.
//!
//!
//! States. `X`: one holder may write the block (it is in E or M there). `O`: the holder in `join` has modified the
//! block and has itself passed it on to others. `W_Inval` collects the block from all holders, because one of them
//! wants to write it or to give it up: others may have read bytes that are merged only now, so all holders give it up.
//! `W_Down` makes the owner share the block. `W_Take` collects the block for a host without caches, which then uses the
//! bytes here (`Flush`).
//!
//! Answers are counted in parts. The answer for a whole block counts for its number of lines plus one, and a line that
//! travels by itself counts for one, so the collection ends with whichever part arrives last.

use super::{
    actions::Done,
    smd::{line_of, number, store_of},
};
use crate::{Block, Controller, Granted, Kind, Line, Mask, Msg, Node, Place, Sharers, Table, Work, common, protocol};
use hmd::{Action, Event, State};

protocol! {
 /// `Alone`: there is no other holder. `Owner`: the sender has the block for writing. `Peer`: the owner can pass the
 /// block to the requester itself. `Shared`: the sender has modified the block and passed it on to others, which may
 /// have written to it since, so the sender's bytes are collected, too. `AnswerAlone`: the last line that a cache of
 /// single lines had; it kept none to read.
 hmd actions(Ask Hold HoldAlone HoldAsked HoldAskedAlone Unhold Own Disown GiveS GiveE GiveX AnswerS AnswerE AnswerX Relieve AnswerBack Merge Inval InvalOthers InvalLine
  Downgrade Forward Count Return Settled Done AnswerDone)
 on(       Get                     GetPeer               GetOwner   GetX                             GetXAlone                         WriteBack           WriteBackLine           WriteBackOld)
 I       { [X HoldAlone GiveE]     x                     x          x                                [X HoldAlone Merge GiveX]         x                   x                       [I Relieve]  }
 S       { [S Hold GiveS]          x                     x          [W_Inval Ask Merge InvalOthers]  [X Merge GiveX]                   [W_Back Ask Inval]  x                       [S Relieve]  }
 X       { [W_Down Ask Downgrade]  [W_Down Ask Forward]  [X GiveE]  [W_Inval Ask Merge InvalOthers]  [X Merge GiveX]                   [W_Back Ask Inval]  [W_Line Ask InvalLine]  [X Relieve]  }
 O       { [W_Down Ask Downgrade]  [W_Down Ask Forward]  x          [W_Inval Ask Merge InvalOthers]  x                                [W_Back Ask Inval]  x                       [O Relieve]  }
 W_Inval { z                       x                     x          z                                z                                 z                   x                       z            }
 W_Back  { z                       x                     x          z                                z                                 z                   x                       z            }
 W_Line  { z                       x                     x          z                                z                                 z                   x                       z            }
 W_Down  { z                       x                     x          z                                z                                 z                   x                       z            }
 W_Take  { z                       x                     x          z                                z                                 z                   x                       z            };
 on(       Answer                 AnswerLast                                     AnswerLine                         AnswerAlone                                    FwdAck                 FwdAckOwner)
 I       { x                      x                                              x                                  x                                              x                      x                         }
 S       { x                      x                                              x                                  x                                              x                      x                         }
 X       { x                      x                                              x                                  x                                              x                      x                         }
 O       { x                      x                                              x                                  x                                              x                      x                         }
 W_Inval { [W_Inval Merge Count]  [X Merge Count HoldAskedAlone Disown AnswerX]  x                                  x                                              x                      x                         }
 W_Back  { [W_Back Merge Count]   [I Merge Count Unhold Disown AnswerBack]       x                                  x                                              x                      x                         }
 W_Line  { x                      [S Merge Count Disown AnswerBack]              [X Merge Count Return AnswerBack]  [I Merge Count Unhold Disown AnswerBack]       x                      x                         }
 W_Down  { [W_Down Merge Count]   [S Merge Count HoldAsked Disown AnswerS]       x                                  [X Merge Count HoldAskedAlone Disown AnswerE]  [S HoldAsked Settled]  [O Own HoldAsked Settled] }
 W_Take  { [W_Take Merge Count]   [I Merge Count Unhold Disown AnswerDone]       x                                  x                                              x                      x                         };
 on(       Take                Untaken   GetXShared          )
 I       { x                   [I Done]  x                   }
 S       { [W_Take Ask Inval]  x         x                   }
 X       { [W_Take Ask Inval]  x         x                   }
 O       { [W_Take Ask Inval]  x         [W_Inval Ask Inval] }
 W_Inval { z                   x         x                   }
 W_Back  { z                   x         x                   }
 W_Line  { z                   x         x                   }
 W_Down  { z                   x         x                   }
 W_Take  { z                   x         x                   }
}

/// The controller of table [`hmd`].
pub struct Hmd {
    /// Lines of a block: at most 256, or 64 if a cache above holds single lines.
    pub lines: u16,
    /// The numbers of the caches above that hold single lines: the CPU's.
    pub singles: Sharers,
    /// Whether the caches of single lines hold only lines that they asked for to write, and give up a line that another
    /// node reads ([`L2::owns`](super::l2::L2::owns)).
    pub owns: bool,
    /// Whether GPUs can pass blocks to each other (Fig. 5, b-2).
    pub peer: bool,
}

/// The mark of a line that a cache of single lines may write. Such a block has at most 64 lines.
fn single(part: u8) -> Mask {
    if part < 64 { Mask::byte(part.into()) } else { Mask::NONE }
}

impl Hmd {
    fn state<const N: usize>(line: &Line<N>) -> State {
        State::ALL[line.state as usize]
    }

    /// Whether the owner is asked for a line, or to share the block.
    fn gives_up<const N: usize>(line: &Line<N>) -> bool {
        matches!(Self::state(line), State::W_Line | State::W_Down)
    }

    fn is_single(&self, place: Place<'_>, node: Node) -> bool {
        self.singles.meets(place.sharer(node))
    }

    /// The holder that has, or may have, modified the block.
    fn owner<const N: usize>(place: Place<'_>, line: &Line<N>) -> Option<Node> {
        let alone = || line.sharers.numbers().next().map(|number| place.above.member(number));
        line.join.or_else(|| if line.sharers.len() == 1 { alone() } else { None })
    }

    /// Makes the store send the block, or one line to a cache of single lines.
    fn give<const N: usize>(&self, work: &mut Work<'_, N>, kind: Kind, to: Node, part: u8) {
        let (me, line) = (work.place.me, work.msg.line);
        let first = u16::from(part);
        let parts = if self.is_single(work.place, to) { first..first + 1 } else { 0..self.lines };
        for other in parts {
            let line = line_of::<N>(self.lines, line, other as u8);
            work.push(Msg { of: Some(to), ..Msg::new(me, store_of(me), kind, line, Block::EMPTY) });
        }
        if kind != Kind::GetS && self.is_single(work.place, to) {
            work.line.dirty = work.line.dirty.or(single(part));
        }
    }

    fn answer<const N: usize>(&self, work: &mut Work<'_, N>, kind: Kind) -> Done {
        let to = work.line.asked.take().ok_or("has no requester to answer")?;
        let part = std::mem::take(&mut work.line.part);
        self.give(work, kind, to, part);
        Ok(())
    }

    /// Sends a message about the block to one of the nodes above.
    fn tell<const N: usize>(&self, work: &mut Work<'_, N>, to: Node, kind: Kind, part: u8, of: Option<Node>) {
        let line = line_of::<N>(self.lines, work.msg.line, part);
        work.push(Msg { of, ..Msg::new(work.place.me, to, kind, line, Block::EMPTY) });
    }

    /// Makes these nodes above give the block up.
    fn tell_inval<const N: usize>(&self, work: &mut Work<'_, N>, sharers: Sharers) {
        work.line.acks = 0;
        for number in sharers.numbers() {
            let to = work.place.above.member(number);
            if self.is_single(work.place, to) {
                for part in (0..self.lines).map(|part| part as u8) {
                    let owned = !work.line.dirty.and(single(part)).is_empty();
                    if owned || !self.owns {
                        self.tell(work, to, if owned { Kind::CoreFlush } else { Kind::Inval }, part, None);
                        work.line.acks += 1;
                    }
                }
            } else {
                let owned = Self::state(work.line) == State::X;
                self.tell(work, to, if owned { Kind::CoreFlush } else { Kind::Inval }, 0, None);
                work.line.acks += self.lines + 1;
            }
        }
    }

    /// Makes the owner share the block: with a peer directly, or through this node.
    fn share<const N: usize>(&self, work: &mut Work<'_, N>, peer: Option<Node>) -> Done {
        let owner = Self::owner(work.place, work.line).ok_or("knows no owner")?;
        if self.is_single(work.place, owner) {
            let (lines, kind) = (work.line.dirty, if self.owns { Kind::CoreFlush } else { Kind::Downgrade });
            lines.iter().for_each(|part| self.tell(work, owner, kind, part as u8, None));
            work.line.acks = lines.len() as u16;
        } else {
            let exclusive = Self::state(work.line) == State::X;
            self.tell(work, owner, if exclusive { Kind::Downgrade } else { Kind::GetFwd }, 0, peer);
            work.line.acks = self.lines + 1;
        }
        Ok(())
    }

    /// How many parts an answer counts for.
    fn worth<const N: usize>(&self, msg: &Msg<N>) -> u16 {
        if msg.kind == Kind::InvAck && msg.acks == 0 { self.lines + 1 } else { 1 }
    }

    /// Makes the store accept bytes. If the owner has passed the block on, its bytes are older than those that others
    /// have written since.
    fn merge<const N: usize>(&self, work: &mut Work<'_, N>) {
        if work.msg.data.mask().is_empty() {
            return;
        }
        let newer = work.line.join.is_some_and(|owner| store_of(owner) != work.msg.from);
        let kind = if newer { Kind::Write } else { Kind::Data };
        let me = work.place.me;
        work.push(Msg::new(me, store_of(me), kind, work.msg.line, work.msg.data));
    }

    /// The block has no owner any more, so no bytes are newer than an owner's: removes the marks.
    fn unmark<const N: usize>(&self, work: &mut Work<'_, N>) {
        let me = work.place.me;
        for part in (0..self.lines).map(|part| part as u8) {
            let line = line_of::<N>(self.lines, work.msg.line, part);
            work.push(Msg::new(me, store_of(me), Kind::Reset, line, Block::EMPTY));
        }
    }
}

impl<const N: usize> Controller<N> for Hmd {
    fn table(&self) -> &'static Table {
        &hmd::TABLE
    }

    fn lines(&self) -> usize {
        self.lines.into()
    }

    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        if msg.kind == Kind::Flush {
            return Some(if line.sharers.is_empty() { Event::Untaken } else { Event::Take } as u8);
        }
        let from = place.sharer(msg.from);
        let (holds, alone) = (line.sharers.meets(from), line.sharers.without(from).is_empty());
        let exclusive = Self::state(line) == State::X;
        let gives = |owner: Node| self.peer && !self.is_single(place, owner) && !self.is_single(place, msg.from);
        let owned = exclusive || Self::state(line) == State::O;
        let last = line.acks <= self.worth(msg);
        let others = !line.dirty.without(single(number::<N>(self.lines, msg.line))).is_empty();
        let event = match msg.kind {
            Kind::Get | Kind::GetS if exclusive && holds => Event::GetOwner,
            Kind::Get | Kind::GetS if owned && Self::owner(place, line).is_some_and(gives) => Event::GetPeer,
            Kind::Get | Kind::GetS => Event::Get,
            Kind::GetX if line.join == Some(msg.from) && Self::state(line) == State::O => Event::GetXShared,
            Kind::GetX if alone => Event::GetXAlone,
            Kind::GetX => Event::GetX,
            Kind::WriteBack if holds && exclusive && self.is_single(place, msg.from) => Event::WriteBackLine,
            Kind::WriteBack if holds => Event::WriteBack,
            Kind::WriteBack => Event::WriteBackOld,
            Kind::Flushed | Kind::InvAck if !last => Event::Answer,
            Kind::Flushed if Self::state(line) == State::W_Line && others => Event::AnswerLine,
            Kind::Flushed if self.owns && self.is_single(place, msg.from) && Self::gives_up(line) => Event::AnswerAlone,
            Kind::Flushed | Kind::InvAck => Event::AnswerLast,
            Kind::FwdAck if msg.acks == 0 => Event::FwdAck,
            Kind::FwdAck => Event::FwdAckOwner,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let rests = line.acks == 0 && !line.is_asked();
        let (holders, owner) = (line.sharers.len(), line.join.is_some());
        match Self::state(line) {
            State::I => rests && holders == 0 && !owner,
            State::S => rests && holders > 0 && !owner,
            State::X => rests && holders == 1 && !owner,
            State::O => rests && holders > 0 && owner,
            State::W_Inval | State::W_Back | State::W_Line | State::W_Down | State::W_Take => {
                line.acks > 0 && line.is_asked()
            }
        }
    }

    fn granted(&self, place: Place<'_>, line: &Line<N>) -> Option<Granted> {
        // A peer may have received the block before the owner's message about it has arrived.
        let served = line
            .asked
            .filter(|_| Self::state(line) == State::W_Down)
            .map_or(Sharers::NONE, |asked| place.sharer(asked));
        let writes = !matches!(Self::state(line), State::I | State::S | State::O);
        let readers = line.sharers.or(served);
        Some(Granted { readers, writers: if writes { line.sharers } else { Sharers::NONE } })
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Done {
        let from = || work.place.sharer(work.msg.from);
        let asked = || work.line.asked.map(|asked| work.place.sharer(asked)).ok_or("knows no waiting requester");
        let part = number::<N>(self.lines, work.msg.line);
        match Action::ALL[action as usize] {
            Action::Ask => {
                common::ask(work);
                work.line.part = part;
            }
            Action::Hold => {
                let from = from();
                work.line.sharers.add(from);
            }
            Action::HoldAlone => work.line.sharers = from(),
            Action::HoldAsked => {
                let asked = asked()?;
                work.line.sharers.add(asked);
            }
            Action::HoldAskedAlone => work.line.sharers = asked()?,
            Action::Unhold => work.line.sharers = Sharers::NONE,
            Action::Own => work.line.join = Some(work.msg.from),
            Action::Disown => {
                work.line.dirty = Mask::NONE;
                if work.line.join.take().is_some() {
                    self.unmark(work);
                }
            }
            Action::GiveS => self.give(work, Kind::GetS, work.msg.from, part),
            Action::GiveE => self.give(work, Kind::Get, work.msg.from, part),
            Action::GiveX => self.give(work, Kind::GetX, work.msg.from, part),
            Action::AnswerS => return self.answer(work, Kind::GetS),
            Action::AnswerE => return self.answer(work, Kind::Get),
            Action::AnswerX => return self.answer(work, Kind::GetX),
            Action::Relieve => work.send(work.msg.from, Kind::WriteBackAck, Block::EMPTY),
            Action::AnswerBack => {
                let to = work.line.asked.take().ok_or("has no holder to take the line back from")?;
                let line = line_of::<N>(self.lines, work.msg.line, std::mem::take(&mut work.line.part));
                work.push(Msg::new(work.place.me, to, Kind::WriteBackAck, line, Block::EMPTY));
            }
            Action::Merge => self.merge(work),
            Action::Inval => self.tell_inval(work, work.line.sharers),
            Action::InvalOthers => {
                let others = work.line.sharers.without(from());
                self.tell_inval(work, others);
            }
            Action::InvalLine => {
                let owned = !work.line.dirty.and(single(part)).is_empty();
                work.send(work.msg.from, if owned { Kind::CoreFlush } else { Kind::Inval }, Block::EMPTY);
                work.line.acks = 1;
            }
            Action::Downgrade => return self.share(work, None),
            Action::Forward => return self.share(work, work.line.asked),
            Action::Count => {
                let worth = self.worth(work.msg);
                work.line.acks = work.line.acks.checked_sub(worth).ok_or("awaits no such answer")?;
            }
            Action::Return => work.line.dirty = work.line.dirty.without(single(part)),
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::AnswerDone => {
                let to = work.line.asked.take().ok_or("has no node to notify")?;
                work.line.part = 0;
                let line = line_of::<N>(self.lines, work.msg.line, 0);
                work.push(Msg::new(work.place.me, to, Kind::Done, line, Block::EMPTY));
            }
            Action::Settled => {
                work.line.acks = 0;
                work.line.asked = None;
                work.line.part = 0;
            }
        }
        Ok(())
    }
}
