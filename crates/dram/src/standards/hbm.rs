//! HBM at 1 Gb/s: one 128-bit channel of a stack of four dies of 2 Gb, as in AMD's Fiji.
//!
//! Source: JEDEC JESD235. It leaves core timings to vendors: those are from SK hynix, "HBM: Memory Solution for High
//! Performance Processors" (MemCon 2014), as gem5's `HBM_1000_4H_1x128` and DRAMsim3's `HBM1_4Gb_x128` quote them.
//! Bursts of four. At this speed bank groups cost nothing, so tCCD_L is tCCD_S. A cycle is 2 ns.

use crate::{Standard, Timings};
use engine::Hertz;

pub static HBM: Standard = Standard {
    name: "hbm",
    clock: Hertz::mega(500),
    bus: 16,
    beats_per_cycle: 2,
    burst_length: 4,
    groups: 4,
    banks: 2,
    row: 2 << 10,
    two_command_buses: true,
    timings: Timings {
        rcd_read: 7, // 14 ns
        rcd_write: 7,
        rp: 7, // 14 ns
        cl: 7,
        cwl: 4,
        ras: 17, // 33 ns
        rc: 24,  // 48 ns
        ccd_s: 2,
        ccd_l: 2,
        rrd_s: 2, // 4 ns
        rrd_l: 3, // 6 ns
        faw: 15,  // 30 ns
        wr: 8,    // 16 ns
        wtr_s: 3, // 6 ns
        wtr_l: 4, // 8 ns
        rtp: 3,   // 6 ns
        turnaround: 2,
        activate: 2,
        refi: 1950, // 3.9 us
        rfc: 80,    // 160 ns, dies of 2 Gb
    },
};
