//! GDDR5 at 4 Gb/s: a 32-bit channel of one device of 1 Gb.
//!
//! Source: SK hynix, "1Gb (32Mx32) GDDR5 SGRAM", H5GQ1H24AFR (JEDEC JESD212), as gem5's `GDDR5_4000_2x32` quotes it.
//! Its latencies are settings of the mode register: CL is assumed to equal tRCD, and CWL to be 6 out of a range of 4
//! to 7. The data bus makes four transfers per cycle of the command clock, which is 1 ns.

use crate::{Standard, Timings};
use engine::Hertz;

pub static GDDR5: Standard = Standard {
    name: "gddr5",
    clock: Hertz::giga(1),
    bus: 4,
    beats_per_cycle: 4,
    burst_length: 8,
    groups: 4,
    banks: 4,
    row: 2 << 10,
    two_command_buses: false,
    timings: Timings {
        rcd_read: 12,
        rcd_write: 10,
        rp: 12,
        cl: 12,
        cwl: 6,
        ras: 28,
        rc: 40,
        ccd_s: 2,
        ccd_l: 3,
        rrd_s: 6, // 5.5 ns
        rrd_l: 6,
        faw: 23,
        wr: 12,
        wtr_s: 5,
        wtr_l: 5,
        rtp: 2,
        turnaround: 2,
        activate: 1,
        refi: 3900, // 32 ms for 8192 rows
        rfc: 65,
    },
};
