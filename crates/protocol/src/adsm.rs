//! Asymmetric distributed shared memory: the host alone keeps its copy and the accelerator's memory consistent.
//!
//! The host's side of GMAC's protocols (`[gmac 4.3, Fig. 6]`), for an object or a block of one. Fig. 6 shows three
//! states; the others here are transfers in flight: `Sending` on a call, `Fetching` on a return, `ReadFault` and
//! `WriteFault` while a page fault fetches a block, `Rolling` while the oldest dirty block is sent early. Between
//! call and return the program must not access shared objects, as release consistency requires: those cells are `x`.

use crate::{Block, Controller, Kind, Line, Mask, Msg, Place, Table, Work, common, protocol};

protocol! {
 /// Batch-update, Fig. 6 (a): everything is sent on a call and fetched on a return; accesses are not detected.
 batch actions(Ask Fetch Fill Answer Hit Take Send Clean Drop Done DoneAsked)
 on(        Load         Store         Call                 Return               Roll  Data                     Landed                   )
 Invalid  { x            x             x                    [Fetching Ask Fetch] x     x                        x                        }
 Dirty    { [Dirty Hit]  [Dirty Take]  [Sending Ask Send]   x                    x     x                        x                        }
 Sending  { x            x             x                    x                    x     x                        [Invalid Drop DoneAsked] }
 Fetching { x            x             x                    x                    x     [Dirty Fill DoneAsked]   x                        }
}

protocol! {
 /// Lazy-update, Fig. 6 (b) without the dotted line.
 lazy actions(Ask Fetch Fill Answer Hit Take Send Clean Drop Done DoneAsked)
 on(          Load                   Store                   Call                 Return          Roll            Data                    Landed                   )
 Invalid    { [ReadFault Ask Fetch]  [WriteFault Take Fetch] [Invalid Done]       [Invalid Done]  x               x                       x                        }
 ReadOnly   { [ReadOnly Hit]         [Dirty Take]            [Invalid Drop Done]  x               x               x                       x                        }
 Dirty      { [Dirty Hit]            [Dirty Take]            [Sending Ask Send]   x               x               x                       x                        }
 Sending    { x                      x                       x                    x               x               x                       [Invalid Drop DoneAsked] }
 ReadFault  { z                      z                       z                    x               x               [ReadOnly Fill Answer]  x                        }
 WriteFault { z                      z                       z                    x               x               [Dirty Fill]            x                        }
}

protocol! {
 /// Rolling-update, Fig. 6 (b): `Roll` is the dotted line.
 rolling actions(Ask Fetch Fill Answer Hit Take Send Clean Drop Done DoneAsked)
 on(          Load                   Store                   Call                 Return          Roll            Data                    Landed                   )
 Invalid    { [ReadFault Ask Fetch]  [WriteFault Take Fetch] [Invalid Done]       [Invalid Done]  x               x                       x                        }
 ReadOnly   { [ReadOnly Hit]         [Dirty Take]            [Invalid Drop Done]  x               x               x                       x                        }
 Dirty      { [Dirty Hit]            [Dirty Take]            [Sending Ask Send]   x               [Rolling Send]  x                       x                        }
 Sending    { x                      x                       x                    x               x               x                       [Invalid Drop DoneAsked] }
 ReadFault  { z                      z                       z                    x               x               [ReadOnly Fill Answer]  x                        }
 WriteFault { z                      z                       z                    x               x               [Dirty Fill]            x                        }
 Rolling    { [Rolling Hit]          z                       z                    x               x               x                       [ReadOnly Clean]         }
}

/// The host's side; all three tables have the same events and actions.
pub struct Host(&'static Table);

/// Batch-update.
pub static BATCH: Host = Host(&batch::TABLE);
/// Lazy-update.
pub static LAZY: Host = Host(&lazy::TABLE);
/// Rolling-update.
pub static ROLLING: Host = Host(&rolling::TABLE);

impl<const N: usize> Controller<N> for Host {
    fn table(&self) -> &'static Table {
        self.0
    }

    fn classify(&self, _: Place<'_>, _: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        use lazy::Event;
        let event = match msg.kind {
            Kind::Load => Event::Load,
            Kind::Store => Event::Store,
            Kind::Call => Event::Call,
            Kind::Return => Event::Return,
            Kind::Roll => Event::Roll,
            Kind::Data => Event::Data,
            Kind::Ack => Event::Landed,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, empty) = (line.data.is_full(), line.is_empty());
        let (held, asked) = match self.0.states[line.state as usize] {
            "Invalid" => (empty, false),
            "Fetching" | "ReadFault" => (empty, true),
            "WriteFault" => (line.is_partial(), false),
            "Sending" => (whole, true),
            "ReadOnly" => (whole && !line.is_dirty(), false),
            // Batch-update treats everything as dirty, written or not.
            _ => (whole && (line.is_dirty() || self.0.name == "batch"), false),
        };
        held && line.is_asked() == asked
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        use lazy::Action;
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Fill => common::fill(work),
            Action::Answer => return common::answer(work, Kind::Loaded),
            Action::Hit => work.send(work.msg.from, Kind::Loaded, work.line.data),
            Action::Take => common::take_dirty(work),
            Action::Clean => work.line.dirty = Mask::NONE,
            Action::Send => work.send(work.place.below, Kind::Write, work.line.data),
            Action::Drop => common::drop_data(work),
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::DoneAsked => return common::done_asked(work),
        }
        Ok(())
    }
}

protocol! {
 /// The accelerator's memory: its kernels load and store, the host reads and writes.
 accelerator actions(Reply Hit Take Ack)
 on(    Read          Write            Load         Store       )
 Here { [Here Reply]  [Here Take Ack]  [Here Hit]   [Here Take] }
}

/// The controller of table [`accelerator`].
pub struct Accelerator;

impl<const N: usize> Controller<N> for Accelerator {
    fn table(&self) -> &'static Table {
        &accelerator::TABLE
    }

    fn classify(&self, _: Place<'_>, _: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        use accelerator::Event;
        let event = match msg.kind {
            Kind::Read => Event::Read,
            Kind::Write => Event::Write,
            Kind::Load => Event::Load,
            Kind::Store => Event::Store,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        line.data.is_full()
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        use accelerator::Action;
        match Action::ALL[action as usize] {
            Action::Reply => work.send(work.msg.from, Kind::Data, work.line.data),
            Action::Hit => work.send(work.msg.from, Kind::Loaded, work.line.data),
            Action::Take => work.line.data.write(&work.msg.data),
            Action::Ack => common::acknowledge(work),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Log, Node, Place, Step, step};
    use mem::LineAddr;

    #[test]
    fn all_hosts_share_events_and_actions() {
        for table in [&batch::TABLE, &rolling::TABLE] {
            assert_eq!(table.events, lazy::TABLE.events);
            assert_eq!(table.actions, lazy::TABLE.actions);
        }
    }

    /// An object on the host and its transfers: the accelerator answers each message at once.
    struct Object {
        host: &'static Host,
        line: Line<2>,
        to_accelerator: usize,
        to_host: usize,
    }

    impl Object {
        fn new(host: &'static Host, state: u8) -> Self {
            let line = Line { data: Block::full([0, 0]), ..Line::new(state) };
            Self { host, line, to_accelerator: 0, to_host: 0 }
        }

        /// The state after an event and all its transfers.
        fn after(&mut self, kind: Kind) -> &'static str {
            let mut log = Log::new(self.host.0, 8);
            let data = if kind == Kind::Store { Block::one(0, 1) } else { Block::EMPTY };
            let mut inbox = vec![Msg::new(Node(9), Node(0), kind, LineAddr(0), data)];
            while let Some(msg) = inbox.pop() {
                let place = Place::new(Node(0), Node(1));
                let step = step(self.host, self.host.0, place, &mut self.line, &msg, &mut log).unwrap();
                let Step::Sends(sends) = step else { panic!("{:?} stalls", msg.kind) };
                for send in sends {
                    let answer = |kind, data| Msg { from: Node(1), to: Node(0), kind, data, ..send };
                    match send.kind {
                        Kind::Write => inbox.push(answer(Kind::Ack, send.data)),
                        Kind::Read => inbox.push(answer(Kind::Data, Block::full([5, 6]))),
                        _ => continue,
                    }
                    self.to_accelerator += usize::from(send.kind == Kind::Write);
                    self.to_host += usize::from(send.kind == Kind::Read);
                }
            }
            self.host.0.states[self.line.state as usize]
        }
    }

    #[test]
    fn a_call_waits_for_a_block_that_a_page_fault_fetches() {
        for (host, state) in [(&LAZY, lazy::State::ReadFault as u8), (&ROLLING, rolling::State::ReadFault as u8)] {
            let mut line = Line::<2> { asked: Some(Node(9)), ..Line::new(state) };
            let before = line;
            let call = Msg::new(Node(8), Node(0), Kind::Call, LineAddr(0), Block::EMPTY);
            let mut log = Log::new(host.0, 0);
            assert_eq!(step(host, host.0, Place::new(Node(0), Node(1)), &mut line, &call, &mut log), Ok(Step::Stall));
            assert_eq!(line, before, "{}", host.0.name);
        }
    }

    #[test]
    fn gmac_figure_6_a_batch_update_moves_everything_on_call_and_return() {
        let mut object = Object::new(&BATCH, batch::State::Dirty as u8);
        assert_eq!(object.after(Kind::Call), "Invalid");
        assert_eq!((object.to_accelerator, object.to_host), (1, 0));
        assert_eq!(object.after(Kind::Return), "Dirty");
        assert_eq!((object.to_accelerator, object.to_host), (1, 1));
        assert_eq!(object.after(Kind::Load), "Dirty");
        // Not modified by the CPU, and yet transferred again.
        assert_eq!(object.after(Kind::Call), "Invalid");
        assert_eq!((object.to_accelerator, object.to_host), (2, 1));
    }

    #[test]
    fn gmac_figure_6_b_lazy_update_moves_what_was_modified_and_what_is_accessed() {
        let mut object = Object::new(&LAZY, lazy::State::ReadOnly as u8);
        assert_eq!(object.after(Kind::Load), "ReadOnly");
        assert_eq!(object.after(Kind::Call), "Invalid");
        assert_eq!(object.after(Kind::Return), "Invalid");
        assert_eq!((object.to_accelerator, object.to_host), (0, 0), "nothing modified, nothing accessed");
        assert_eq!(object.after(Kind::Load), "ReadOnly");
        assert_eq!((object.to_accelerator, object.to_host), (0, 1));
        assert_eq!(object.after(Kind::Store), "Dirty");
        assert_eq!(object.after(Kind::Call), "Invalid");
        assert_eq!((object.to_accelerator, object.to_host), (1, 1));
        assert_eq!(object.after(Kind::Return), "Invalid");
        assert_eq!(object.after(Kind::Store), "Dirty");
        assert_eq!(object.line.data, Block::full([1, 6]), "the block came back under the byte that was written");
        assert_eq!((object.to_accelerator, object.to_host), (1, 2));
    }

    #[test]
    fn gmac_figure_6_b_rolling_update_sends_the_oldest_dirty_block_early_and_keeps_it_readable() {
        let mut object = Object::new(&ROLLING, rolling::State::ReadOnly as u8);
        assert_eq!(object.after(Kind::Store), "Dirty");
        assert_eq!(object.after(Kind::Roll), "ReadOnly");
        assert_eq!((object.to_accelerator, object.to_host), (1, 0));
        assert_eq!(object.after(Kind::Call), "Invalid");
        assert_eq!((object.to_accelerator, object.to_host), (1, 0), "sent already");
    }
}
