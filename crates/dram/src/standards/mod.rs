//! Timing sets, one per file, each with its source.

mod ddr3_1600;
mod ddr4_2400;
mod gddr5;
mod hbm;
mod hbm2;

pub use {ddr3_1600::DDR3_1600, ddr4_2400::DDR4_2400, gddr5::GDDR5, hbm::HBM, hbm2::HBM2};

use crate::Standard;

pub static ALL: [&Standard; 5] = [&DDR3_1600, &DDR4_2400, &GDDR5, &HBM, &HBM2];
