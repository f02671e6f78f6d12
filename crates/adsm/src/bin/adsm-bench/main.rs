//! `adsm-bench`: the paper's measurements, on any device that the library supports.
//!
//! Each program runs with explicit copies from pinned and from pageable memory, with managed memory with and without
//! prefetch (CUDA), and with the protocols of this library. The ways take turns, so that a slow moment of the machine
//! affects all of them. The program is one file that needs only the C library and, for CUDA, the driver: it can be
//! copied to a machine without Rust.

mod figures;
mod kernels;
mod measure;
mod programs;
mod selftest;
mod store;

use adsm::{Config, DeviceKind, Size, accel::sim::SimSpec};
use clap::Parser;
use measure::Plan;
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

/// Measures shared memory for CPU and GPU against explicit copies and managed memory.
#[derive(Parser)]
#[command(name = "adsm-bench", version)]
struct Options {
    /// sim, opencl or cuda.
    #[arg(long, default_value = "cuda")]
    device: DeviceKind,
    /// Microseconds that the simulated device takes before each transfer and each kernel.
    #[arg(long, default_value_t = 0)]
    latency: u64,
    /// Bytes a second between host and simulated device.
    #[arg(long)]
    bandwidth: Option<Size>,
    /// Small inputs and few runs.
    #[arg(long)]
    quick: bool,
    /// Checks that results are right, in every setting, and measures nothing.
    #[arg(long)]
    selftest: bool,
    /// How often each program runs in each way.
    #[arg(long)]
    runs: Option<usize>,
    /// Only programs whose name contains one of these.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Also measures rolling with blocks of these sizes.
    #[arg(long, value_delimiter = ',')]
    blocks: Vec<Size>,
    /// Only these of the paper's figures: 7 to 12.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(7..=12))]
    figure: Vec<u8>,
    /// Results as JSON.
    #[arg(long)]
    json: bool,
    /// Stops after about this many seconds and reports the results so far.
    #[arg(long)]
    seconds: Option<u64>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("adsm-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    let config = Config::from_env()?;
    let latency = Duration::from_micros(options.latency);
    let bandwidth = options.bandwidth.map(|Size(bytes)| bytes as u64);
    // Ample memory: pages that are never accessed are never allocated.
    let simulated = SimSpec { latency, bandwidth, memory: 1 << 40, ..SimSpec::default() };
    let opened = measure::open(options.device, simulated)?;
    if options.selftest {
        return selftest::run(&opened, options.quick);
    }
    let plan = Plan {
        config,
        quick: options.quick,
        runs: options.runs.unwrap_or(if options.quick { 5 } else { 15 }),
        only: options.only.clone(),
        blocks: options.blocks.iter().map(|size| size.0).collect(),
        figures: options.figure.clone(),
        end: options.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
    };
    let report = measure::run(&plan, &opened)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.text());
    }
    Ok(report.wrong.is_empty())
}
