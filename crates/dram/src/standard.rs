//! What a DRAM standard fixes: the shape of a channel and its timing constraints, as data.
//!
//! A timing set is one of [`standards`](crate::standards). All times are cycles of the command clock, under their names in data
//! sheets. Left out: power-down and self-refresh, calibration, write masks, refresh of single banks.

use crate::{
    device::Command::{self, Activate, Precharge, Read, Refresh, Write},
    standards,
};
use engine::Hertz;
use mem::LINE;

/// One channel of a DRAM standard at one speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    pub name: &'static str,
    /// The command clock.
    pub clock: Hertz,
    /// Bytes that the data bus moves at once.
    pub bus: u64,
    /// How often it does so in a cycle of the command clock.
    pub beats_per_cycle: u64,
    /// How often it does so for one read or write command.
    pub burst_length: u64,
    /// Bank groups of a rank; 1 where there are none.
    pub groups: usize,
    /// Banks of a group.
    pub banks: usize,
    /// Bytes of a row, in all devices of a rank together.
    pub row: u64,
    /// Row commands (activate, precharge, refresh) and column commands (read, write) have a bus each.
    pub two_command_buses: bool,
    pub timings: Timings,
}

/// Cycles from one command until another.
#[derive(Clone, Debug, PartialEq)]
pub struct Timings {
    /// tRCD: from activating a row until it can be read, and until it can be written.
    pub rcd_read: u64,
    pub rcd_write: u64,
    /// tRP: from closing a row until another of the bank can be opened.
    pub rp: u64,
    /// CL and CWL: from a read or write command until the first of its data.
    pub cl: u64,
    pub cwl: u64,
    /// tRAS and tRC: how long a row stays open at least, and from opening one until opening the next of the bank.
    pub ras: u64,
    pub rc: u64,
    /// tCCD_S and tCCD_L: between two reads or two writes of different bank groups, and of the same.
    pub ccd_s: u64,
    pub ccd_l: u64,
    /// tRRD_S and tRRD_L: between opening rows of different banks.
    pub rrd_s: u64,
    pub rrd_l: u64,
    /// tFAW: within so many cycles, no more than four rows of a rank are opened.
    pub faw: u64,
    /// tWR: from the last data of a write until its row can be closed.
    pub wr: u64,
    /// tWTR_S and tWTR_L: from the last data of a write until a read.
    pub wtr_s: u64,
    pub wtr_l: u64,
    /// tRTP: from a read until its row can be closed.
    pub rtp: u64,
    /// How long the data bus rests between a read and a write, and between two ranks.
    pub turnaround: u64,
    /// How long an activation occupies the command bus.
    pub activate: u64,
    /// tREFI and tRFC: how often a rank is refreshed, and how long that takes.
    pub refi: u64,
    pub rfc: u64,
}

/// Where a constraint holds: between commands to the same bank, to the same group (other banks included), and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Bank,
    Group,
    Rank,
    OtherRanks,
    Channel,
}

/// A constraint: after one command, so many cycles until the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub level: Level,
    pub after: Command,
    pub before: Command,
    pub cycles: u64,
}

impl Standard {
    /// The timing set of that name.
    pub fn find(name: &str) -> Option<&'static Standard> {
        standards::ALL.into_iter().find(|standard| standard.name == name)
    }

    /// Cycles for which a read or write occupies the data bus.
    pub const fn burst(&self) -> u64 {
        self.burst_length / self.beats_per_cycle
    }

    /// Reads or writes that a line takes.
    pub const fn bursts_per_line(&self) -> u64 {
        let burst = self.bus * self.burst_length;
        (LINE as u64).div_ceil(burst)
    }

    /// Bytes that a channel can move in a second at most.
    pub const fn peak(&self) -> u64 {
        self.clock.0 * self.beats_per_cycle * self.bus
    }

    /// The constraints between commands, but for tFAW, which is between an activation and the fourth after it.
    pub fn rules(&self) -> Vec<Rule> {
        use Level::{Bank, Channel, Group, OtherRanks, Rank};
        let (t, burst) = (&self.timings, self.burst());
        let write_done = t.cwl + burst;
        let read_to_write = (t.cl + burst + t.turnaround).saturating_sub(t.cwl);
        let write_to_other_rank = (write_done + t.turnaround).saturating_sub(t.cl);
        let mut rules = vec![
            (Bank, Activate, Read, t.rcd_read),
            (Bank, Activate, Write, t.rcd_write),
            (Bank, Activate, Precharge, t.ras),
            (Bank, Activate, Activate, t.rc),
            (Bank, Precharge, Activate, t.rp),
            (Bank, Read, Precharge, t.rtp),
            (Bank, Write, Precharge, write_done + t.wr),
            (Group, Read, Read, t.ccd_l),
            (Group, Write, Write, t.ccd_l),
            (Group, Write, Read, write_done + t.wtr_l),
            (Group, Activate, Activate, t.rrd_l),
            (Rank, Read, Read, t.ccd_s),
            (Rank, Write, Write, t.ccd_s),
            (Rank, Write, Read, write_done + t.wtr_s),
            (Rank, Read, Write, read_to_write),
            (Rank, Activate, Activate, t.rrd_s),
            (Rank, Precharge, Refresh, t.rp),
            (Rank, Refresh, Activate, t.rfc),
            (Rank, Refresh, Refresh, t.rfc),
            (OtherRanks, Read, Read, burst + t.turnaround),
            (OtherRanks, Write, Write, burst + t.turnaround),
            (OtherRanks, Read, Write, read_to_write),
            (OtherRanks, Write, Read, write_to_other_rank),
        ];
        for after in Command::ALL {
            let cycles = if after == Activate { t.activate } else { 1 };
            let shares_bus = |before: &Command| !self.two_command_buses || after.is_column() == before.is_column();
            rules.extend(Command::ALL.into_iter().filter(shares_bus).map(|before| (Channel, after, before, cycles)));
        }
        rules.into_iter().map(|(level, after, before, cycles)| Rule { level, after, before, cycles }).collect()
    }
}
