//! Code lines that a hardware thread has buffered or requested.
//!
//! Fetch runs ahead of the cache: instructions enter the fetch queue with the number of their line, and are decoded
//! when that line has arrived. The lines used last are kept, so that a loop does not request its own lines again.

use std::collections::VecDeque;

pub struct CodeLines {
    /// Lines and the numbers of their requests; the last used first.
    buffers: Vec<(u64, u64)>,
    /// Maximum number of buffered lines.
    kept: usize,
    /// Whether the lines from number `first` on have arrived. All earlier ones have.
    first: u64,
    here: VecDeque<bool>,
}

impl CodeLines {
    pub fn new(kept: usize) -> Self {
        Self { buffers: Vec::with_capacity(kept + 1), kept, first: 0, here: VecDeque::new() }
    }

    /// The number of a needed line, and whether the caller must request it under this number.
    pub fn need(&mut self, line: u64) -> (u64, bool) {
        if let Some((_, number)) = self.buffers.first().filter(|(last, _)| *last == line) {
            return (*number, false);
        }
        if let Some(place) = self.buffers.iter().position(|(kept, _)| *kept == line) {
            self.buffers[..=place].rotate_right(1);
            return (self.buffers[0].1, false);
        }
        let number = self.first + self.here.len() as u64;
        self.here.push_back(false);
        self.buffers.insert(0, (line, number));
        self.buffers.truncate(self.kept);
        (number, true)
    }

    /// Records that a line has arrived.
    pub fn came(&mut self, number: u64) {
        self.here[(number - self.first) as usize] = true;
        while self.here.front() == Some(&true) {
            self.here.pop_front();
            self.first += 1;
        }
    }

    /// Whether a line has arrived.
    pub fn is_here(&self, number: u64) -> bool {
        number < self.first || self.here[(number - self.first) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_kept_is_not_requested_again() {
        let mut lines = CodeLines::new(2);
        assert_eq!(
            [0x40, 0x80, 0x40, 0xc0, 0x80].map(|line| lines.need(line)),
            [(0, true), (1, true), (0, false), (2, true), (3, true)]
        );
    }

    #[test]
    fn lines_arrive_in_any_order() {
        let mut lines = CodeLines::new(4);
        for line in [0x40, 0x80, 0xc0] {
            lines.need(line);
        }
        lines.came(1);
        assert_eq!([0, 1, 2].map(|number| lines.is_here(number)), [false, true, false]);
        lines.came(0);
        assert_eq!([0, 1, 2].map(|number| lines.is_here(number)), [true, true, false]);
    }
}
