//! DDR3-1600: a 64-bit channel of x8 devices of 4 Gb.
//!
//! Source: the public configurations `DDR3_1600_8x8` of gem5 and `DDR3_4Gb_x8_1600` of DRAMsim3, which were made from
//! Micron's data sheets. CL, tRCD and tRP (11-11-11, 13.75 ns each), tCCD, tRTP, tREFI and tRFC were checked against
//! excerpts of those sheets ("4Gb: x4, x8, x16 DDR3L SDRAM", MT41K512M8, grade -125, and the table of timings that
//! DDR3 devices share). tRAS, tRRD, tFAW, tWR and tWTR were not. A cycle is 1.25 ns.

use crate::{Standard, Timings};
use engine::Hertz;

pub static DDR3_1600: Standard = Standard {
    name: "ddr3-1600",
    clock: Hertz::mega(800),
    bus: 8,
    beats_per_cycle: 2,
    burst_length: 8,
    groups: 1,
    banks: 8,
    row: 8 << 10, // 1 KiB in each of 8 devices
    two_command_buses: false,
    timings: Timings {
        rcd_read: 11, // 13.75 ns
        rcd_write: 11,
        rp: 11, // 13.75 ns
        cl: 11,
        cwl: 8,
        ras: 28, // 35 ns
        rc: 39,  // 48.75 ns
        ccd_s: 4,
        ccd_l: 4,
        rrd_s: 5, // 6 ns, for rows of 1 KiB
        rrd_l: 5,
        faw: 24,  // 30 ns
        wr: 12,   // 15 ns
        wtr_s: 6, // 7.5 ns
        wtr_l: 6,
        rtp: 6, // 7.5 ns
        turnaround: 2,
        activate: 1,
        refi: 6240, // 7.8 us
        rfc: 208,   // 260 ns
    },
};
