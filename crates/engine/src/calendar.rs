//! The calendar of a clock domain: which contexts run in which cycle.
//!
//! A pause of one cycle never comes here: the domain keeps such contexts in its [`Batch`](crate::batch). A pause of
//! less than [`SLOTS`] cycles is a link in the list of its slot, threaded through the contexts themselves. A longer
//! pause goes into an ordered map. Contexts due in one cycle run in the order in which they asked. Idle cycles are
//! skipped: a bitmap says which slots are occupied.

use crate::domain::Slot;
use std::collections::BTreeMap;

/// How many cycles ahead the ring of lists reaches.
pub(crate) const SLOTS: u64 = 1024;
const MASK: u64 = SLOTS - 1;
/// No context: the end of a list.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A list of contexts, threaded through [`Slot::next`].
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: NOBODY, last: NOBODY };

pub(crate) struct Calendar {
    lists: Box<[List]>,
    occupied: Occupied,
    far: BTreeMap<u64, Vec<u32>>,
    /// The earliest cycle in which a context is due; `u64::MAX` if there is none.
    next: u64,
}

impl Calendar {
    pub(crate) fn new() -> Calendar {
        Calendar {
            lists: vec![EMPTY; SLOTS as usize].into(),
            occupied: Occupied::new(SLOTS),
            far: BTreeMap::new(),
            next: u64::MAX,
        }
    }

    /// The earliest cycle in which a context is due; `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Schedules context `id` for `cycle`, which lies after `now`.
    pub(crate) fn insert(&mut self, slots: &mut [Slot], id: u32, now: u64, cycle: u64) {
        self.next = self.next.min(cycle);
        if cycle - now >= SLOTS {
            self.far.entry(cycle).or_default().push(id);
            return;
        }
        let list = &mut self.lists[(cycle & MASK) as usize];
        slots[id as usize].next = NOBODY;
        if list.first == NOBODY {
            list.first = id;
            self.occupied.set(cycle & MASK);
        } else {
            slots[list.last as usize].next = id;
        }
        list.last = id;
    }

    /// Removes all contexts due in `cycle`, which is [`Calendar::next`]. Returns those from the ordered map (they asked
    /// first), then the head of a list to follow through [`Slot::next`].
    pub(crate) fn take(&mut self, cycle: u64) -> (Vec<u32>, u32) {
        let from_afar = self.far.remove(&cycle).unwrap_or_default();
        let slot = cycle & MASK;
        let list = std::mem::replace(&mut self.lists[slot as usize], EMPTY);
        self.occupied.clear(slot);
        let near = self.occupied.next_after(cycle);
        let far = self.far.first_key_value().map_or(u64::MAX, |(cycle, _)| *cycle);
        self.next = near.min(far);
        (from_afar, list.first)
    }
}

/// Which slots of a ring hold anything.
pub(crate) struct Occupied {
    words: Box<[u64]>,
}

impl Occupied {
    /// For a ring of `slots`, a power of two of at least 64.
    pub(crate) fn new(slots: u64) -> Occupied {
        Occupied { words: vec![0; slots as usize / 64].into() }
    }

    pub(crate) fn set(&mut self, slot: u64) {
        self.words[slot as usize / 64] |= 1 << (slot % 64);
    }

    pub(crate) fn clear(&mut self, slot: u64) {
        self.words[slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// The first cycle after `cycle`, less than a turn of the ring away, whose slot is occupied; `u64::MAX` if none.
    pub(crate) fn next_after(&self, cycle: u64) -> u64 {
        let words = self.words.len();
        let from = cycle + 1;
        let first = (from as usize / 64) % words;
        for step in 0..=words {
            let mut word = self.words[(first + step) % words];
            if step == 0 {
                word &= u64::MAX << (from % 64);
            }
            if word != 0 {
                return (from & !63) + step as u64 * 64 + u64::from(word.trailing_zeros());
            }
        }
        u64::MAX
    }
}

/// Items due at the start of a cycle, in the order in which they were inserted.
pub(crate) struct Agenda<T> {
    slots: Box<[Vec<T>]>,
    /// Empty vectors for reuse, the last used on top: it is the one most likely to be in the host's caches.
    spare: Vec<Vec<T>>,
    /// A bit for each slot that holds anything.
    occupied: u128,
    far: BTreeMap<u64, Vec<T>>,
    next: u64,
}

/// As many as [`Agenda::occupied`] has bits.
const AGENDA_SLOTS: u64 = 128;
const AGENDA_MASK: u64 = AGENDA_SLOTS - 1;

impl<T> Agenda<T> {
    pub(crate) fn new() -> Agenda<T> {
        Agenda { slots: Box::default(), spare: Vec::new(), occupied: 0, far: BTreeMap::new(), next: u64::MAX }
    }

    /// The earliest cycle in which an item is due; `u64::MAX` if there is none.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Schedules `item` for `cycle`. `cycle` is not before `now`, the earliest cycle that has not run yet.
    pub(crate) fn insert(&mut self, item: T, now: u64, cycle: u64) {
        self.next = self.next.min(cycle);
        if cycle - now >= AGENDA_SLOTS {
            self.far.entry(cycle).or_default().push(item);
            return;
        }
        if self.slots.is_empty() {
            self.slots = (0..AGENDA_SLOTS).map(|_| Vec::new()).collect();
        }
        let slot = &mut self.slots[(cycle & AGENDA_MASK) as usize];
        if slot.is_empty() {
            *slot = self.spare.pop().unwrap_or_default();
            self.occupied |= 1 << (cycle & AGENDA_MASK);
        }
        slot.push(item);
    }

    /// Whether `kind` is true for any scheduled item.
    pub(crate) fn any(&self, kind: impl Fn(&T) -> bool) -> bool {
        self.next != u64::MAX && self.slots.iter().chain(self.far.values()).flatten().any(kind)
    }

    /// Moves all items due in `cycle`, which is [`Agenda::next`], into `due`.
    pub(crate) fn take(&mut self, cycle: u64, due: &mut Vec<T>) {
        if !self.far.is_empty()
            && let Some(mut far) = self.far.remove(&cycle)
        {
            due.append(&mut far);
        }
        if let Some(near) = self.slots.get_mut((cycle & AGENDA_MASK) as usize).filter(|near| !near.is_empty()) {
            due.append(near);
            self.spare.push(std::mem::take(near));
            self.occupied &= !(1 << (cycle & AGENDA_MASK));
        }
        let far = self.far.first_key_value().map_or(u64::MAX, |(cycle, _)| *cycle);
        // The slots in the order of their turns, the next cycle first.
        let ahead = self.occupied.rotate_right(((cycle + 1) & AGENDA_MASK) as u32);
        let near = if ahead == 0 { u64::MAX } else { cycle + 1 + u64::from(ahead.trailing_zeros()) };
        self.next = far.min(near);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_agenda_gives_back_everything_at_its_time_and_in_order(
            items in prop::collection::vec((0u64..50, 0u64..700), 1..80),
        ) {
            // Items are inserted as time goes on, each some cycles ahead, and taken when due.
            let (mut agenda, mut now, mut seen) = (Agenda::new(), 0u64, Vec::new());
            let mut expected = Vec::new();
            let mut taken = |agenda: &mut Agenda<(u64, usize)>, until: u64| {
                while agenda.next() < until {
                    let (cycle, mut due) = (agenda.next(), Vec::new());
                    agenda.take(cycle, &mut due);
                    assert!(due.iter().all(|(at, _)| *at == cycle), "{due:?} taken in cycle {cycle}");
                assert!(due.iter().all(|item| !agenda.any(|other| other == item)), "{due:?} still there");
                    seen.append(&mut due);
                }
            };
            for (number, (gap, ahead)) in items.into_iter().enumerate() {
                now += gap;
                taken(&mut agenda, now);
                agenda.insert((now + ahead, number), now, now + ahead);
                assert!(agenda.any(|item| *item == (now + ahead, number)));
                expected.push((now + ahead, number));
            }
            taken(&mut agenda, u64::MAX);
            expected.sort();
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn the_bitmap_finds_the_next_slot(occupied in prop::collection::btree_set(0u64..1024, 0..20), cycle in 0u64..5000) {
            let mut bitmap = Occupied::new(1024);
            occupied.iter().for_each(|slot| bitmap.set(*slot));
            let expected = (cycle + 1..cycle + 1025).find(|cycle| occupied.contains(&(cycle % 1024)));
            prop_assert_eq!(bitmap.next_after(cycle), expected.unwrap_or(u64::MAX));
        }
    }
}
