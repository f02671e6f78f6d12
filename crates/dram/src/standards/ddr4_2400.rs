//! DDR4-2400: a 64-bit channel of x8 devices of 8 Gb.
//!
//! Source: the public configurations `DDR4_2400_8x8` of gem5 and `DDR4_8Gb_x8_2400` of DRAMsim3 (which writes at CWL
//! 16), made from Micron's data sheets. CL, tRCD and tRP (13.32 ns each), tRAS (32 ns), tRC (tRAS + tRP), CWL (12 or
//! 16), tCCD_S, tCCD_L (5 ns) and tRTP were checked against excerpts of those sheets (MT40A, grade -083E, 16-16-16).
//! tRRD, tFAW, tWR, tWTR and tRFC were not. A cycle is 0.833 ns.

use crate::{Standard, Timings};
use engine::Hertz;

pub static DDR4_2400: Standard = Standard {
    name: "ddr4-2400",
    clock: Hertz::mega(1200),
    bus: 8,
    beats_per_cycle: 2,
    burst_length: 8,
    groups: 4,
    banks: 4,
    row: 8 << 10, // 1 KiB in each of 8 devices
    two_command_buses: false,
    timings: Timings {
        rcd_read: 16, // 13.32 ns
        rcd_write: 16,
        rp: 16, // 13.32 ns
        cl: 16,
        cwl: 12,
        ras: 39, // 32 ns
        rc: 55,  // 45.32 ns
        ccd_s: 4,
        ccd_l: 6, // 5 ns
        rrd_s: 4, // 3.3 ns, for rows of 1 KiB
        rrd_l: 6, // 4.9 ns
        faw: 26,  // 21 ns
        wr: 18,   // 15 ns
        wtr_s: 3, // 2.5 ns
        wtr_l: 9, // 7.5 ns
        rtp: 9,   // 7.5 ns
        turnaround: 2,
        activate: 1,
        refi: 9360, // 7.8 us
        rfc: 420,   // 350 ns
    },
};
