//! A bounded queue inside one clock domain, without latency: a buffer between two stages of one element.

use crate::{
    context::Scope,
    credits::Credits,
    eventcount::EventCount,
    stats::{Counter, Level},
};
use std::{
    cell::{Ref, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// A bounded queue. Clones are handles to the same queue.
pub struct Queue<T>(Rc<Inner<T>>);

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Queue<T> {
        Queue(Rc::clone(&self.0))
    }
}

struct Inner<T> {
    items: RefCell<VecDeque<T>>,
    room: Credits,
    arrivals: EventCount,
    level: Level,
    passed: Counter,
    scope: Scope,
}

impl<T: 'static> Queue<T> {
    pub(crate) fn new(scope: &Scope, capacity: usize) -> Queue<T> {
        Queue(Rc::new(Inner {
            items: RefCell::new(VecDeque::with_capacity(capacity.min(64))),
            room: Credits::new(scope, capacity as u64),
            arrivals: scope.eventcount("items"),
            level: scope.level("level"),
            passed: scope.counter("passed"),
            scope: scope.clone(),
        }))
    }

    /// Puts `item` at the back, waiting for space.
    pub async fn send(&self, item: T) {
        self.0.room.acquire().await;
        self.put(item);
    }

    /// Puts `item` at the back if there is space that no other context waits for; returns the item otherwise.
    pub fn try_send(&self, item: T) -> Result<(), T> {
        if !self.0.room.try_acquire() {
            return Err(item);
        }
        self.put(item);
        Ok(())
    }

    fn put(&self, item: T) {
        let inner = &*self.0;
        inner.arrivals.0.expected.set(inner.scope.core.running().who);
        inner.items.borrow_mut().push_back(item);
        inner.level.rise();
        inner.arrivals.advance();
    }

    /// Takes the item at the front, waiting for one. Several contexts may wait: they are served in order.
    pub async fn recv(&self) -> T {
        loop {
            if let Some(item) = self.try_recv() {
                return item;
            }
            self.0.arrivals.next().await;
        }
    }

    /// Takes the item at the front if there is one.
    pub fn try_recv(&self) -> Option<T> {
        let inner = &*self.0;
        inner.room.expect_from(inner.scope.core.running().who);
        let item = inner.items.borrow_mut().pop_front()?;
        inner.level.fall();
        inner.passed.increment();
        inner.room.release();
        Some(item)
    }

    /// The item at the front, without taking it.
    pub fn front(&self) -> Option<Ref<'_, T>> {
        Ref::filter_map(self.0.items.borrow(), VecDeque::front).ok()
    }

    /// Number of items in the queue.
    pub fn len(&self) -> usize {
        self.0.items.borrow().len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether [`try_send`](Queue::try_send) would fail.
    pub fn is_full(&self) -> bool {
        self.0.room.available() == 0
    }

    /// Advances whenever an item arrives, for contexts that serve several queues.
    pub fn arrivals(&self) -> &EventCount {
        &self.0.arrivals
    }
}
