//! HBM2 at 2 Gb/s: one 64-bit pseudo-channel of a stack of four dies of 8 Gb.
//!
//! Source: JEDEC JESD235A, pseudo-channel mode. It leaves core timings to vendors: those are from gem5's
//! `HBM_2000_4H_1x64`, with tRFC of dies of 8 Gb. A cycle is 1 ns.

use crate::{Standard, Timings};
use engine::Hertz;

pub static HBM2: Standard = Standard {
    name: "hbm2",
    clock: Hertz::giga(1),
    bus: 8,
    beats_per_cycle: 2,
    burst_length: 4,
    groups: 4,
    banks: 4,
    row: 1 << 10,
    two_command_buses: true,
    timings: Timings {
        rcd_read: 12,
        rcd_write: 6,
        rp: 14,
        cl: 18,
        cwl: 7,
        ras: 28,
        rc: 42,
        ccd_s: 2,
        ccd_l: 3,
        rrd_s: 4,
        rrd_l: 6,
        faw: 16,
        wr: 14,
        wtr_s: 4,
        wtr_l: 9,
        rtp: 5,
        turnaround: 2,
        activate: 2,
        refi: 3900, // 3.9 us
        rfc: 260,
    },
};
