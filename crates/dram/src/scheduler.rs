//! A DRAM controller for one channel: queues, and which command comes next. No clock of its own.
//!
//! Whoever drives it enqueues accesses, lets it advance to a cycle, and takes what has been read. It looks only at cycles in
//! which a command can be issued ([`advance`](Scheduler::advance) says which is the next).
//!
//! - FR-FCFS: of the commands that can be issued, reads or writes of open rows come first, then the oldest access's. A row is
//!   not closed while an access to it waits. An access that has waited for longer than the machine's patience comes before
//!   all others, and nobody else gets its bank. FCFS: one access after the other.
//! - Writes are posted: they wait until there are many of them, or nothing else to do; then they are drained together, for
//!   turning the data bus round takes time. A read of a line that waits to be written is answered from there.
//! - Each rank is refreshed when that is due: its rows are closed, and nothing else is done meanwhile. Refreshes that fall due
//!   while nothing is to be done are made up for when something is.

use crate::{
    device::{Command, Devices},
    dram::{DramSpec, Order, Page},
    mapping::Spot,
};
use mem::PhysAddr;
use std::collections::VecDeque;

/// What an access found in its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Its row.
    Hit,
    /// No row.
    Closed,
    /// Another row.
    Conflict,
}

struct Access<T> {
    address: PhysAddr,
    spot: Spot,
    since: u64,
    found: Found,
    bursts_left: u64,
    payload: T,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accesses by what they found in their bank.
    pub row_hits: u64,
    pub row_closed: u64,
    pub row_conflicts: u64,
    /// Cycles in which the data bus moved something.
    pub bus_busy: u64,
    pub refreshes: u64,
    /// Lines read, and lines written.
    pub reads: u64,
    pub writes: u64,
    /// Reads that were answered by a line that waits to be written, and writes to such a line.
    pub forwarded: u64,
    pub merged: u64,
}

/// What can be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// A command for an access of the queue that is being served.
    For(usize, Command),
    /// All rows of a rank are closed; the rank is refreshed.
    Close(usize),
    Refresh(usize),
}

/// When, how urgent, how old: the smallest comes first.
type Urgency = (u64, u8, usize);

const FIRST: u8 = 0;
const COLUMN: u8 = 1;
const ROW: u8 = 2;

/// Banks that a channel can have, in all ranks.
pub const MOST_BANKS: usize = 64;

pub struct Scheduler<T> {
    spec: DramSpec,
    devices: Devices,
    /// Everything before this cycle has been done.
    now: u64,
    /// In the order in which they came.
    reads: Vec<Access<T>>,
    writes: Vec<Access<()>>,
    draining: bool,
    /// When each rank must be refreshed next.
    due: Vec<u64>,
    completed: VecDeque<(u64, T)>,
    pub tally: Tally,
}

impl<T> Scheduler<T> {
    pub fn new(spec: DramSpec) -> Self {
        let (ranks, refi) = (spec.ranks as u64, spec.standard.timings.refi);
        Self {
            spec,
            devices: Devices::new(spec.standard, spec.ranks),
            now: 0,
            reads: Vec::new(),
            writes: Vec::new(),
            draining: false,
            due: (1..=ranks).map(|rank| refi * rank / ranks).collect(),
            completed: VecDeque::new(),
            tally: Tally::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn issued(&self) -> &[(u64, Command, Spot)] {
        &self.devices.issued
    }

    /// How many reads and how many writes wait.
    pub fn waiting(&self) -> (usize, usize) {
        (self.reads.len(), self.writes.len())
    }

    fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// A read of the line at an address of this channel. It is given back if it need not wait: the line is there to be written.
    pub fn read(&mut self, now: u64, address: PhysAddr, payload: T) -> Option<T> {
        if self.writes.iter().any(|write| write.address == address) {
            self.tally.forwarded += 1;
            return Some(payload);
        }
        let access = self.access(now, address, payload);
        self.reads.push(access);
        None
    }

    /// A write of the line at an address of this channel.
    pub fn write(&mut self, now: u64, address: PhysAddr) {
        if self.writes.iter().any(|write| write.address == address && write.bursts_left == self.bursts_per_line()) {
            self.tally.merged += 1;
            return;
        }
        let access = self.access(now, address, ());
        self.writes.push(access);
    }

    fn access<P>(&mut self, now: u64, address: PhysAddr, payload: P) -> Access<P> {
        if self.is_idle() {
            self.make_up_for(now);
        }
        self.now = self.now.max(now);
        let spot = self.spec.mapping.spot(address, self.spec.standard, self.spec.ranks);
        let bursts_left = self.bursts_per_line();
        Access { address, spot, since: now, found: Found::Hit, bursts_left, payload }
    }

    fn bursts_per_line(&self) -> u64 {
        self.spec.standard.bursts_per_line()
    }

    /// Does everything that can be done up to and including a cycle. Says in which cycle something can be done next, if
    /// nothing is enqueued before; `None` if nothing is left to be done.
    pub fn advance(&mut self, to: u64) -> Option<u64> {
        loop {
            if self.is_idle() {
                return None;
            }
            self.choose_queue();
            let ((at, ..), deed) = self.next().expect("whoever waits can be served at some time");
            if at > to {
                self.now = self.now.max(to);
                return Some(at);
            }
            self.now = at;
            self.perform(deed);
        }
    }

    /// What has been read: the cycle in which the last of it is there, in that order.
    pub fn completed(&mut self) -> Option<(u64, T)> {
        self.completed.pop_front()
    }

    fn is_overdue<P>(&self, queue: &[Access<P>]) -> bool {
        queue.first().is_some_and(|oldest| self.now > oldest.since + self.spec.patience.0)
    }

    fn choose_queue(&mut self) {
        let (reads, writes) = (self.reads.len(), self.writes.len());
        self.draining = match () {
            () if reads == 0 => true,
            () if writes == 0 || self.is_overdue(&self.reads) => false,
            () if self.draining => writes > self.spec.drain_to,
            () => writes >= self.spec.drain_from,
        };
    }

    fn next(&self) -> Option<(Urgency, Deed)> {
        let served = if self.draining {
            self.next_of(&self.writes, Command::Write)
        } else {
            self.next_of(&self.reads, Command::Read)
        };
        let refreshes = self.due.iter().enumerate().map(|(rank, due)| {
            let (ready, deed) = match self.devices.ready_to_close(rank) {
                Some(ready) => (ready, Deed::Close(rank)),
                None => (self.devices.ready_to_refresh(rank), Deed::Refresh(rank)),
            };
            ((ready.max(*due).max(self.now), FIRST, 0), deed)
        });
        served.into_iter().chain(refreshes).min_by_key(|(urgency, _)| *urgency)
    }

    /// The next command for a queue: of each bank, the oldest access to its open row and the oldest to another count.
    fn next_of<P>(&self, queue: &[Access<P>], column: Command) -> Option<(Urgency, Deed)> {
        let mut first = [[0u16; 2]; MOST_BANKS];
        let mut banks = [0u64; 2];
        let length = if self.spec.order == Order::Fcfs { 1 } else { queue.len() };
        for (index, access) in queue.iter().take(length).enumerate() {
            let (bank, other) = (access.spot.bank, self.devices.open(access.spot.bank) != Some(access.spot.row));
            if banks[other as usize] >> bank & 1 == 0 {
                banks[other as usize] |= 1 << bank;
                first[bank][other as usize] = index as u16;
            }
        }
        let mut served = [0; 2];
        if self.is_overdue(queue) {
            let bank = queue[0].spot.bank;
            let other = (banks[1] >> bank & 1 == 1 && first[bank][1] == 0) as usize;
            banks[1 - other] &= !(1 << bank);
            served[other] = 1 << bank;
        }
        let mut best: Option<(Urgency, Deed)> = None;
        let mut consider = |index: usize, command: Command, urgency: u8| {
            let spot = &queue[index].spot;
            let at = self.devices.ready(command, spot).max(self.now);
            // From when a refresh is due, the rank does nothing else.
            if at < self.due[spot.rank] && best.is_none_or(|(before, _)| (at, urgency, index) < before) {
                best = Some(((at, urgency, index), Deed::For(index, command)));
            }
        };
        let urgency = |set: usize, bank: usize, usual: u8| if served[set] >> bank & 1 == 1 { FIRST } else { usual };
        for bank in bits(banks[0]) {
            consider(first[bank][0].into(), column, urgency(0, bank, COLUMN));
        }
        for bank in bits(banks[1]) {
            let index = first[bank][1].into();
            if self.devices.open(bank).is_none() {
                consider(index, Command::Activate, urgency(1, bank, ROW));
            } else if banks[0] >> bank & 1 == 0 {
                consider(index, Command::Precharge, urgency(1, bank, ROW));
            }
        }
        best
    }

    fn perform(&mut self, deed: Deed) {
        match deed {
            Deed::Close(rank) => self.devices.close_all(rank, self.now),
            Deed::Refresh(rank) => {
                self.devices.refresh(rank, self.now);
                self.due[rank] += self.spec.standard.timings.refi;
                self.tally.refreshes += 1;
            }
            Deed::For(index, command) if self.draining => {
                let spot = self.writes[index].spot;
                if self.issue(index, command) {
                    self.writes.remove(index);
                    self.tally.writes += 1;
                }
                self.close_if_done_with(command, &spot);
            }
            Deed::For(index, command) => {
                let spot = self.reads[index].spot;
                if self.issue(index, command) {
                    let read = self.reads.remove(index);
                    let done = self.now + self.spec.standard.timings.cl + self.spec.standard.burst();
                    self.completed.push_back((done, read.payload));
                    self.tally.reads += 1;
                }
                self.close_if_done_with(command, &spot);
            }
        }
    }

    /// Issues a command for an access of the queue that is being served; says whether that was its last.
    fn issue(&mut self, index: usize, command: Command) -> bool {
        let (spot, found, bursts_left) = match self.draining {
            true => fields(&mut self.writes[index]),
            false => fields(&mut self.reads[index]),
        };
        self.devices.issue(command, &spot, self.now);
        match (command, *found) {
            (Command::Precharge, _) => *found = Found::Conflict,
            (Command::Activate, Found::Hit) => *found = Found::Closed,
            _ => {}
        }
        if !command.is_column() {
            return false;
        }
        if *bursts_left == self.spec.standard.bursts_per_line() {
            match found {
                Found::Hit => self.tally.row_hits += 1,
                Found::Closed => self.tally.row_closed += 1,
                Found::Conflict => self.tally.row_conflicts += 1,
            }
        }
        self.tally.bus_busy += self.spec.standard.burst();
        *bursts_left -= 1;
        *bursts_left == 0
    }

    /// Where rows are not kept open: closes one by auto-precharge when nobody waits for it.
    fn close_if_done_with(&mut self, command: Command, spot: &Spot) {
        let wanted = |other: &Spot| other.bank == spot.bank && other.row == spot.row;
        if self.spec.page == Page::Closed
            && command.is_column()
            && !self.reads.iter().any(|read| wanted(&read.spot))
            && !self.writes.iter().any(|write| wanted(&write.spot))
        {
            self.devices.close_by_itself(spot);
        }
    }

    /// Makes up for refreshes that fell due while nothing was to be done.
    fn make_up_for(&mut self, now: u64) {
        let refi = self.spec.standard.timings.refi;
        for due in &mut self.due {
            // Of a long rest only the last refreshes matter; they are all alike.
            let skipped = (now.saturating_sub(*due) / refi).saturating_sub(1);
            self.tally.refreshes += skipped;
            *due += skipped * refi;
        }
        while let Some((due, rank)) = (0..self.due.len()).map(|rank| (self.due[rank], rank)).min()
            && due <= now
        {
            if let Some(ready) = self.devices.ready_to_close(rank) {
                self.devices.close_all(rank, ready.max(due));
            }
            self.devices.refresh(rank, self.devices.ready_to_refresh(rank).max(due));
            self.tally.refreshes += 1;
            self.due[rank] += refi;
        }
    }
}

/// What a command changes of an access, whatever it carries.
fn fields<P>(access: &mut Access<P>) -> (Spot, &mut Found, &mut u64) {
    (access.spot, &mut access.found, &mut access.bursts_left)
}

fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (bit < MOST_BANKS).then_some(bit)
    })
}
