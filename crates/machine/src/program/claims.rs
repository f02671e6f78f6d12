//! The port through which a host outside the machine, which has no caches, takes blocks out of the memories of GPUs.
//! The directories of the host's memory collect the blocks; then the process's memory holds what GPUs have written.

use super::{Caches, ModelGpus, model_gpus::TakeBack};
use engine::{Context, EventCount, Histogram, Inlet, Lane, Scope};
use interconnect::{Packet, Pending, Router, Side, name_of};
use mem::{Block, Interleave, LineAddr, PAGE, PhysAddr};
use protocol::{Kind, Msg, Node};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::Future,
    pin::Pin,
    rc::Rc,
};

/// Maximum number of blocks being collected.
const IN_FLIGHT: usize = 64;

/// The element that claims blocks. Clones are handles to the same one.
#[derive(Clone)]
pub struct Claims(Rc<Inner>);

struct Inner {
    me: Node,
    homes: Interleave<Node>,
    block: u64,
    queue: RefCell<VecDeque<LineAddr>>,
    /// For each claimed block, the claims that wait for it: how many blocks each of them still lacks.
    waiting: RefCell<BTreeMap<LineAddr, Vec<Rc<Cell<usize>>>>>,
    in_flight: Cell<usize>,
    bell: EventCount,
    answered: EventCount,
    /// Cycles from the claim of a page until all its blocks have arrived. The host waits for a single page, and claims
    /// many at once when it frees them.
    cycles: Histogram,
}

impl Claims {
    /// Builds the element at `scope` and starts the context that sends its messages.
    pub fn build((me, homes): (Node, Interleave<Node>), block: u64, below: Side<Packet>, scope: &Scope) -> Self {
        let (bell, pending) = (scope.eventcount("work"), Pending::default());
        below.from.iter().for_each(|inlet| inlet.ring(&bell));
        let to = Router::new(below.to, &pending, &scope.scope("neighbours"), &bell);
        let own = Self(Rc::new(Inner {
            me,
            homes,
            block,
            queue: RefCell::default(),
            waiting: RefCell::default(),
            in_flight: Cell::new(0),
            bell,
            answered: scope.eventcount("answered"),
            cycles: scope.histogram("cycles"),
        }));
        let inner = Rc::clone(&own.0);
        scope.serve("control", |cx| inner.run(cx, below.from, to, pending));
        own
    }

    /// Takes all of these pages out of the memories of GPUs.
    pub async fn take(&self, pages: &[PhysAddr]) {
        let Inner { block, queue, waiting, bell, answered, .. } = &*self.0;
        let blocks = pages.iter().flat_map(|page| (page.0 / block * block..page.0 + PAGE).step_by(*block as usize));
        let blocks: BTreeSet<LineAddr> = blocks.map(LineAddr).collect();
        let left = Rc::new(Cell::new(blocks.len()));
        for block in blocks {
            let mut waiting = waiting.borrow_mut();
            let others = waiting.entry(block).or_default();
            if others.is_empty() {
                queue.borrow_mut().push_back(block);
            }
            others.push(Rc::clone(&left));
        }
        bell.advance();
        loop {
            let seen = answered.count();
            if left.get() == 0 {
                return;
            }
            answered.wait(seen + 1).await;
        }
    }

    /// Claims the pages that the driver of these GPUs requests for accesses of the host, one access after another.
    pub fn serve(&self, gpus: &ModelGpus, scope: &Scope) {
        let (own, gpus, bell) = (self.clone(), gpus.clone(), scope.eventcount("wanted"));
        gpus.taken_back_by(bell.clone());
        scope.serve("take_back", |cx| async move {
            loop {
                let Some(TakeBack { number, frames }) = gpus.next_wanted() else {
                    bell.next().await;
                    continue;
                };
                let (start, begun) = (cx.time(), cx.now());
                if !frames.is_empty() {
                    own.take(&frames).await;
                    if let [_] = frames[..] {
                        own.0.cycles.record(cx.now().0 - begun.0);
                    }
                }
                gpus.took(&frames);
                gpus.end(number, start, cx.time());
            }
        });
    }
}

impl Caches for Claims {
    /// The host has no caches, so its writes are in memory already. Takes the pages from the memories of GPUs, whose
    /// copies are out of date.
    fn flush(&self, pages: &[PhysAddr]) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        let pages = pages.to_vec();
        Box::pin(async move { self.take(&pages).await })
    }
}

impl Inner {
    async fn run(self: Rc<Self>, cx: Context, from: Vec<Inlet<Packet>>, to: Router<Packet>, pending: Pending) {
        cx.known_as(name_of(self.me));
        loop {
            let seen = self.bell.count();
            match self.answer(&from) || pending.is_clear() && self.ask(&to) {
                true => cx.pause(1).await,
                false => {
                    while self.bell.rest(seen + 1).await {
                        to.explain(&cx);
                    }
                }
            }
        }
    }

    fn answer(&self, from: &[Inlet<Packet>]) -> bool {
        let Some(packet) = from.iter().find_map(|inlet| inlet.try_recv(Lane::Reply)) else { return false };
        let claims = self.waiting.borrow_mut().remove(&packet.msg.line).unwrap_or_default();
        claims.iter().for_each(|left| left.set(left.get() - 1));
        self.in_flight.set(self.in_flight.get() - 1);
        self.answered.advance();
        true
    }

    fn ask(&self, to: &Router<Packet>) -> bool {
        if self.in_flight.get() == IN_FLIGHT {
            return false;
        }
        let Some(block) = self.queue.borrow_mut().pop_front() else { return false };
        let home = *self.homes.of(block.0);
        self.in_flight.set(self.in_flight.get() + 1);
        to.send(Msg::new(self.me, home, Kind::Flush, block, Block::EMPTY).into());
        true
    }
}
