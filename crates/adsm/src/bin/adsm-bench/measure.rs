//! Measurement: all ways in turns, many times, with confidence intervals.

use crate::{
    figures,
    programs::{self, Program},
    store::{Adsm, Copies, Managed, Outcome, Store},
};
use adsm::{
    Config, DeviceKind, Protocol, Stats,
    accel::{
        Accelerator,
        cuda::Cuda,
        sim::{Sim, SimSpec},
    },
};
use serde::Serialize;
use std::{fmt::Write, sync::Arc, time::Instant};

/// What to measure.
pub struct Plan {
    pub config: Config,
    pub quick: bool,
    pub runs: usize,
    pub only: Vec<String>,
    /// Block sizes to compare.
    pub blocks: Vec<usize>,
    /// The requested figures of the paper; empty for the comparison of everything.
    pub figures: Vec<u8>,
    pub end: Option<Instant>,
}

/// The results.
#[derive(Serialize)]
pub struct Report {
    pub device: String,
    pub machine: String,
    pub rows: Vec<Row>,
    pub bandwidths: Vec<Bandwidth>,
    /// Results that differ from those of the first way.
    pub wrong: Vec<String>,
    /// Ways that could not be measured, and why.
    pub missing: Vec<String>,
}

/// A program measured with one way of sharing.
#[derive(Serialize)]
pub struct Row {
    pub program: String,
    pub kind: &'static str,
    pub way: String,
    /// Milliseconds.
    pub median: f64,
    pub mean: f64,
    /// Half the width of the 95% confidence interval of the mean.
    pub ci95: f64,
    /// Median of the time relative to that of explicit copies from pinned memory in the same round.
    pub over_hand: f64,
    /// Share of the time spent serving faults and opening blocks on trust, transfers excluded.
    pub fault_share: Option<f64>,
    /// Part of it: opening on trust.
    pub trust_share: Option<f64>,
    /// The same share with transfers included.
    pub fault_and_transfer_share: Option<f64>,
    /// Where the time went, in milliseconds (medians).
    pub breakdown: Option<Breakdown>,
    pub runs: Vec<f64>,
    /// The counters of the last round.
    pub stats: Option<Stats>,
}

/// Breakdown of a round's time (Fig. 10).
#[derive(Clone, Copy, Default, Serialize)]
pub struct Breakdown {
    /// The program itself.
    pub cpu: f64,
    /// Waiting for kernels, and for the uploads before them.
    pub gpu: f64,
    /// Waiting for transfers of accessed data.
    pub copy: f64,
    /// Serving faults and opening on trust, without these transfers.
    pub fault: f64,
    /// Part of it: opening on trust.
    pub trust: f64,
    /// Releasing and acquiring objects, and starting kernels.
    pub call: f64,
    /// Writing files.
    pub output: f64,
}

impl Breakdown {
    fn of(total: f64, stats: &Stats, output: f64) -> Self {
        let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        let copy = ms(stats.fault_transfer_nanoseconds);
        let fault = (ms(stats.fault_nanoseconds) - copy).max(0.0);
        let trust = ms(stats.trust_nanoseconds);
        let (gpu, call) = (ms(stats.wait_nanoseconds), ms(stats.call_nanoseconds));
        let cpu = (total - gpu - copy - fault - call - output).max(0.0);
        Self { cpu, gpu, copy, fault, trust, call, output }
    }

    fn median(all: &[Self]) -> Self {
        let of = |pick: fn(&Self) -> f64| median(&all.iter().map(pick).collect::<Vec<_>>());
        Self {
            cpu: of(|b| b.cpu),
            gpu: of(|b| b.gpu),
            copy: of(|b| b.copy),
            fault: of(|b| b.fault),
            trust: of(|b| b.trust),
            call: of(|b| b.call),
            output: of(|b| b.output),
        }
    }
}

/// Bandwidth of sequential transfers in pieces of one size.
#[derive(Serialize)]
pub struct Bandwidth {
    pub block: usize,
    /// In gigabytes (10^9 bytes) per second.
    pub to_device: f64,
    pub from_device: f64,
}

/// A device, also in its CUDA type if it is one.
pub struct Opened {
    pub accel: Arc<dyn Accelerator>,
    pub cuda: Option<Arc<Cuda>>,
}

pub fn open(kind: DeviceKind, simulated: SimSpec) -> Outcome<Opened> {
    if matches!(kind, DeviceKind::Sim(_)) {
        return Ok(Opened { accel: Arc::new(Sim::new(simulated)), cuda: None });
    }
    if kind == DeviceKind::Cuda {
        let first = Cuda::all()?.into_iter().next().ok_or("there is no CUDA device")?;
        let cuda = Arc::new(first);
        return Ok(Opened { accel: Arc::<Cuda>::clone(&cuda), cuda: Some(cuda) });
    }
    let accel = kind.open()?.into_iter().next().ok_or("there is no such device")?;
    Ok(Opened { accel, cuda: None })
}

pub type Make<'a> = Box<dyn Fn(&[usize]) -> Outcome<Box<dyn Store>> + 'a>;

/// The ways to share data that are compared, explicit copies first.
fn ways<'a>(opened: &'a Opened, config: &Config, blocks: &[usize]) -> Vec<(String, Make<'a>)> {
    let accel = &opened.accel;
    let mut ways: Vec<(String, Make<'a>)> = vec![
        ("hand".to_owned(), Box::new(|sizes| Ok(Box::new(Copies::new(accel, true, sizes)?)))),
        ("pageable".to_owned(), Box::new(|sizes| Ok(Box::new(Copies::new(accel, false, sizes)?)))),
    ];
    if let Some(cuda) = &opened.cuda {
        ways.push(("managed".to_owned(), Box::new(|sizes| Ok(Box::new(Managed::new(cuda, false, sizes)?)))));
        ways.push(("managed+prefetch".to_owned(), Box::new(|sizes| Ok(Box::new(Managed::new(cuda, true, sizes)?)))));
    }
    for protocol in [Protocol::Batch, Protocol::Lazy, Protocol::Rolling] {
        let config = Config { protocol, ..config.clone() };
        ways.push((protocol.to_string(), library(accel, config)));
    }
    for &block in blocks {
        let config = Config { protocol: Protocol::Rolling, block, ..config.clone() };
        ways.push((format!("rolling block {}K", block >> 10), library(accel, config)));
    }
    ways
}

pub fn library<'a>(accel: &'a Arc<dyn Accelerator>, config: Config) -> Make<'a> {
    Box::new(move |sizes| Ok(Box::new(Adsm::new(accel, config.clone(), sizes)?)))
}

pub fn run(plan: &Plan, opened: &Opened) -> Outcome<Report> {
    let mut report = Report {
        device: opened.accel.name(),
        machine: machine(),
        rows: Vec::new(),
        bandwidths: Vec::new(),
        wrong: Vec::new(),
        missing: Vec::new(),
    };
    if !plan.figures.is_empty() {
        figures::run(plan, opened, &mut report)?;
        return Ok(report);
    }
    for program in programs::all(if plan.quick { 1 } else { 2 }) {
        if plan.only.is_empty() || plan.only.iter().any(|part| program.name.contains(part.as_str())) {
            compare(plan, &program, program.name, ways(opened, &plan.config, &plan.blocks), &mut report);
        }
    }
    Ok(report)
}

/// All ways, with the program's size: Figs. 7, 8 and 10.
pub fn compare_all(plan: &Plan, opened: &Opened, program: &Program, report: &mut Report) {
    compare(plan, program, program.name, ways(opened, &plan.config, &[]), report);
}

struct Running {
    way: String,
    store: Box<dyn Store>,
    times: Vec<f64>,
    stats: Option<Stats>,
    breakdowns: Vec<Breakdown>,
}

/// Runs a program with several ways of sharing; the first is the baseline of the others.
pub fn compare(plan: &Plan, program: &Program, title: &str, ways: Vec<(String, Make<'_>)>, report: &mut Report) {
    eprintln!("{title} ...");
    let mut all = Vec::new();
    for (way, make) in ways {
        match make(&program.buffers) {
            Ok(store) => all.push(Running { way, store, times: Vec::new(), stats: None, breakdowns: Vec::new() }),
            Err(why) => report.missing.push(format!("{} {way}: {why}", program.name)),
        }
    }
    // The first round of each loads pages and code and is not counted.
    for round in 0..=plan.runs as u32 {
        if round > 1 && plan.end.is_some_and(|end| Instant::now() > end) {
            report.missing.push(format!("{}: stopped after {} runs: no time left", program.name, round - 1));
            break;
        }
        let mut first = None;
        for place in shuffled(all.len(), round) {
            let running = &mut all[place];
            let before = running.store.stats();
            let begin = Instant::now();
            let digest = program.round(&mut *running.store, round);
            let long = begin.elapsed().as_secs_f64() * 1e3;
            let output = program.spent_on_output().as_secs_f64() * 1e3;
            match digest {
                Ok(digest) => {
                    let expected = *first.get_or_insert(digest);
                    if (digest - expected).abs() > 1e-9 * expected.abs() {
                        report.wrong.push(format!(
                            "{} {} round {round}: {digest}, expected {expected}",
                            program.name, running.way
                        ));
                    }
                }
                Err(why) => report.wrong.push(format!("{} {} round {round}: {why}", program.name, running.way)),
            }
            if round == 0 {
                continue;
            }
            running.times.push(long);
            if let (Some(before), Some(after)) = (before, running.store.stats()) {
                let stats = after.since(&before);
                running.breakdowns.push(Breakdown::of(long, &stats, output));
                running.stats = Some(stats);
            }
        }
    }
    let hand = all.first().map(|first| first.times.clone()).unwrap_or_default();
    for running in all.into_iter().filter(|running| !running.times.is_empty()) {
        let ratios: Vec<f64> = running.times.iter().zip(&hand).map(|(time, hand)| time / hand).collect();
        let shares = |pick: fn(&Breakdown) -> f64| {
            let share = |(one, total): (&Breakdown, &f64)| pick(one) / total;
            let shares: Vec<f64> = running.breakdowns.iter().zip(&running.times).map(share).collect();
            (!shares.is_empty()).then(|| median(&shares))
        };
        let (mean, ci95) = mean_and_interval(&running.times);
        report.rows.push(Row {
            program: title.to_owned(),
            kind: program.kind,
            median: median(&running.times),
            mean,
            ci95,
            over_hand: median(&ratios),
            fault_share: shares(|b| b.fault),
            trust_share: shares(|b| b.trust),
            fault_and_transfer_share: shares(|b| b.fault + b.copy),
            breakdown: (!running.breakdowns.is_empty()).then(|| Breakdown::median(&running.breakdowns)),
            way: running.way,
            runs: running.times,
            stats: running.stats,
        });
    }
}

/// An order that changes from round to round: a way that runs after one that moves much data finds colder caches.
fn shuffled(count: usize, round: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mix = |place: usize| {
        (place as u32 + 1).wrapping_mul(2_654_435_761).rotate_left(round).wrapping_mul(40_503 + 2 * round)
    };
    order.sort_by_key(|&place| mix(place));
    order
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The mean, and half the width of its 95% confidence interval by Student's distribution.
fn mean_and_interval(values: &[f64]) -> (f64, f64) {
    const T: [f64; 30] = [
        12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10,
        2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
    ];
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return (mean, f64::NAN);
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = T.get(values.len() - 2).copied().unwrap_or(1.96);
    (mean, t * (variance / n).sqrt())
}

/// Processor and system, for the report.
pub fn machine() -> String {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).unwrap_or("?").to_owned();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cpu}, {cores} cores, Linux {}", read("/proc/sys/kernel/osrelease").trim())
}

impl Report {
    /// The report as text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.device, self.machine);
        let mut program = "";
        for row in &self.rows {
            if row.program != program {
                program = &row.program;
                let _ = writeln!(
                    text,
                    "\n{program:<44} median ms     mean ± 95%        over hand  faults  on trust   sent + fetched MB   cpu gpu copy \
                     fault call output, %"
                );
            }
            let _ = write!(
                text,
                "  {:<42} {:>9.3}  {:>9.3} ± {:<8.3} {:>7.3}",
                row.way, row.median, row.mean, row.ci95, row.over_hand
            );
            let shares = row.fault_share.zip(row.trust_share);
            if let (Some((share, trust)), Some(stats), Some(b)) = (shares, &row.stats, &row.breakdown) {
                let megabytes = |bytes: u64| bytes as f64 / 1e6;
                let (sent, fetched) = (megabytes(stats.upload_bytes), megabytes(stats.download_bytes));
                let _ = write!(text, "  {:>6.2}% {:>6.2}%  {sent:>8.1} + {fetched:<8.1}", 100.0 * share, 100.0 * trust);
                for part in [b.cpu, b.gpu, b.copy, b.fault, b.call, b.output] {
                    let _ = write!(text, " {:>5.1}", 100.0 * part / row.median);
                }
            }
            text.push('\n');
        }
        for Bandwidth { block, to_device, from_device } in &self.bandwidths {
            let size = block >> 10;
            let _ =
                writeln!(text, "pieces of {size:>6} KiB: {to_device:>6.2} GB/s there, {from_device:>6.2} GB/s back");
        }
        for wrong in &self.wrong {
            let _ = writeln!(text, "WRONG {wrong}");
        }
        for missing in &self.missing {
            let _ = writeln!(text, "not measured: {missing}");
        }
        text
    }
}
