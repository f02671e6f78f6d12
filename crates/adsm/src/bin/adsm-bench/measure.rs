//! Measuring: every way in turns, many times, with confidence intervals.

use crate::{
    programs::{self, Program},
    store::{Adsm, Copies, Managed, Outcome, Store},
};
use adsm::{
    Config, DeviceKind, Protocol, Stats,
    accel::{Accelerator, cuda::Cuda},
};
use serde::Serialize;
use std::{fmt::Write, sync::Arc, time::Instant};

/// What is to be measured.
pub struct Plan {
    pub device: DeviceKind,
    pub config: Config,
    pub quick: bool,
    pub runs: usize,
    pub only: Vec<String>,
    pub sweep: bool,
    pub end: Option<Instant>,
}

/// What came out.
#[derive(Serialize)]
pub struct Report {
    pub device: String,
    pub machine: String,
    pub rows: Vec<Row>,
    /// Results that differ from the first way's.
    pub wrong: Vec<String>,
    /// Ways that could not be measured, and why.
    pub missing: Vec<String>,
}

/// A program in one way.
#[derive(Serialize)]
pub struct Row {
    pub program: &'static str,
    pub kind: &'static str,
    pub way: String,
    /// Milliseconds.
    pub median: f64,
    pub mean: f64,
    /// Half the width of the 95% confidence interval of the mean.
    pub ci95: f64,
    /// Time over that of explicit copies from pinned memory in the same round: median.
    pub over_hand: f64,
    /// Share of the time spent serving faults, transfers excluded and included.
    pub fault_share: Option<f64>,
    pub fault_and_transfer_share: Option<f64>,
    pub runs: Vec<f64>,
    /// Of the last round.
    pub stats: Option<Stats>,
}

/// A device, and as what it is if it is CUDA's.
pub struct Opened {
    pub accel: Arc<dyn Accelerator>,
    pub cuda: Option<Arc<Cuda>>,
}

pub fn open(kind: DeviceKind) -> Outcome<Opened> {
    if kind == DeviceKind::Cuda {
        let first = Cuda::all()?.into_iter().next().ok_or("there is no CUDA device")?;
        let cuda = Arc::new(first);
        return Ok(Opened { accel: Arc::<Cuda>::clone(&cuda), cuda: Some(cuda) });
    }
    let accel = kind.open()?.into_iter().next().ok_or("there is no such device")?;
    Ok(Opened { accel, cuda: None })
}

type Make<'a> = Box<dyn Fn(&[usize]) -> Outcome<Box<dyn Store>> + 'a>;

/// The ways to share data that are compared, explicit copies first.
fn ways<'a>(opened: &'a Opened, config: &Config) -> Vec<(String, Make<'a>)> {
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
    ways
}

fn library<'a>(accel: &'a Arc<dyn Accelerator>, config: Config) -> Make<'a> {
    Box::new(move |sizes| Ok(Box::new(Adsm::new(accel, config.clone(), sizes)?)))
}

pub fn run(plan: &Plan) -> Outcome<Report> {
    let opened = open(plan.device)?;
    let mut report = Report {
        device: opened.accel.name(),
        machine: machine(),
        rows: Vec::new(),
        wrong: Vec::new(),
        missing: Vec::new(),
    };
    let size = if plan.quick { 1 } else { 2 };
    for program in programs::all(size) {
        if plan.only.is_empty() || plan.only.iter().any(|part| program.name.contains(part.as_str())) {
            eprintln!("{} ...", program.name);
            compare(plan, &program, ways(&opened, &plan.config), &mut report);
            if plan.sweep {
                compare(plan, &program, sweep(&opened, &plan.config, &program), &mut report);
            }
        }
    }
    Ok(report)
}

/// Block sizes for streaming and stencil (Figs. 9, 11), block and rolling sizes for tpacf (Fig. 12).
fn sweep<'a>(opened: &'a Opened, config: &Config, program: &Program) -> Vec<(String, Make<'a>)> {
    let blocks: Vec<usize> = (12..=25).step_by(if program.name == "vecadd" { 1 } else { 2 }).map(|k| 1 << k).collect();
    let accel = &opened.accel;
    // Explicit copies first, to compare with.
    let mut ways: Vec<(String, Make<'a>)> =
        vec![("hand".to_owned(), Box::new(|sizes| Ok(Box::new(Copies::new(accel, true, sizes)?))))];
    let mut add = |block: usize, rolling: usize, ahead: usize| {
        let config = Config { protocol: Protocol::Rolling, block, rolling, ahead, ..config.clone() };
        let name = format!("rolling block {}K rolling {rolling} ahead {}K", block >> 10, ahead >> 10);
        ways.push((name, library(&opened.accel, config)));
    };
    match program.name {
        "vecadd" | "stencil" | "sparse" => {
            for &block in &blocks {
                add(block, 0, 0);
                if block < config.ahead && block.trailing_zeros() % 4 == 0 {
                    add(block, 0, config.ahead);
                }
            }
        }
        "tpacf" => {
            for &block in &blocks[..8.min(blocks.len())] {
                for rolling in [2, 4, 8] {
                    add(block, rolling, 0);
                }
            }
        }
        _ => ways.clear(),
    }
    ways
}

struct Running {
    way: String,
    store: Box<dyn Store>,
    times: Vec<f64>,
    stats: Option<Stats>,
    shares: Vec<(f64, f64)>,
}

fn compare(plan: &Plan, program: &Program, ways: Vec<(String, Make<'_>)>, report: &mut Report) {
    let mut all = Vec::new();
    for (way, make) in ways {
        match make(&program.buffers) {
            Ok(store) => all.push(Running { way, store, times: Vec::new(), stats: None, shares: Vec::new() }),
            Err(why) => report.missing.push(format!("{} {way}: {why}", program.name)),
        }
    }
    // The first round of each brings pages and code in and is not counted.
    for round in 0..=plan.runs as u32 {
        if round > 1 && plan.end.is_some_and(|end| Instant::now() > end) {
            report.missing.push(format!("{}: stopped after {} runs: no time left", program.name, round - 1));
            break;
        }
        let mut first = None;
        for running in &mut all {
            let before = running.store.stats();
            let begin = Instant::now();
            let digest = program.round(&mut *running.store, round);
            let long = begin.elapsed().as_secs_f64() * 1e3;
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
                let share = |nanoseconds: u64| nanoseconds as f64 / 1e6 / long;
                let handling = stats.fault_nanoseconds.saturating_sub(stats.fault_transfer_nanoseconds);
                running.shares.push((share(handling), share(stats.fault_nanoseconds)));
                running.stats = Some(stats);
            }
        }
    }
    let hand = all.first().map(|first| first.times.clone()).unwrap_or_default();
    for running in all.into_iter().filter(|running| !running.times.is_empty()) {
        let ratios: Vec<f64> = running.times.iter().zip(&hand).map(|(time, hand)| time / hand).collect();
        let shares = |pick: fn(&(f64, f64)) -> f64| {
            (!running.shares.is_empty()).then(|| median(&running.shares.iter().map(pick).collect::<Vec<_>>()))
        };
        let (mean, ci95) = mean_and_interval(&running.times);
        report.rows.push(Row {
            program: program.name,
            kind: program.kind,
            median: median(&running.times),
            mean,
            ci95,
            over_hand: median(&ratios),
            fault_share: shares(|s| s.0),
            fault_and_transfer_share: shares(|s| s.1),
            way: running.way,
            runs: running.times,
            stats: running.stats,
        });
    }
}

fn median(values: &[f64]) -> f64 {
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

/// Processor and system, for the record.
pub fn machine() -> String {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).unwrap_or("?").to_owned();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cpu}, {cores} cores, Linux {}", read("/proc/sys/kernel/osrelease").trim())
}

impl Report {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.device, self.machine);
        let mut program = "";
        for row in &self.rows {
            if row.program != program {
                program = row.program;
                let _ =
                    writeln!(text, "\n{program:<44} median ms     mean ± 95%        over hand  faults  with transfers");
            }
            let percent = |share: Option<f64>| share.map_or(String::new(), |share| format!("{:.2}%", 100.0 * share));
            let _ = writeln!(
                text,
                "  {:<42} {:>9.3}  {:>9.3} ± {:<8.3} {:>7.3}  {:>7}  {:>7}",
                row.way,
                row.median,
                row.mean,
                row.ci95,
                row.over_hand,
                percent(row.fault_share),
                percent(row.fault_and_transfer_share)
            );
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
