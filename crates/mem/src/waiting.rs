//! Messages that can't be served yet: a queue for each line, and the lines whose first message is to be tried again.
//!
//! Caches, memories and directories all work this way. A message that its line can't take now is parked behind those that
//! wait for the line already. When the line has changed it is woken; the element then tries the line's first message, and takes it out
//! of its queue if it was served. No time: how many messages are tried in a cycle is up to the element.

use crate::LineAddr;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Messages by the line, or the row of a line, that they wait for.
pub struct WaitingRoom<T> {
    /// None of them is empty. Only looked up.
    queues: FxHashMap<LineAddr, VecDeque<T>>,
    /// Queues that have become empty, to be used again.
    spare: Vec<VecDeque<T>>,
    /// Lines whose first message is to be tried, in order.
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

    /// The message waits for a line, behind all others.
    pub fn park(&mut self, line: LineAddr, message: T) {
        self.queue(line).push_back(message);
    }

    /// The message waits for a line, in front of the first that `yields` to it.
    pub fn park_before(&mut self, line: LineAddr, message: T, yields: impl FnMut(&T) -> bool) {
        let queue = self.queue(line);
        let place = queue.iter().position(yields).unwrap_or(queue.len());
        queue.insert(place, message);
    }

    fn queue(&mut self, line: LineAddr) -> &mut VecDeque<T> {
        let spare = &mut self.spare;
        self.queues.entry(line).or_insert_with(|| spare.pop().unwrap_or_default())
    }

    /// The line has changed: its first message, if there is one, is to be tried.
    pub fn changed(&mut self, line: LineAddr) {
        if self.is_awaited(line) {
            self.wake(line);
        }
    }

    /// The first message of the line, which may be parked only after this, is to be tried.
    pub fn wake(&mut self, line: LineAddr) {
        if !self.woken.contains(&line) {
            self.woken.push_back(line);
        }
    }

    /// Wakes a line even if it is woken already: it is tried once for each time.
    pub fn wake_once_more(&mut self, line: LineAddr) {
        self.woken.push_back(line);
    }

    /// Wakes every line, in the order of their addresses.
    pub fn wake_all(&mut self) {
        let mut lines: Vec<LineAddr> = self.queues.keys().copied().collect();
        lines.sort_unstable();
        self.woken = lines.into();
    }

    /// The line that was woken first.
    pub fn next(&self) -> Option<LineAddr> {
        self.woken.front().copied()
    }

    /// The line that was woken first, which no longer counts as woken.
    pub fn take_next(&mut self) -> Option<LineAddr> {
        self.woken.pop_front()
    }

    /// The first message that waits for a line.
    pub fn first(&self, line: LineAddr) -> Option<&T> {
        self.queues.get(&line).and_then(VecDeque::front)
    }

    /// Takes out the first message of a line, which has been served; also says whether others wait for the line.
    pub fn leave(&mut self, line: LineAddr) -> (T, bool) {
        let queue = self.queues.get_mut(&line).expect("a message that was served waits for its line");
        let served = queue.pop_front().expect("no queue is empty");
        let others = !queue.is_empty();
        if !others {
            self.spare.extend(self.queues.remove(&line));
        }
        (served, others)
    }

    /// The line is not tried again: nothing waits for it.
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
