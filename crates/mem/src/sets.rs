//! Set-associative storage: where an entry of a cache, a TLB or a table may lie, and which entry is evicted.
//!
//! [`Ways`] only numbers the ways and keeps the replacement order. [`Sets`] also holds an entry in each way.

use crate::replacement::{History, Replacement, Victims};
use std::ops::Range;

/// Ways in sets, numbered across all sets, and the order in which the ways of a set are evicted.
pub struct Ways {
    sets: usize,
    ways: usize,
    history: History,
}

impl Ways {
    /// `sets` is a power of two; each has `ways` ways.
    pub fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        debug_assert!(sets.is_power_of_two(), "{sets} sets are not a power of two");
        Self { sets, ways, history: History::new(replacement, sets, ways) }
    }

    /// The set of an entry. Neighbouring numbers map to neighbouring sets.
    #[inline]
    pub fn set(&self, number: u64) -> usize {
        number as usize & (self.sets - 1)
    }

    /// The ways of a set.
    #[inline]
    pub fn of(&self, set: usize) -> Range<usize> {
        set * self.ways..(set + 1) * self.ways
    }

    /// Number of ways of a set.
    pub fn per_set(&self) -> usize {
        self.ways
    }

    /// Records a use of the entry in a way.
    #[inline]
    pub fn touch(&mut self, way: usize) {
        self.history.touch(way, self.ways);
    }

    /// Starts listing the ways of a set in eviction order.
    pub fn victims(&self, set: usize) -> Victims {
        self.history.victims(set * self.ways, self.ways)
    }

    /// The next way to evict, if one is left.
    pub fn next_victim(&mut self, victims: &mut Victims) -> Option<usize> {
        self.history.next(victims)
    }
}

/// Set-associative entries with LRU replacement. An entry is found by its number, which selects the set, and by a
/// predicate that identifies it within the set.
pub struct Sets<E> {
    ways: Ways,
    entries: Box<[Option<E>]>,
    /// Number of entries.
    held: usize,
    /// The way used last, which is likely to be used next.
    last: usize,
    /// The low bits of the number of the entry that was last put in each way: most others need not be looked at.
    tags: Box<[u32]>,
}

/// How many tags are compared at a time.
const TAGS: usize = 16;

impl<E> Sets<E> {
    /// `sets` is a power of two; each has `ways` ways.
    pub fn new(sets: usize, ways: usize) -> Self {
        let entries = (0..sets * ways).map(|_| None).collect();
        let tags = vec![0; sets * ways].into();
        Self { ways: Ways::new(sets, ways, Replacement::Lru), entries, held: 0, last: 0, tags }
    }

    /// The ways of the set that a number selects.
    pub fn ways(&self, number: u64) -> Range<usize> {
        self.ways.of(self.ways.set(number))
    }

    pub fn get(&self, way: usize) -> Option<&E> {
        self.entries[way].as_ref()
    }

    pub fn get_mut(&mut self, way: usize) -> Option<&mut E> {
        self.entries[way].as_mut()
    }

    /// The way of the entry for which `is` returns true.
    pub fn find(&self, number: u64, is: impl Fn(&E) -> bool) -> Option<usize> {
        let ways = self.ways(number);
        let is_meant = |way: usize| self.entries[way].as_ref().is_some_and(&is);
        if ways.contains(&self.last) && is_meant(self.last) {
            return Some(self.last);
        }
        let (tag, tags) = (number as u32, &self.tags[ways.clone()]);
        let (chunks, rest) = tags.as_chunks::<TAGS>();
        for (chunk, tags) in chunks.iter().enumerate() {
            // Without an early exit, so that all tags of a chunk are compared at once.
            if tags.iter().fold(false, |any, other| any | (*other == tag)) {
                let first = ways.start + chunk * TAGS;
                let found = (first..).zip(tags).find(|(way, other)| **other == tag && is_meant(*way));
                if let Some((way, _)) = found {
                    return Some(way);
                }
            }
        }
        let first = ways.end - rest.len();
        (first..).zip(rest).find(|(way, other)| **other == tag && is_meant(*way)).map(|(way, _)| way)
    }

    /// The entry for which `is` returns true; counts as a use.
    pub fn look_up(&mut self, number: u64, is: impl Fn(&E) -> bool) -> Option<&E> {
        let way = self.find(number, is)?;
        self.touch(way);
        self.get(way)
    }

    /// Records a use of the entry in a way.
    pub fn touch(&mut self, way: usize) {
        self.last = way;
        self.ways.touch(way);
    }

    /// An empty way of the number's set.
    pub fn free(&self, number: u64) -> Option<usize> {
        if self.held == self.entries.len() {
            return None;
        }
        self.ways(number).find(|way| self.entries[*way].is_none())
    }

    /// The way of the least recently used entry of the number's set for which `can` returns true.
    pub fn victim(&mut self, number: u64, can: impl Fn(&E) -> bool) -> Option<usize> {
        let mut victims = self.ways.victims(self.ways.set(number));
        while let Some(way) = self.ways.next_victim(&mut victims) {
            if self.entries[way].as_ref().is_some_and(&can) {
                return Some(way);
            }
        }
        None
    }

    /// Puts the entry of a number into a way, which counts as a use. Returns the previous entry.
    pub fn fill(&mut self, way: usize, number: u64, entry: E) -> Option<E> {
        self.touch(way);
        self.tags[way] = number as u32;
        let before = self.entries[way].replace(entry);
        self.held += usize::from(before.is_none());
        before
    }

    /// Puts an entry into its set, evicting the least recently used entry if the set is full. Returns the evicted
    /// entry.
    pub fn put(&mut self, number: u64, entry: E) -> Option<E> {
        let way = self.free(number).or_else(|| self.victim(number, |_| true)).expect("a set has a way");
        self.fill(way, number, entry)
    }

    /// Removes the entry of a way.
    pub fn clear(&mut self, way: usize) -> Option<E> {
        let gone = self.entries[way].take();
        self.held -= usize::from(gone.is_some());
        gone
    }

    /// Removes the entry for which `is` returns true.
    pub fn remove(&mut self, number: u64, is: impl Fn(&E) -> bool) -> Option<E> {
        self.find(number, is).and_then(|way| self.clear(way))
    }

    /// All entries, in the order of the ways.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.entries.iter().flatten()
    }

    /// Removes the entries for which `keep` returns false. Returns how many.
    pub fn retain(&mut self, keep: impl Fn(&E) -> bool) -> usize {
        let going = self.entries.iter_mut().filter(|entry| entry.as_ref().is_some_and(|entry| !keep(entry)));
        let gone = going.map(|entry| *entry = None).count();
        self.held -= gone;
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_finds_its_set_full_takes_the_place_of_the_least_recently_used_there() {
        let mut sets = Sets::new(2, 2);
        assert_eq!([0, 2, 1].map(|number| sets.put(number, number)), [None; 3]);
        assert_eq!(sets.look_up(0, |entry| *entry == 0), Some(&0));
        assert_eq!((sets.put(4, 4), sets.put(6, 6)), (Some(2), Some(0)));
        assert_eq!(sets.iter().collect::<Vec<_>>(), [&6, &4, &1]);
    }

    #[test]
    fn entries_that_can_not_go_stay_and_others_go_in_their_order() {
        let mut sets = Sets::new(1, 3);
        [5, 6, 7].into_iter().for_each(|entry| _ = sets.put(0, entry));
        let victim = |sets: &mut Sets<i32>, stays: i32| {
            sets.victim(0, |entry| *entry != stays).and_then(|way| sets.get(way).copied())
        };
        assert_eq!([victim(&mut sets, 0), victim(&mut sets, 5)], [Some(5), Some(6)]);
        assert_eq!(sets.victim(0, |_| false), None);
    }

    #[test]
    fn in_large_sets_each_entry_is_found_as_long_as_it_is_there() {
        let mut sets = Sets::new(2, 32);
        let numbers: Vec<u64> = (0..16).flat_map(|number| [number, number + 64, number + (1 << 32)]).collect();
        for number in &numbers {
            assert_eq!(sets.put(*number, *number), None);
        }
        for number in numbers.iter().chain(numbers.iter().rev()) {
            assert_eq!(sets.look_up(*number, |entry| entry == number), Some(number));
        }
        assert_eq!(sets.remove(70, |entry| *entry == 70), Some(70));
        assert_eq!(sets.look_up(70, |entry| *entry == 70), None);
        assert_eq!(sets.look_up(6, |entry| *entry == 6), Some(&6));
    }

    #[test]
    fn ways_of_entries_that_went_are_free() {
        let mut sets = Sets::new(1, 3);
        [5, 6, 7].into_iter().for_each(|entry| _ = sets.put(0, entry));
        assert_eq!((sets.remove(0, |entry| *entry == 6), sets.free(0)), (Some(6), Some(1)));
        assert_eq!(sets.retain(|entry| *entry != 5), 1);
        assert_eq!((sets.put(0, 8), sets.put(0, 9), sets.put(0, 10)), (None, None, Some(7)));
    }
}
