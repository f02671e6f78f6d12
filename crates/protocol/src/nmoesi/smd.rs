//! The SMD, the directory of a GPU's memory (`[umh 5]`, Figs. 7 and 10). That memory is a cache of blocks, with one tag
//! and one state for all lines of a block.
//!
//! One record stands for a block (see [`Controller::lines`]); the bytes are in its [`store`](super::store), the node
//! with the next number. Above it is one second-level cache. For each line the record holds the paper's owner bit, in
//! `dirty`: the cache above has the line for writing. `in_flight` marks the lines that the cache above may hold at all;
//! hardware without that bit would have to probe every line.
//!
//! A block is fetched, probed and given up as a whole. Its lines travel one by one; the holder that gives a block up
//! finally says how many lines carried bytes (`InvAck`).
//!
//! `I_Get`, `I_GetS` (for a load only), `I_GetX`, `N_GetX` and `O_GetX` wait for a block. `U_...` and `Take_...` wait
//! for the cache above: `U_Ask` before the home is asked for the right to write; `U_Inval` to give the block up;
//! `U_Down` and `U_Fwd` to share it through the home or with a peer (`M` in the name: bytes have arrived). `Take_...`
//! takes one line back from the cache above, and is named after the block's state if no bytes come; in `Take_B` the
//! block itself is being given up, and the probe that completes this must not wait for the line. State O is M whose
//! lines went to a peer and not to the home.

use super::actions::{self, Done};
use crate::{
    Access, Block, Controller, Granted, Kind, Line, Mask, Msg, Node, Place, Sharers, Table, Work, common, protocol,
};
use mem::LineAddr;
use smd::{Action, Event, State};

protocol! {
 /// Table II for a block. `Above`: the cache above may hold lines that matter for the event. `Home`: all bytes have to
 /// go to the host's memory.
 smd actions(Ask GiveS GiveE GiveX AnswerS AnswerE AnswerX Get GetX WriteBack Relieve Merge Fill Count TellInval TellOthers TellLine TellDowngrade Returned
  ReturnedLine Shared Join Peer FwdAck FwdAckOwner Down Forget InvAck InvAckLines Done)
 on(       Get              GetS              GetX                     GetXAbove                      GetXBytes                WriteBack          WriteBackOld)
 N       { [N GiveS]        [N GiveS]         [N_GetX Ask Merge GetX]  [U_Ask Ask Merge TellOthers]   x                        [Take_N TellLine]  [N Relieve]      }
 M       { [M GiveE]        [M GiveS]         [M Merge GiveX]          [M Merge GiveX]                x                        [Take_M TellLine]  [M Relieve]      }
 O       { [O GiveS]        [O GiveS]         [O_GetX Ask Merge GetX]  [U_AskO Ask Merge TellOthers]  x                        [Take_O TellLine]  [O Relieve]      }
 E       { [E GiveE]        [E GiveS]         [M Merge GiveX]          [M Merge GiveX]                x                        [Take_E TellLine]  [E Relieve]      }
 S       { [S GiveS]        [S GiveS]         [N_GetX Ask Merge GetX]  [U_Ask Ask Merge TellOthers]   x                        [Take_S TellLine]  [S Relieve]      }
 I       { [I_Get Ask Get]  [I_GetS Ask Get]  [I_GetX Ask GetX]        x                              [N_GetX Ask Merge GetX]  x                  [I Relieve]      }
 I_Get   { z                z                 z                        x                              x                        x                  [I_Get Relieve]  }
 I_GetS  { z                z                 z                        x                              x                        x                  [I_GetS Relieve] }
 I_GetX  { z                z                 z                        x                              x                        x                  [I_GetX Relieve] }
 N_GetX  { z                z                 z                        x                              x                        x                  [N_GetX Relieve] }
 O_GetX  { z                z                 z                        x                              x                        x                  [O_GetX Relieve] }
 U_Ask   { z                z                 z                        z                              x                        z                  z                }
 U_AskO  { z                z                 z                        z                              x                        z                  z                }
 U_Inval { z                z                 z                        z                              x                        z                  z                }
 U_Down  { z                z                 z                        z                              x                        z                  z                }
 U_DownM { z                z                 z                        z                              x                        z                  z                }
 U_Fwd   { z                z                 z                        z                              x                        z                  z                }
 U_FwdM  { z                z                 z                        z                              x                        z                  z                }
 Take_S  { z                z                 z                        z                              x                        z                  z                }
 Take_N  { z                z                 z                        z                              x                        z                  z                }
 Take_M  { z                z                 z                        z                              x                        z                  z                }
 Take_O  { z                z                 z                        z                              x                        z                  z                }
 Take_E  { z                z                 z                        z                              x                        z                  z                }
 WB      { z                z                 z                        z                              x                        [Take_B TellLine]  [WB Relieve]     }
 Take_B  { z                z                 z                        z                              x                        z                  z                }
 U_Back  { z                z                 z                        z                              x                        z                  z                }
 Gone    { z                z                 z                        x                              x                        x                  [Gone Relieve]   };
 on(       Evict           Flush               FlushHome           Put                  PutS                    PutE                    PutX)
 N       { [WB WriteBack]  [WB Ask WriteBack]  [WB Ask WriteBack]  x                    x                       x                       x                      }
 M       { [WB WriteBack]  [M Done]            [WB Ask WriteBack]  x                    x                       x                       x                      }
 O       { [WB WriteBack]  [WB Ask WriteBack]  [WB Ask WriteBack]  x                    x                       x                       x                      }
 E       { [WB WriteBack]  [E Done]            [E Done]            x                    x                       x                       x                      }
 S       { [WB WriteBack]  [S Done]            [S Done]            x                    x                       x                       x                      }
 I       { x               [I Done]            [I Done]            x                    x                       x                       x                      }
 I_Get   { z               z                   z                   [I_Get Fill Count]   [S Fill Count AnswerS]  [E Fill Count AnswerE]  x                      }
 I_GetS  { z               z                   z                   [I_GetS Fill Count]  [S Fill Count AnswerS]  [E Fill Count AnswerS]  x                      }
 I_GetX  { z               z                   z                   [I_GetX Fill Count]  x                       x                       [M Fill Count AnswerX] }
 N_GetX  { z               z                   z                   [N_GetX Fill Count]  x                       x                       [M Fill Count AnswerX] }
 O_GetX  { z               z                   z                   [O_GetX Fill Count]  x                       x                       [M Fill Count AnswerX] }
 U_Ask   { z               z                   z                   x                    x                       x                       x                      }
 U_AskO  { z               z                   z                   x                    x                       x                       x                      }
 U_Inval { z               z                   z                   x                    x                       x                       x                      }
 U_Down  { z               z                   z                   x                    x                       x                       x                      }
 U_DownM { z               z                   z                   x                    x                       x                       x                      }
 U_Fwd   { z               z                   z                   x                    x                       x                       x                      }
 U_FwdM  { z               z                   z                   x                    x                       x                       x                      }
 Take_S  { z               z                   z                   x                    x                       x                       x                      }
 Take_N  { z               z                   z                   x                    x                       x                       x                      }
 Take_M  { z               z                   z                   x                    x                       x                       x                      }
 Take_O  { z               z                   z                   x                    x                       x                       x                      }
 Take_E  { z               z                   z                   x                    x                       x                       x                      }
 WB      { z               z                   z                   x                    x                       x                       x                      }
 Take_B  { z               z                   z                   x                    x                       x                       x                      }
 U_Back  { z               z                   z                   x                    x                       x                       x                      }
 Gone    { z               z                   z                   x                    x                       x                       x                      };
 on(       Answer           AnswerBytes            AnswerLast                                     AnswerLastBytes)
 N       { x                x                      x                                              x                                                   }
 M       { x                x                      x                                              x                                                   }
 O       { x                x                      x                                              x                                                   }
 E       { x                x                      x                                              x                                                   }
 S       { x                x                      x                                              x                                                   }
 I       { x                x                      x                                              x                                                   }
 I_Get   { x                x                      x                                              x                                                   }
 I_GetS  { x                x                      x                                              x                                                   }
 I_GetX  { x                x                      x                                              x                                                   }
 N_GetX  { x                x                      x                                              x                                                   }
 O_GetX  { x                x                      x                                              x                                                   }
 U_Ask   { [U_Ask Count]    [U_Ask Merge Count]    [N_GetX GetX]                                  [N_GetX Merge GetX]                                 }
 U_AskO  { [U_AskO Count]   [U_AskO Merge Count]   [O_GetX GetX]                                  [O_GetX Merge GetX]                                 }
 U_Inval { [U_Inval Count]  [U_Inval Merge Count]  [I Count Returned Down Forget InvAckLines]     [I Merge Count Returned Down Forget InvAckLines]    }
 U_Down  { [U_Down Count]   [U_DownM Merge Count]  [S Count Shared InvAck]                        [S Merge Count Shared Down InvAckLines]             }
 U_DownM { [U_DownM Count]  [U_DownM Merge Count]  [S Count Shared Down InvAckLines]              [S Merge Count Shared Down InvAckLines]             }
 U_Fwd   { [U_Fwd Count]    [U_FwdM Merge Count]   [S Count Shared Peer FwdAck]                   [O Merge Count Shared Peer FwdAckOwner]             }
 U_FwdM  { [U_FwdM Count]   [U_FwdM Merge Count]   [O Count Shared Peer FwdAckOwner]              [O Merge Count Shared Peer FwdAckOwner]             }
 Take_S  { x                x                      [S Count ReturnedLine Relieve]                 [N Merge Count ReturnedLine Relieve]                }
 Take_N  { x                x                      [N Count ReturnedLine Relieve]                 [N Merge Count ReturnedLine Relieve]                }
 Take_M  { x                x                      [M Count ReturnedLine Relieve]                 [M Merge Count ReturnedLine Relieve]                }
 Take_O  { x                x                      [O Count ReturnedLine Relieve]                 [O Merge Count ReturnedLine Relieve]                }
 Take_E  { x                x                      [E Count ReturnedLine Relieve]                 [M Merge Count ReturnedLine Relieve]                }
 WB      { x                x                      x                                              x                                                   }
 Take_B  { x                x                      [WB Count ReturnedLine Relieve]                [WB Merge Count ReturnedLine Relieve]               }
 U_Back  { [U_Back Count]   [U_Back Merge Count]   [Gone Count Returned Down Forget InvAckLines]  [Gone Merge Count Returned Down Forget InvAckLines] }
 Gone    { x                x                      x                                              x                                                   };
 on(       Inval                             InvalAbove           CoreFlush                    CoreFlushAbove       Back  BackAsked)
 N       { [I Down Forget InvAckLines]       [U_Inval TellInval]  x                            x                    x     x         }
 M       { x                                 x                    [I Down Forget InvAckLines]  [U_Inval TellInval]  x     x         }
 O       { [I Down Forget InvAckLines]       [U_Inval TellInval]  x                            x                    x     x         }
 E       { x                                 x                    [I Forget InvAck]            [U_Inval TellInval]  x     x         }
 S       { [I Forget InvAck]                 [U_Inval TellInval]  x                            x                    x     x         }
 I       { x                                 x                    x                            x                    x     x         }
 I_Get   { z                                 x                    z                            x                    x     x         }
 I_GetS  { z                                 x                    z                            x                    x     x         }
 I_GetX  { x                                 x                    z                            x                    x     x         }
 N_GetX  { [I_GetX Down Forget InvAckLines]  x                    z                            x                    x     x         }
 O_GetX  { [I_GetX Down Forget InvAckLines]  x                    z                            x                    x     x         }
 U_Ask   { x                                 z                    x                            x                    x     x         }
 U_AskO  { x                                 z                    x                            x                    x     x         }
 U_Inval { x                                 x                    x                            x                    x     x         }
 U_Down  { x                                 x                    x                            x                    x     x         }
 U_DownM { x                                 x                    x                            x                    x     x         }
 U_Fwd   { x                                 x                    x                            x                    x     x         }
 U_FwdM  { x                                 x                    x                            x                    x     x         }
 Take_S  { x                                 z                    x                            x                    x     x         }
 Take_N  { x                                 z                    x                            x                    x     x         }
 Take_M  { x                                 x                    x                            z                    x     x         }
 Take_O  { x                                 z                    x                            x                    x     x         }
 Take_E  { x                                 x                    x                            z                    x     x         }
 WB      { [Gone Down Forget InvAckLines]    [U_Back TellInval]   x                            x                    x     x         }
 Take_B  { z                                 z                    x                            x                    x     x         }
 U_Back  { x                                 x                    x                            x                    x     x         }
 Gone    { [Gone InvAck]                     x                    x                            x                    [I]   [I Done]  };
 on(       Downgrade             DowngradeAbove           GetFwd                     GetFwdAbove                  Share                      SharePeer)
 N       { x                     x                        x                          x                            x                          x                              }
 M       { [S Down InvAckLines]  [U_DownM TellDowngrade]  [O Join Peer FwdAckOwner]  [U_FwdM Join TellDowngrade]  x                          x                              }
 O       { x                     x                        x                          x                            [S Down InvAckLines]       [O Join Peer FwdAckOwner]      }
 E       { [S InvAck]            [U_Down TellDowngrade]   [S Join Peer FwdAck]       [U_Fwd Join TellDowngrade]   x                          x                              }
 S       { x                     x                        x                          x                            x                          x                              }
 I       { x                     x                        x                          x                            x                          x                              }
 I_Get   { z                     x                        z                          x                            x                          x                              }
 I_GetS  { z                     x                        z                          x                            x                          x                              }
 I_GetX  { z                     x                        z                          x                            x                          x                              }
 N_GetX  { z                     x                        z                          x                            x                          x                              }
 O_GetX  { z                     x                        z                          x                            [N_GetX Down InvAckLines]  [O_GetX Join Peer FwdAckOwner] }
 U_Ask   { x                     x                        x                          x                            x                          x                              }
 U_AskO  { x                     x                        x                          x                            z                          z                              }
 U_Inval { x                     x                        x                          x                            x                          x                              }
 U_Down  { x                     x                        x                          x                            x                          x                              }
 U_DownM { x                     x                        x                          x                            x                          x                              }
 U_Fwd   { x                     x                        x                          x                            x                          x                              }
 U_FwdM  { x                     x                        x                          x                            x                          x                              }
 Take_S  { x                     x                        x                          x                            x                          x                              }
 Take_N  { x                     x                        x                          x                            x                          x                              }
 Take_M  { z                     z                        z                          z                            x                          x                              }
 Take_O  { x                     x                        x                          x                            z                          z                              }
 Take_E  { z                     z                        z                          z                            x                          x                              }
 WB      { x                     x                        x                          x                            x                          x                              }
 Take_B  { x                     x                        x                          x                            x                          x                              }
 U_Back  { x                     x                        x                          x                            x                          x                              }
 Gone    { x                     x                        x                          x                            x                          x                              }
}

/// The controller of table [`smd`].
pub struct Smd {
    /// Lines of a block, at most 256.
    pub lines: u16,
    /// Whether flushed bytes go to the host's memory. If not, a block that no other GPU holds stays here modified, and
    /// a requester gets it from here; only blocks that others may hold, too, are merged at the home.
    pub releases_home: bool,
}

/// A set of lines of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Lines([u64; 4]);

impl Lines {
    const NONE: Self = Self([0; 4]);

    fn has(self, number: u8) -> bool {
        self.0[usize::from(number / 64)] >> (number % 64) & 1 == 1
    }

    fn with(mut self, number: u8) -> Self {
        self.0[usize::from(number / 64)] |= 1 << (number % 64);
        self
    }

    fn without_one(mut self, number: u8) -> Self {
        self.0[usize::from(number / 64)] &= !(1 << (number % 64));
        self
    }

    fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    fn is_empty(self) -> bool {
        self == Self::NONE
    }

    fn len(self) -> u16 {
        self.0.iter().map(|word| word.count_ones() as u16).sum()
    }

    fn iter(self) -> impl Iterator<Item = u8> {
        let words = self.0.into_iter().enumerate();
        words.flat_map(|(word, bits)| Mask(bits).iter().map(move |bit| (word * 64 + bit) as u8))
    }
}

impl Smd {
    /// The lines that the cache above may write: one bit of `dirty` for each. For lines from 64 on the bits are in
    /// `sharers`, which is unused in a memory with a single cache above.
    fn owned<const N: usize>(line: &Line<N>) -> Lines {
        let mut owned = Lines([line.dirty.0, 0, 0, 0]);
        for number in line.sharers.numbers() {
            owned = owned.with((64 + number) as u8);
        }
        owned
    }

    fn set_owned<const N: usize>(line: &mut Line<N>, owned: Lines) {
        line.dirty = Mask(owned.0[0]);
        line.sharers = Sharers::NONE;
        for number in owned.iter().filter(|number| *number >= 64) {
            line.sharers.add(Sharers::one(u16::from(number) - 64));
        }
    }

    /// Number of lines that a bit of `in_flight` stands for.
    fn per_bit(&self) -> u8 {
        self.lines.div_ceil(64) as u8
    }

    /// The lines that the cache above may hold. In a block of more than 64 lines a bit stands for several lines, so a
    /// probe for a held line includes its neighbours.
    fn held<const N: usize>(&self, line: &Line<N>) -> Lines {
        let per_bit = self.per_bit();
        if per_bit == 1 {
            return Lines([line.in_flight.0, 0, 0, 0]);
        }
        let groups = line.in_flight.iter();
        let lines = groups.flat_map(|group| (0..per_bit).map(move |line| group as u8 * per_bit + line));
        lines.fold(Lines::NONE, Lines::with)
    }

    fn state<const N: usize>(line: &Line<N>) -> State {
        State::ALL[line.state as usize]
    }

    /// The number of a line in its block.
    fn number<const N: usize>(&self, line: LineAddr) -> u8 {
        number::<N>(self.lines, line)
    }

    /// Sends a command about one line of the block to the store.
    fn command<const N: usize>(
        &self,
        work: &mut Work<'_, N>,
        kind: Kind,
        line: LineAddr,
        data: Block<N>,
        of: Option<Node>,
    ) {
        let me = work.place.me;
        work.push(Msg { of, ..Msg::new(me, store_of(me), kind, line, data) });
    }

    fn command_all<const N: usize>(&self, work: &mut Work<'_, N>, kind: Kind, of: Option<Node>) {
        for number in (0..self.lines).map(|number| number as u8) {
            let line = line_of::<N>(self.lines, work.msg.line, number);
            self.command(work, kind, line, Block::EMPTY, of);
        }
    }

    /// Makes the store send a line to the cache above, and records that this cache holds it.
    fn give<const N: usize>(&self, work: &mut Work<'_, N>, kind: Kind, to: Node, number: u8) {
        let line = line_of::<N>(self.lines, work.msg.line, number);
        self.command(work, kind, line, Block::EMPTY, Some(to));
        work.line.in_flight = work.line.in_flight.or(Mask::byte((number / self.per_bit()).into()));
        if kind != Kind::GetS {
            let owned = Self::owned(work.line).with(number);
            Self::set_owned(work.line, owned);
        }
    }

    fn answer<const N: usize>(&self, work: &mut Work<'_, N>, kind: Kind) -> Done {
        let to = work.line.asked.take().ok_or("has no requester to answer")?;
        let number = std::mem::take(&mut work.line.part);
        self.give(work, kind, to, number);
        Ok(())
    }

    /// Probes the cache above for these lines of the block and counts the answers to await.
    fn tell<const N: usize>(&self, work: &mut Work<'_, N>, lines: Lines, kind: Kind) {
        for number in lines.iter() {
            let line = line_of::<N>(self.lines, work.msg.line, number);
            work.push(Msg::new(work.place.me, work.place.above.member(0), kind, line, Block::EMPTY));
        }
        work.line.acks = lines.len();
    }

    /// Makes the cache above give up these lines.
    fn tell_inval<const N: usize>(&self, work: &mut Work<'_, N>, lines: Lines) {
        let others = lines.without(Self::owned(work.line));
        self.tell(work, lines.without(others), Kind::CoreFlush);
        self.tell(work, others, Kind::Inval);
        work.line.acks = lines.len();
    }

    /// Requests the block from the home.
    fn request<const N: usize>(&self, work: &mut Work<'_, N>, kind: Kind) {
        work.line.acks = self.lines;
        let line = line_of::<N>(self.lines, work.msg.line, 0);
        work.push(Msg::new(work.place.me, work.place.below, kind, line, Block::EMPTY));
    }

    /// Tells the home that its probe is answered, and how many lines were sent to it.
    fn told<const N: usize>(&self, work: &mut Work<'_, N>, kind: Kind, lines: u8) {
        let line = line_of::<N>(self.lines, work.msg.line, 0);
        work.push(Msg { acks: lines, ..Msg::new(work.place.me, work.place.below, kind, line, Block::EMPTY) });
    }
}

/// The store of a directory is the node with the next number.
pub(super) fn store_of(directory: Node) -> Node {
    Node(directory.0 + 1)
}

/// The number of a line in its block.
pub(super) fn number<const N: usize>(lines: u16, line: LineAddr) -> u8 {
    (line.0 / N as u64 % u64::from(lines)) as u8
}

/// The address of line `other` of the block of `line`.
pub(super) fn line_of<const N: usize>(lines: u16, line: LineAddr, other: u8) -> LineAddr {
    let line_bytes = N as u64;
    let block = line_bytes * u64::from(lines);
    LineAddr(line.0 / block * block + u64::from(other) * line_bytes)
}

impl<const N: usize> Controller<N> for Smd {
    fn table(&self) -> &'static Table {
        &smd::TABLE
    }

    fn lines(&self) -> usize {
        self.lines.into()
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let number = self.number::<N>(msg.line);
        let above = self.held(line);
        let others = !above.without_one(number).is_empty();
        let (held, owned) = (!above.is_empty(), !Self::owned(line).is_empty());
        let bytes = !msg.data.mask().is_empty();
        let relieved = matches!(Self::state(line), State::WB | State::Take_B);
        let event = match msg.kind {
            Kind::Get => Event::Get,
            Kind::GetS => Event::GetS,
            Kind::GetX if others => Event::GetXAbove,
            Kind::GetX if bytes && Self::state(line) == State::I => Event::GetXBytes,
            Kind::GetX => Event::GetX,
            Kind::WriteBack if above.has(number) => Event::WriteBack,
            Kind::WriteBack => Event::WriteBackOld,
            Kind::Evict => Event::Evict,
            Kind::Flush if self.releases_home => Event::FlushHome,
            Kind::Flush => Event::Flush,
            Kind::PutS | Kind::PutClnX | Kind::PutX if line.acks > 1 => Event::Put,
            Kind::PutS => Event::PutS,
            Kind::PutClnX => Event::PutE,
            Kind::PutX => Event::PutX,
            Kind::Flushed if line.acks > 1 && bytes => Event::AnswerBytes,
            Kind::Flushed if line.acks > 1 => Event::Answer,
            Kind::Flushed if bytes => Event::AnswerLastBytes,
            Kind::Flushed => Event::AnswerLast,
            Kind::WriteBackAck if line.is_asked() => Event::BackAsked,
            Kind::WriteBackAck => Event::Back,
            // A block that is being given up accepts any probe for it.
            Kind::Inval | Kind::CoreFlush | Kind::Downgrade | Kind::GetFwd if relieved && held => Event::InvalAbove,
            Kind::Inval | Kind::CoreFlush | Kind::Downgrade | Kind::GetFwd if relieved => Event::Inval,
            Kind::Inval if held => Event::InvalAbove,
            Kind::Inval => Event::Inval,
            Kind::CoreFlush if held => Event::CoreFlushAbove,
            Kind::CoreFlush => Event::CoreFlush,
            Kind::Downgrade if msg.of.is_some() && owned => Event::GetFwdAbove,
            Kind::Downgrade if msg.of.is_some() => Event::GetFwd,
            Kind::Downgrade if owned => Event::DowngradeAbove,
            Kind::Downgrade => Event::Downgrade,
            Kind::GetFwd if msg.of.is_some() => Event::SharePeer,
            Kind::GetFwd => Event::Share,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let state = Self::state(line);
        let (held, owned) = (!line.in_flight.is_empty(), !Self::owned(line).is_empty());
        let rests = line.acks == 0 && !line.is_asked() && line.early == 0;
        let above = Self::owned(line).without(self.held(line)).is_empty();
        above
            && match state {
                State::I => rests && !held,
                State::S | State::N | State::O => rests && !owned,
                State::E | State::M => rests,
                State::I_Get | State::I_GetS | State::I_GetX | State::N_GetX | State::O_GetX => {
                    line.acks > 0 && line.is_asked() && !held
                }
                State::U_Ask | State::U_AskO => line.acks > 0 && line.is_asked() && !owned,
                State::WB => line.acks == 0,
                State::Gone => line.acks == 0 && !held,
                _ => line.acks > 0,
            }
    }

    /// A block that is held is held completely, and of a block that is not held no line is. While it is requested, this
    /// is true until the first line arrives.
    fn fits_store(&self, line: &Line<N>, store: &[Line<N>]) -> bool {
        let awaits_all = line.acks == self.lines;
        match Self::state(line) {
            State::I => store.iter().all(Line::is_empty),
            State::I_GetX if awaits_all => store.iter().all(Line::is_empty),
            State::N_GetX if awaits_all => !store.iter().all(Line::is_empty),
            State::O_GetX if awaits_all => store.iter().all(|line| line.data.is_full()),
            State::N | State::M | State::O | State::E | State::S => store.iter().all(|line| line.data.is_full()),
            _ => true,
        }
    }

    fn access(&self, line: &Line<N>) -> Access {
        match Self::state(line) {
            State::E | State::M => Access::Write,
            State::S | State::N | State::O => Access::Read,
            _ => Access::None,
        }
    }

    fn granted(&self, place: Place<'_>, line: &Line<N>) -> Option<Granted> {
        let all = place.sharer(place.above.member(0));
        let (held, owned) = (!line.in_flight.is_empty(), !Self::owned(line).is_empty());
        let of = |some| if some { all } else { Sharers::NONE };
        Some(Granted { readers: of(held), writers: of(owned) })
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Done {
        let number = self.number::<N>(work.msg.line);
        match Action::ALL[action as usize] {
            Action::Ask => {
                common::ask(work);
                work.line.part = number;
            }
            Action::GiveS => self.give(work, Kind::GetS, work.msg.from, number),
            Action::GiveE => self.give(work, Kind::Get, work.msg.from, number),
            Action::GiveX => self.give(work, Kind::GetX, work.msg.from, number),
            Action::AnswerS => return self.answer(work, Kind::GetS),
            Action::AnswerE => return self.answer(work, Kind::Get),
            Action::AnswerX => return self.answer(work, Kind::GetX),
            Action::Get => self.request(work, Kind::Get),
            Action::GetX => {
                // The cache above holds no line of the block any more.
                work.line.in_flight = Mask::NONE;
                self.request(work, Kind::GetX);
            }
            Action::WriteBack => {
                let line = line_of::<N>(self.lines, work.msg.line, 0);
                work.push(Msg::new(work.place.me, work.place.below, Kind::WriteBack, line, Block::EMPTY));
            }
            Action::Relieve => work.send(work.msg.from, Kind::WriteBackAck, Block::EMPTY),
            Action::Merge if work.msg.data.mask().is_empty() => {}
            Action::Merge => self.command(work, Kind::Write, work.msg.line, work.msg.data, None),
            Action::Fill => self.command(work, Kind::Data, work.msg.line, work.msg.data, None),
            Action::Count => return actions::count(work),
            Action::TellInval => self.tell_inval(work, self.held(work.line)),
            Action::TellOthers => self.tell_inval(work, self.held(work.line).without_one(number)),
            Action::TellLine => self.tell_inval(work, Lines::NONE.with(number)),
            Action::TellDowngrade => self.tell(work, Self::owned(work.line), Kind::Downgrade),
            Action::Returned => {
                work.line.in_flight = Mask::NONE;
                Self::set_owned(work.line, Lines::NONE);
            }
            Action::ReturnedLine => {
                // Where a bit stands for several lines, the cache above may still hold others of them.
                if self.per_bit() == 1 {
                    work.line.in_flight = work.line.in_flight.without(Mask::byte(number.into()));
                }
                let owned = Self::owned(work.line).without_one(number);
                Self::set_owned(work.line, owned);
            }
            Action::Shared => Self::set_owned(work.line, Lines::NONE),
            Action::Join => work.line.join = work.msg.of,
            Action::Peer => {
                let peer = work.line.join.take().ok_or("knows no peer")?;
                self.command_all(work, Kind::GetS, Some(peer));
            }
            Action::FwdAck => self.told(work, Kind::FwdAck, 0),
            Action::FwdAckOwner => self.told(work, Kind::FwdAck, 1),
            Action::Down => self.command_all(work, Kind::Flush, Some(work.place.below)),
            Action::Forget => self.command_all(work, Kind::Invalidate, None),
            Action::InvAck => self.told(work, Kind::InvAck, 0),
            Action::InvAckLines => self.told(work, Kind::InvAck, 1),
            Action::Done => {
                let to = work.line.asked.take().unwrap_or(work.msg.from);
                work.send(to, Kind::Done, Block::EMPTY);
            }
        }
        Ok(())
    }
}
