//! What travels between caches, what it weighs, and how it is sent without holding the sender up.

use engine::{EventCount, Inlet, Lane, Outlet, Scope};
use mem::{LINE, LineAddr};
use protocol::Msg;
use std::{cell::RefCell, collections::VecDeque, rc::Rc};

/// In a `Flush`, an `Invalidate` and the `Done` that answers it: all lines of the cache.
pub const WHOLE: LineAddr = LineAddr(u64::MAX);

/// What a packet has besides its bytes: command, address, route (`003_07d33ec44b25be67.txt`, 3.2.5.2).
pub const HEADER: u64 = 8;

/// A two-way wire to somebody.
pub struct Wire<In, Out> {
    pub from: Inlet<In>,
    pub to: Outlet<Out>,
}

/// The bytes that a message puts on a wire.
pub fn bytes(msg: &Msg<LINE>) -> u64 {
    HEADER + msg.data.mask().len() as u64
}

/// The wire's lane for a message's lane.
pub fn lane(msg: &Msg<LINE>) -> Lane {
    match msg.lane() {
        protocol::Lane::Request => Lane::Request,
        protocol::Lane::Reply => Lane::Reply,
        protocol::Lane::Coherence => Lane::Coherence,
    }
}

/// The sending side of an element that must never be held up by a full wire: what does not fit waits here, and a context
/// for each lane sends it when there is room. The element looks at [`is_clear`](Sender::is_clear) before it takes on
/// more work.
pub struct Sender<T> {
    outlet: Outlet<T>,
    lanes: [Rc<Backlog<T>>; 3],
}

struct Backlog<T> {
    items: RefCell<VecDeque<(T, u64)>>,
    work: EventCount,
}

impl<T: 'static> Sender<T> {
    /// `bell` is rung whenever a lane has become clear.
    pub fn new(outlet: Outlet<T>, scope: &Scope, bell: &EventCount) -> Self {
        let lanes = Lane::ALL.map(|lane| {
            let name = ["send_request", "send_reply", "send_coherence"][lane as usize];
            let backlog = Rc::new(Backlog { items: RefCell::default(), work: scope.scope(name).eventcount("work") });
            let (own, outlet, bell) = (Rc::clone(&backlog), outlet.clone(), bell.clone());
            scope.serve(name, |_| async move {
                loop {
                    let next = own.items.borrow_mut().pop_front();
                    match next {
                        Some((item, bytes)) => outlet.send(lane, item, bytes).await,
                        None => {
                            bell.advance();
                            own.work.next().await;
                        }
                    }
                }
            });
            backlog
        });
        Self { outlet, lanes }
    }

    pub fn send(&self, lane: Lane, item: T, bytes: u64) {
        let backlog = &self.lanes[lane as usize];
        let item = if backlog.items.borrow().is_empty() {
            match self.outlet.try_send(lane, item, bytes) {
                Ok(()) => return,
                Err(item) => item,
            }
        } else {
            item
        };
        backlog.items.borrow_mut().push_back((item, bytes));
        backlog.work.advance();
    }

    /// Whether everything has gone out in all lanes.
    pub fn is_clear(&self) -> bool {
        self.lanes.iter().all(|backlog| backlog.items.borrow().is_empty())
    }
}
