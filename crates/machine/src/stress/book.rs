//! The expected values of testers whose pages are moved: which tester writes each word, and which values a read may
//! return.
//!
//! If caches have virtual tags, some pages are never written and have two names: reads under both must return the
//! initial contents of memory, zeros.
//!
//! Each word except the last of a line has one tester that writes it. That tester must always read its own last value,
//! wherever the page has moved meanwhile. Other testers must read a value not older than that of the last
//! synchronisation. The last word of a line is a counter, to which all testers of one GPU add 1 by atomic accesses.

use super::Stress;
use crate::spec::Machine;
use mem::{LINE, PAGE, VirtAddr};
use std::sync::atomic::{AtomicU32, Ordering};

/// Lines accessed in each page.
const LINES_OF_PAGE: u64 = 4;

/// First virtual address of the pages; no physical address is this large. `ALIAS`: first address of the second names of
/// pages that are never written.
const BASE: u64 = 1 << 44;
const ALIAS: u64 = 1 << 45;

/// One page in `STILL` is never written and has two names.
const STILL: u64 = 4;

pub(super) const WORD: usize = 4;
const WORDS: u64 = (LINE / WORD) as u64;

/// Bits of a word that count its stores; the other bits identify the word.
const COUNT_BITS: u32 = 20;
const COUNT: u32 = (1 << COUNT_BITS) - 1;

/// The words, and the number of stores to each.
pub(crate) struct Book {
    /// Lines that are written; behind them are lines that are not.
    lines: u64,
    still: u64,
    gpus: usize,
    testers: u64,
    /// Per word: the number of stores made, or a counter's value; `settled`: that number at the last synchronisation.
    /// `settled` changes only while no tester plays.
    made: Box<[AtomicU32]>,
    settled: Box<[AtomicU32]>,
}

/// The writer of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    Tester(u64),
    /// All testers of a GPU add to it.
    Gpu,
    /// The word stays zero.
    None,
}

impl Book {
    pub fn new(stress: Stress, machine: &Machine) -> Self {
        // Pages are either written or not.
        let pages = if machine.fbt.is_some() { stress.lines / LINES_OF_PAGE / STILL } else { 0 };
        let still = pages * LINES_OF_PAGE;
        let words = || (0..stress.lines * WORDS).map(|_| AtomicU32::new(0)).collect();
        let testers = (machine.gpus * machine.compute_units()) as u64;
        let all = if pages == 0 { stress.lines } else { stress.lines / LINES_OF_PAGE * LINES_OF_PAGE };
        Self { lines: all - still, still, gpus: machine.gpus, testers, made: words(), settled: words() }
    }

    pub fn gpus(&self) -> usize {
        self.gpus
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        (self.lines + self.still).div_ceil(LINES_OF_PAGE) as usize
    }

    pub fn words(&self) -> u64 {
        (self.lines + self.still) * WORDS
    }

    /// The words that a tester writes.
    pub fn words_of(&self, tester: u64) -> Vec<u64> {
        let owned = (tester..self.lines * (WORDS - 1)).step_by(self.testers as usize);
        owned.map(|number| number / (WORDS - 1) * WORDS + number % (WORDS - 1)).collect()
    }

    /// Number of counters of a GPU's testers: the counters of lines are assigned to the GPUs in turn.
    pub fn counters(&self, gpu: usize) -> u64 {
        (self.lines + self.gpus as u64 - 1 - gpu as u64) / self.gpus as u64
    }

    /// The word of a GPU's counter.
    pub fn counter(&self, gpu: usize, number: u64) -> u64 {
        (number * self.gpus as u64 + gpu as u64) * WORDS + WORDS - 1
    }

    pub(super) fn writer(&self, word: u64) -> Writer {
        match word % WORDS {
            _ if word >= self.lines * WORDS => Writer::None,
            last if last == WORDS - 1 => Writer::Gpu,
            inside => Writer::Tester((word / WORDS * (WORDS - 1) + inside) % self.testers),
        }
    }

    /// The address of a word's line, and the word's offset in it.
    pub fn place(&self, word: u64) -> (VirtAddr, usize) {
        let line = word / WORDS;
        let page = line / LINES_OF_PAGE;
        // Spreads the lines of a page, and those of different pages, over sets and banks.
        let inside = (line % LINES_OF_PAGE * 17 + page * 5) % (PAGE / LINE as u64);
        (VirtAddr(BASE + page * PAGE + inside * LINE as u64), (word % WORDS) as usize * WORD)
    }

    /// The other name of a word's line, if its page has two.
    pub fn alias(&self, word: u64) -> Option<VirtAddr> {
        let VirtAddr(line) = self.place(word).0;
        (self.writer(word) == Writer::None).then_some(VirtAddr(line - BASE + ALIAS))
    }

    /// The first address of the other name of a page, if it has two.
    pub fn alias_of_page(&self, number: usize) -> Option<VirtAddr> {
        let two = number as u64 * LINES_OF_PAGE >= self.lines && self.still > 0;
        two.then_some(VirtAddr(ALIAS + number as u64 * PAGE))
    }

    /// The first address of a page.
    pub fn page(&self, number: usize) -> VirtAddr {
        VirtAddr(BASE + number as u64 * PAGE)
    }

    /// The page at an address.
    pub fn page_at(&self, address: VirtAddr) -> usize {
        (address.0 % BASE / PAGE) as usize
    }

    /// Records a store to a word, or an addition to a counter. Returns the new value.
    pub fn make(&self, word: u64) -> u32 {
        let made = self.made[word as usize].fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.value(word, made)
    }

    /// The value of a word after `made` stores or additions.
    fn value(&self, word: u64, made: u32) -> u32 {
        match self.writer(word) {
            Writer::Gpu => made,
            Writer::None => 0,
            Writer::Tester(_) => ((word + 1) as u32) << COUNT_BITS | made & COUNT,
        }
    }

    /// The last value that a word's only writer has given it.
    pub fn last(&self, word: u64) -> u32 {
        match self.made[word as usize].load(Ordering::Relaxed) {
            0 => 0,
            made => self.value(word, made),
        }
    }

    /// Records a synchronisation: all testers have ended a round, and their writes are visible.
    pub fn settle(&self) {
        for (made, settled) in self.made.iter().zip(&self.settled) {
            settled.store(made.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// A counter's value at the last synchronisation.
    pub fn settled(&self, word: u64) -> u32 {
        self.settled[word as usize].load(Ordering::Relaxed)
    }

    /// Checks a value read by a tester that does not write the word. The error says what would be right.
    pub fn check(&self, word: u64, value: u32) -> Result<(), String> {
        let settled = self.settled(word);
        let (right, least) = match self.writer(word) {
            Writer::Gpu => (value.wrapping_sub(settled).cast_signed() >= 0, settled),
            Writer::None => (value == 0, 0),
            Writer::Tester(_) if value == 0 => (settled == 0, self.value(word, settled)),
            Writer::Tester(_) => {
                let least = self.value(word, settled);
                let ahead = value.wrapping_sub(least) & COUNT;
                (value & !COUNT == least & !COUNT && ahead <= COUNT / 2, least)
            }
        };
        if right { Ok(()) } else { Err(format!("{least:#010x} or a later value")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> Book {
        let machine = Machine::load("multi-pcie", &["gpus=2".to_owned()]).expect("the machine is sound");
        Book::new(Stress { operations: 0, seed: 1, lines: 9, round: 1, outstanding: 1 }, &machine)
    }

    #[test]
    fn every_word_but_the_counters_has_one_writer() {
        let book = book();
        let mut owned: Vec<u64> = (0..book.testers).flat_map(|tester| book.words_of(tester)).collect();
        owned.sort_unstable();
        let of_gpu = |gpu| (0..book.counters(gpu)).map(move |number| (gpu, number));
        let counters: Vec<u64> = (0..2).flat_map(of_gpu).map(|(gpu, number)| book.counter(gpu, number)).collect();
        assert_eq!(counters.len(), 9);
        let others: Vec<u64> = (0..book.words()).filter(|word| !counters.contains(word)).collect();
        assert_eq!(owned, others);
        for tester in 0..book.testers {
            assert!(book.words_of(tester).iter().all(|word| book.writer(*word) == Writer::Tester(tester)));
        }
        assert!(counters.iter().all(|word| book.writer(*word) == Writer::Gpu));
    }

    #[test]
    fn pages_that_are_never_written_have_two_names_below_virtual_caches() {
        let machine = Machine::load("vc-opt", &[]).expect("the machine is sound");
        let stress = Stress { operations: 0, seed: 1, lines: 33, round: 1, outstanding: 1 };
        let book = Book::new(stress, &machine);
        assert_eq!((book.pages(), book.words()), (8, 32 * WORDS));
        let two = |page: &usize| book.alias_of_page(*page).is_some();
        assert_eq!((0..book.pages()).filter(two).collect::<Vec<_>>(), [6, 7]);
        let still: Vec<u64> = (0..book.words()).filter(|word| book.alias(*word).is_some()).collect();
        assert_eq!(still, (24 * WORDS..32 * WORDS).collect::<Vec<_>>());
        for word in still {
            let (name, other) = (book.place(word).0, book.alias(word).expect("it has two"));
            assert!(name != other && book.page_at(name) == book.page_at(other));
            assert!(book.check(word, 0).is_ok() && book.check(word, 1).is_err());
        }
        assert!((0..16).all(|tester| book.words_of(tester).iter().all(|word| *word < 24 * WORDS)));
    }

    #[test]
    fn a_value_is_right_if_it_is_of_its_word_and_not_older_than_the_last_synchronisation() {
        let book = book();
        assert_eq!(book.check(3, 0), Ok(()));
        let values = [(); 3].map(|()| book.make(3));
        assert!(values.iter().all(|value| book.check(3, *value).is_ok()));
        assert_eq!(book.last(3), values[2]);
        book.settle();
        let next = book.make(3);
        assert!(book.check(3, values[1]).is_err() && book.check(3, 0).is_err());
        assert!(book.check(3, values[2]).is_ok() && book.check(3, next).is_ok());
        assert!(book.check(4, next).is_err(), "it is of another word");
        let counter = book.counter(1, 2);
        assert_eq!((book.make(counter), book.make(counter)), (1, 2));
        book.settle();
        assert!(book.check(counter, 1).is_err() && book.check(counter, 2).is_ok());
    }
}
