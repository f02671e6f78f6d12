//! What a DRAM standard defines: the geometry of a channel and its timing constraints, as data.
//!
//! Each timing set is one of [`standards`](crate::standards). All times are in cycles of the command clock and have
//! their data sheet names. Left out: power-down and self-refresh, calibration, write masks, per-bank refresh.

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
    /// Width of the data bus in bytes.
    pub bus: u64,
    /// Transfers per cycle of the command clock.
    pub beats_per_cycle: u64,
    /// Transfers per read or write command.
    pub burst_length: u64,
    /// Bank groups per rank; 1 if the standard has none.
    pub groups: usize,
    /// Banks per group.
    pub banks: usize,
    /// Bytes of a row, over all devices of a rank.
    pub row: u64,
    /// Whether row commands (activate, precharge, refresh) and column commands (read, write) have separate buses.
    pub two_command_buses: bool,
    pub timings: Timings,
}

/// Minimum cycles between commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Timings {
    /// tRCD: from activating a row until it can be read.
    pub rcd_read: u64,
    /// tRCD for writes.
    pub rcd_write: u64,
    /// tRP: from precharging a bank until its next activation.
    pub rp: u64,
    /// CL: from a read command until its first data.
    pub cl: u64,
    /// CWL: from a write command until its first data.
    pub cwl: u64,
    /// tRAS: from activating a row until it can be precharged.
    pub ras: u64,
    /// tRC: from activating a row until the next activation of the bank.
    pub rc: u64,
    /// tCCD_S: between two reads or two writes in different bank groups.
    pub ccd_s: u64,
    /// tCCD_L: between two reads or two writes in one bank group.
    pub ccd_l: u64,
    /// tRRD_S: between activations in different bank groups.
    pub rrd_s: u64,
    /// tRRD_L: between activations in one bank group.
    pub rrd_l: u64,
    /// tFAW: a window of this length contains at most four activations of a rank.
    pub faw: u64,
    /// tWR: from the last data of a write until its row can be precharged.
    pub wr: u64,
    /// tWTR_S: from the last data of a write until a read in another bank group.
    pub wtr_s: u64,
    /// tWTR_L: from the last data of a write until a read in the same bank group.
    pub wtr_l: u64,
    /// tRTP: from a read until its row can be precharged.
    pub rtp: u64,
    /// How long the data bus idles between a read and a write, and between two ranks.
    pub turnaround: u64,
    /// How long an activation occupies the command bus.
    pub activate: u64,
    /// tREFI: the interval between refreshes of a rank.
    pub refi: u64,
    /// tRFC: the duration of a refresh.
    pub rfc: u64,
}

/// Where a constraint applies: between commands to one bank, to one bank group (including its other banks), and so
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Bank,
    Group,
    Rank,
    OtherRanks,
    Channel,
}

/// A constraint: at least `cycles` from the command `after` until the command `before`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub level: Level,
    pub after: Command,
    pub before: Command,
    pub cycles: u64,
}

impl Standard {
    /// The timing set with this name.
    pub fn find(name: &str) -> Option<&'static Standard> {
        standards::ALL.into_iter().find(|standard| standard.name == name)
    }

    /// Cycles for which a read or write occupies the data bus.
    pub const fn burst(&self) -> u64 {
        self.burst_length / self.beats_per_cycle
    }

    /// Reads or writes needed for a line.
    pub const fn bursts_per_line(&self) -> u64 {
        let burst = self.bus * self.burst_length;
        (LINE as u64).div_ceil(burst)
    }

    /// Peak bandwidth of a channel in bytes per second.
    pub const fn peak(&self) -> u64 {
        self.clock.0 * self.beats_per_cycle * self.bus
    }

    /// The constraints between pairs of commands. tFAW is not among them: it is between an activation and the fourth
    /// after it.
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
