//! A DRAM controller for one channel: its queues, and the choice of the next command. It has no clock of its own.
//!
//! The component that runs it enqueues accesses, advances it to a cycle, and takes completed reads. The controller
//! looks only at cycles in which a command can be issued; [`advance`](Scheduler::advance) returns the next one.
//!
//! - FR-FCFS: of the commands that can be issued, reads and writes of open rows come first, then the command of the
//!   oldest access. A row is not closed while an access to it waits. An access that has waited longer than `patience`
//!   comes before all others and has its bank to itself. FCFS: one access after the other.
//! - Writes are posted: they wait until there are many of them, or no reads; then they are drained together, because
//!   turning the data bus round takes time. A read of a line that waits to be written is answered from the write
//!   queue.
//! - Each rank is refreshed when that is due: its rows are closed, and no other command is issued to it meanwhile.
//!   Refreshes that fall due while the controller is idle are made up for at the next access.

use crate::{
    device::{Command, Devices},
    dram::{DramSpec, Order, Page},
    mapping::Spot,
};
use mem::PhysAddr;
use std::collections::VecDeque;

/// The state in which an access found its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Its row is open.
    Hit,
    /// No row is open.
    Closed,
    /// Another row is open.
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

/// Counts of events so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accesses whose row was open.
    pub row_hits: u64,
    /// Accesses whose bank had no open row.
    pub row_closed: u64,
    /// Accesses whose bank had another row open.
    pub row_conflicts: u64,
    /// Cycles in which the data bus was busy.
    pub bus_busy: u64,
    pub refreshes: u64,
    /// Lines read.
    pub reads: u64,
    /// Lines written.
    pub writes: u64,
    /// Reads answered from the write queue.
    pub forwarded: u64,
    /// Writes merged with one in the write queue.
    pub merged: u64,
}

/// An action of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// A command for an access of the queue being served.
    For(usize, Command),
    /// Closes all rows of a rank.
    Close(usize),
    /// Refreshes a rank.
    Refresh(usize),
}

/// Cycle, priority and age: the smallest comes first.
type Urgency = (u64, u8, usize);

const FIRST: u8 = 0;
const COLUMN: u8 = 1;
const ROW: u8 = 2;

/// Maximum banks of a channel, over all ranks.
pub const MOST_BANKS: usize = 64;

pub struct Scheduler<T> {
    spec: DramSpec,
    devices: Devices,
    /// All actions before this cycle are done.
    now: u64,
    /// In order of arrival.
    reads: Vec<Access<T>>,
    writes: Vec<Access<()>>,
    draining: bool,
    /// When the next refresh of each rank is due.
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

    /// Enqueues a read of the line at an address of this channel. Returns the payload if the line is in the write
    /// queue and the read need not wait.
    pub fn read(&mut self, now: u64, address: PhysAddr, payload: T) -> Option<T> {
        if self.writes.iter().any(|write| write.address == address) {
            self.tally.forwarded += 1;
            return Some(payload);
        }
        let access = self.access(now, address, payload);
        self.reads.push(access);
        None
    }

    /// Enqueues a write of the line at an address of this channel.
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

    /// Performs all actions up to and including cycle `to`. Returns the cycle of the next action if nothing is
    /// enqueued before; `None` if nothing is left to do.
    pub fn advance(&mut self, to: u64) -> Option<u64> {
        loop {
            if self.is_idle() {
                return None;
            }
            self.choose_queue();
            let ((at, ..), deed) = self.next().expect("a waiting request can be served at some time");
            if at > to {
                self.now = self.now.max(to);
                return Some(at);
            }
            self.now = at;
            self.perform(deed);
        }
    }

    /// The next completed read, with the cycle in which its last data is there.
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

    /// The next command for a queue. Candidates are, for each bank, the oldest access to its open row and the oldest
    /// to another row.
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
            // Once a refresh is due, the rank does nothing else.
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

    /// Issues a command for an access of the queue being served; returns whether it was the access's last.
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

    /// With closed rows: closes a row by auto-precharge when no access waits for it.
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

    /// Makes up for refreshes that fell due while the controller was idle.
    fn make_up_for(&mut self, now: u64) {
        let refi = self.spec.standard.timings.refi;
        for due in &mut self.due {
            // After a long idle time only the last refreshes affect timing; the earlier ones are only counted.
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

/// The fields of an access that a command uses, whatever its payload.
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
