//! Messages that can't be served yet: a queue for each line, and the list of lines whose first message should be
//! retried.
//!
//! Caches, memories and directories all use this. A message that its line can't accept now is parked behind those that
//! already wait for the line. When the line changes it is woken. The element then retries the line's first message, and
//! removes it from the queue if it was served. This module has no notion of time: how many messages are retried in a
//! cycle is up to the element.

use crate::LineAddr;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Messages by the line that they wait for. An element may use separate keys for the message classes of a line.
pub struct WaitingRoom<T> {
    /// No queue is empty. Only used for look-ups.
    queues: FxHashMap<LineAddr, VecDeque<T>>,
    /// Empty queues for reuse.
    spare: Vec<VecDeque<T>>,
    /// Lines whose first message should be retried, in order.
    woken: VecDeque<LineAddr>,
}

impl<T> Default for WaitingRoom<T> {
    fn default() -> Self {
        Self { queues: FxHashMap::default(), spare: Vec::new(), woken: VecDeque::new() }
    }
}

impl<T> WaitingRoom<T> {
    /// Whether a message waits for a line.
    pub fn is_awaited(&self, line: LineAddr) -> bool {
        self.queues.contains_key(&line)
    }

    /// How many messages wait for a line.
    pub fn len(&self, line: LineAddr) -> usize {
        self.queues.get(&line).map_or(0, VecDeque::len)
    }

    /// Whether no message waits, for any line.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Parks a message behind all others of its line.
    pub fn park(&mut self, line: LineAddr, message: T) {
        self.queue(line).push_back(message);
    }

    /// Parks a message in front of the first one for which `yields` returns true.
    pub fn park_before(&mut self, line: LineAddr, message: T, yields: impl FnMut(&T) -> bool) {
        let queue = self.queue(line);
        let place = queue.iter().position(yields).unwrap_or(queue.len());
        queue.insert(place, message);
    }

    fn queue(&mut self, line: LineAddr) -> &mut VecDeque<T> {
        let spare = &mut self.spare;
        self.queues.entry(line).or_insert_with(|| spare.pop().unwrap_or_default())
    }

    /// Called when the line has changed: wakes it if a message waits for it.
    pub fn changed(&mut self, line: LineAddr) {
        if self.is_awaited(line) {
            self.wake(line);
        }
    }

    /// Schedules a retry of the line's first message, which may be parked after this call.
    pub fn wake(&mut self, line: LineAddr) {
        if !self.woken.contains(&line) {
            self.woken.push_back(line);
        }
    }

    /// Wakes a line even if it is woken already, so that it is retried once for each call.
    pub fn wake_once_more(&mut self, line: LineAddr) {
        self.woken.push_back(line);
    }

    /// Wakes every line, in address order.
    pub fn wake_all(&mut self) {
        let mut lines: Vec<LineAddr> = self.queues.keys().copied().collect();
        lines.sort_unstable();
        self.woken = lines.into();
    }

    /// The line woken first.
    pub fn next(&self) -> Option<LineAddr> {
        self.woken.front().copied()
    }

    /// Removes the line woken first from the list of woken lines, and returns it.
    pub fn take_next(&mut self) -> Option<LineAddr> {
        self.woken.pop_front()
    }

    /// The first message that waits for a line.
    pub fn first(&self, line: LineAddr) -> Option<&T> {
        self.queues.get(&line).and_then(VecDeque::front)
    }

    /// Removes the first message of a line, which has been served. Also returns whether others wait for the line.
    pub fn leave(&mut self, line: LineAddr) -> (T, bool) {
        let queue = self.queues.get_mut(&line).expect("a message that was served waits for its line");
        let served = queue.pop_front().expect("no queue is empty");
        let others = !queue.is_empty();
        if !others {
            self.spare.extend(self.queues.remove(&line));
        }
        (served, others)
    }

    /// Cancels the retries of a line for which no message waits.
    pub fn forget(&mut self, line: LineAddr) {
        self.woken.retain(|other| *other != line);
    }

    /// Every message, in no particular order.
    pub fn messages_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.queues.values_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LineAddr = LineAddr(0);
    const B: LineAddr = LineAddr(64);

    #[test]
    fn messages_of_a_line_are_served_in_their_order_once_it_is_woken() {
        let mut room = WaitingRoom::default();
        room.park(A, 1);
        room.park(A, 3);
        room.park_before(A, 2, |other| *other > 2);
        room.changed(B);
        assert_eq!((room.next(), room.len(A), room.len(B)), (None, 3, 0), "nothing waits for the other line");
        room.changed(A);
        room.wake(A);
        assert_eq!((room.take_next(), room.take_next()), (Some(A), None), "it is woken once");
        assert_eq!(room.first(A), Some(&1));
        assert_eq!([room.leave(A), room.leave(A), room.leave(A)], [(1, true), (2, true), (3, false)]);
        assert!(room.is_empty());
    }

    #[test]
    fn lines_are_tried_in_the_order_in_which_they_were_woken_or_of_their_addresses() {
        let mut room = WaitingRoom::default();
        [B, A].into_iter().for_each(|line| room.park(line, ()));
        [B, A, B].into_iter().for_each(|line| room.wake(line));
        room.wake_once_more(B);
        assert_eq!(std::iter::from_fn(|| room.take_next()).collect::<Vec<_>>(), [B, A, B]);
        room.wake_all();
        room.forget(A);
        assert_eq!((room.take_next(), room.take_next()), (Some(B), None));
    }
}
