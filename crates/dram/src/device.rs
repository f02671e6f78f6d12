//! The devices of a channel: which rows are open, and when each command can be issued. It has no queues and makes no
//! choices.
//!
//! Each [`Rule`] of an issued command is recorded where it applies (bank, group, rank, channel), as the first cycle
//! for the command that it delays. A command can be issued when all recorded cycles that concern it have been
//! reached.

use crate::{
    Standard,
    mapping::Spot,
    standard::{Level, Rule},
};

/// A command of the controller to the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Activate,
    Precharge,
    Read,
    Write,
    Refresh,
}

impl Command {
    pub const ALL: [Command; 5] =
        [Command::Activate, Command::Precharge, Command::Read, Command::Write, Command::Refresh];

    /// Reads and writes go to columns, the others to rows.
    pub const fn is_column(self) -> bool {
        matches!(self, Command::Read | Command::Write)
    }
}

/// For each command, the first cycle in which it can be issued.
type Earliest = [u64; 5];

pub struct Devices {
    /// The rules of each command.
    rules: [Vec<Rule>; 5],
    faw: u64,
    rp: u64,
    /// The open row of each bank.
    open: Vec<Option<u64>>,
    banks: Vec<Earliest>,
    groups: Vec<Earliest>,
    ranks: Vec<Earliest>,
    channel: Earliest,
    /// The times of the last four activations of each rank, as a ring buffer, and the number of activations so far.
    activations: Vec<([u64; 4], usize)>,
    banks_per_group: usize,
    banks_per_rank: usize,
    #[cfg(test)]
    pub issued: Vec<(u64, Command, Spot)>,
}

impl Devices {
    pub fn new(standard: &Standard, ranks: usize) -> Self {
        let all = standard.rules();
        let rules = Command::ALL.map(|after| all.iter().copied().filter(|rule| rule.after == after).collect());
        let banks_per_rank = standard.groups * standard.banks;
        Self {
            rules,
            faw: standard.timings.faw,
            rp: standard.timings.rp,
            open: vec![None; ranks * banks_per_rank],
            banks: vec![Earliest::default(); ranks * banks_per_rank],
            groups: vec![Earliest::default(); ranks * standard.groups],
            ranks: vec![Earliest::default(); ranks],
            channel: Earliest::default(),
            activations: vec![([0; 4], 0); ranks],
            banks_per_group: standard.banks,
            banks_per_rank,
            #[cfg(test)]
            issued: Vec::new(),
        }
    }

    /// The row that is open in a bank.
    pub fn open(&self, bank: usize) -> Option<u64> {
        self.open[bank]
    }

    /// The first cycle in which a command can be issued at `spot`.
    pub fn ready(&self, command: Command, spot: &Spot) -> u64 {
        let command_index = command as usize;
        let ready = self.banks[spot.bank][command_index]
            .max(self.groups[spot.group][command_index])
            .max(self.ranks[spot.rank][command_index])
            .max(self.channel[command_index]);
        match (command, self.activations[spot.rank]) {
            (Command::Activate, (times, count)) if count >= 4 => ready.max(times[count % 4] + self.faw),
            _ => ready,
        }
    }

    /// Issues a command that is ready.
    pub fn issue(&mut self, command: Command, spot: &Spot, at: u64) {
        #[cfg(test)]
        self.issued.push((at, command, *spot));
        match command {
            Command::Activate => {
                self.open[spot.bank] = Some(spot.row);
                let (times, count) = &mut self.activations[spot.rank];
                times[*count % 4] = at;
                *count += 1;
            }
            Command::Precharge => self.open[spot.bank] = None,
            Command::Read | Command::Write | Command::Refresh => {}
        }
        for rule in &self.rules[command as usize] {
            let (first, before) = (at + rule.cycles, rule.before as usize);
            let note = |earliest: &mut Earliest| earliest[before] = earliest[before].max(first);
            match rule.level {
                Level::Bank => note(&mut self.banks[spot.bank]),
                Level::Group => note(&mut self.groups[spot.group]),
                Level::Rank => note(&mut self.ranks[spot.rank]),
                Level::Channel => note(&mut self.channel),
                Level::OtherRanks => {
                    let others = self.ranks.iter_mut().enumerate().filter(|(rank, _)| *rank != spot.rank);
                    others.for_each(|(_, earliest)| note(earliest));
                }
            }
        }
    }

    /// Closes a row as early as allowed, as auto-precharge of a read or write does. No command is issued.
    pub fn close_by_itself(&mut self, spot: &Spot) {
        self.open[spot.bank] = None;
        let closed = self.banks[spot.bank][Command::Precharge as usize] + self.rp;
        let activate = &mut self.banks[spot.bank][Command::Activate as usize];
        *activate = closed.max(*activate);
        let refresh = &mut self.ranks[spot.rank][Command::Refresh as usize];
        *refresh = closed.max(*refresh);
    }

    /// The first cycle in which all open rows of a rank can be closed at once; `None` if none is open.
    pub fn ready_to_close(&self, rank: usize) -> Option<u64> {
        let open = self.open_banks(rank).map(|bank| self.banks[bank][Command::Precharge as usize]).max()?;
        Some(open.max(self.ranks[rank][Command::Precharge as usize]).max(self.channel[Command::Precharge as usize]))
    }

    /// Closes all open rows of a rank with one command.
    pub fn close_all(&mut self, rank: usize, at: u64) {
        let open: Vec<usize> = self.open_banks(rank).collect();
        for bank in open {
            self.issue(Command::Precharge, &self.bank(rank, bank), at);
        }
    }

    fn open_banks(&self, rank: usize) -> impl Iterator<Item = usize> + '_ {
        let banks = rank * self.banks_per_rank..(rank + 1) * self.banks_per_rank;
        banks.filter(|bank| self.open[*bank].is_some())
    }

    /// The first cycle in which a rank with no open row can be refreshed.
    pub fn ready_to_refresh(&self, rank: usize) -> u64 {
        self.ranks[rank][Command::Refresh as usize].max(self.channel[Command::Refresh as usize])
    }

    /// Refreshes a rank.
    pub fn refresh(&mut self, rank: usize, at: u64) {
        self.issue(Command::Refresh, &self.bank(rank, rank * self.banks_per_rank), at);
    }

    fn bank(&self, rank: usize, bank: usize) -> Spot {
        Spot { rank, group: bank / self.banks_per_group, bank, row: 0 }
    }
}
