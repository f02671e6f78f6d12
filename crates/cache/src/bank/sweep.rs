//! Orders for many lines of a bank: flush, invalidate, give up, and restart of logical time.

use super::Bank;
use mem::{Block, LineAddr};
use protocol::{Impossible, Kind, Msg, Node, Stamp, Stamps, concerns};

impl Bank {
    /// Starts to flush or invalidate every line that an order concerns; [`is_swept`](Bank::is_swept) says when that
    /// is done. Clean lines with no transaction in flight are handled at once. `time` is a lower bound of the logical
    /// time, in protocols that have one.
    pub fn sweep(&mut self, order: LineAddr, kind: Kind, time: Stamp) -> Result<(), Box<Impossible>> {
        let lines = self.array.tags().chain(self.aside.keys().copied());
        let mut lines: Vec<LineAddr> = lines.filter(|line| concerns(order, *line)).collect();
        lines.sort_unstable();
        if lines.is_empty() && self.keeps_time {
            // A cache that holds no line has to learn the time, too.
            lines.push(LineAddr(0));
        }
        for line in lines {
            let found = self.line(self.find(line), line);
            let at_once = self.at_rest[found.state as usize] && !found.is_dirty();
            let stamps = Stamps::now(time);
            let msg = Msg { stamps, ..Msg::new(self.spec.me, self.spec.me, kind, line, Block::EMPTY) };
            self.swept += 1;
            if !(at_once && self.attempt(&msg)?.is_ok()) {
                self.sweep.push_back(msg);
            }
        }
        Ok(())
    }

    /// Logical time restarts: every line receives a `Reset`, and waiting messages drop their timestamps. The lines'
    /// answers go to `teller`.
    pub fn start_anew(&mut self, teller: Node) -> Result<(), Box<Impossible>> {
        let waiting = self.waiting.messages_mut().map(|(msg, _)| msg).chain(&mut self.sweep);
        waiting.for_each(|msg| msg.stamps = Stamps::ZERO);
        let mut lines: Vec<LineAddr> = self.array.tags().chain(self.aside.keys().copied()).collect();
        lines.sort_unstable();
        for line in lines {
            let told = self.at_once(&Msg::new(teller, self.spec.me, Kind::Reset, line, Block::EMPTY))?;
            assert!(told, "a table with `Reset` lets no line wait for it");
        }
        self.nothing.stamps = Stamps::ZERO;
        Ok(())
    }

    /// Starts to give up every line that `which` selects; [`is_swept`](Bank::is_swept) says when that is done.
    pub fn empty(&mut self, which: impl Fn(LineAddr) -> bool) {
        let lines = self.array.tags().chain(self.aside.keys().copied());
        self.leaving.extend(lines.filter(|line| which(*line)));
    }

    /// Starts to give up one line, if it is held or in flight.
    pub fn leave(&mut self, line: LineAddr) {
        if self.state(line) != self.nothing.state {
            self.leaving.insert(line);
        }
    }

    /// Whether a line that was to be given up is still here.
    pub fn is_leaving(&self, line: LineAddr) -> bool {
        self.leaving.contains(&line)
    }

    /// Gives up one of the lines that are to go; returns whether one could. Lines with a transaction in flight wait
    /// for it.
    pub fn give_up(&mut self) -> Result<bool, Box<Impossible>> {
        let (state, room) = (|bank: &Self, line| bank.line(bank.find(line), line).state, &self.takes_room);
        let ready = |line: &LineAddr| room[state(self, *line) as usize] && self.at_rest[state(self, *line) as usize];
        let Some(line) = self.leaving.iter().copied().find(ready) else { return Ok(false) };
        self.at_once(&Msg::new(self.spec.me, self.spec.me, Kind::Evict, line, Block::EMPTY))
    }

    /// Evicts a line and writes it back, as far as that is possible now, ahead of all other work; returns whether the
    /// line is gone.
    pub fn part_with(&mut self, line: LineAddr) -> Result<bool, Box<Impossible>> {
        loop {
            let state = usize::from(self.state(line));
            let kind = match () {
                () if state == usize::from(self.nothing.state) => return Ok(true),
                () if self.drains[state] => Kind::Drain,
                () if self.at_rest[state] => Kind::Evict,
                () => return Ok(false),
            };
            if !self.at_once(&Msg::new(self.spec.me, self.spec.me, kind, line, Block::EMPTY))? {
                return Ok(false);
            }
        }
    }

    /// Every line that is held or in the write-back queue, in order.
    pub fn lines(&self) -> Vec<LineAddr> {
        let mut lines: Vec<LineAddr> = self.array.tags().chain(self.aside.keys().copied()).collect();
        lines.sort_unstable();
        lines
    }

    /// Whether a line has been requested and none of its bytes has arrived.
    pub fn awaits_data(&self, line: LineAddr) -> bool {
        let found = self.line(self.find(line), line);
        found.is_asked() && found.is_empty()
    }

    /// Whether every line to be flushed, invalidated or given up is done.
    pub fn is_swept(&self) -> bool {
        self.left_to_sweep() == 0
    }

    /// How many lines are still to be flushed, invalidated or given up.
    pub fn left_to_sweep(&self) -> usize {
        self.swept + self.leaving.len()
    }
}
