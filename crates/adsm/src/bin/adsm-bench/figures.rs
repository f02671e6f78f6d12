//! `--figure`: the paper's figures of its evaluation (`[gmac 5]`), measured again.
//!
//! - Figs. 7, 8 and 10: all programs with all ways of sharing: time relative to explicit copies, bytes moved, breakdown
//!   of time.
//! - Fig. 9: the stencil in cubes of several sizes, by block size.
//! - Fig. 11: addition of two vectors of 8 million elements, by block size, and the bandwidth of pieces of these sizes.
//! - Fig. 12: two-point correlation, by block size and rolling size.
//!
//! In Figs. 9, 11 and 12 one block is opened at a time, as in the paper, and nothing is fetched early.

use crate::{
    measure::{Bandwidth, Make, Opened, Plan, Report, compare, compare_all, library, median},
    programs,
    store::{Copies, Outcome},
};
use adsm::{Config, Protocol, accel::Accelerator};
use std::time::Instant;

pub fn run(plan: &Plan, opened: &Opened, report: &mut Report) -> Outcome {
    let wanted = |figures: &[u8]| figures.iter().any(|figure| plan.figures.contains(figure));
    let quick = plan.quick;
    if wanted(&[7, 8, 10]) {
        for program in programs::all(if quick { 1 } else { 2 }) {
            compare_all(plan, opened, &program, report);
        }
    }
    if wanted(&[9]) {
        for (n, steps) in if quick { vec![(32, 4), (64, 4)] } else { vec![(64, 20), (128, 20), (256, 20), (384, 20)] } {
            let title = format!("fig. 9: stencil, {n} x {n} x {n}");
            let ways = by_block(plan, opened, &[12, 14, 16, 18, 20, 22, 24, 25], &[0]);
            compare(plan, &programs::stencil(n, steps), &title, ways, report);
        }
    }
    if wanted(&[11]) {
        let n = if quick { 1 << 20 } else { 8 << 20 };
        let shifts: Vec<u32> = (12..=25).collect();
        let title = "fig. 11: vector addition, 8 M elements";
        compare(plan, &programs::vecadd(n), title, by_block(plan, opened, &shifts, &[0]), report);
        for shift in shifts {
            report.bandwidths.push(bandwidth(&*opened.accel, 1 << shift, plan.runs)?);
        }
    }
    if wanted(&[12]) {
        let program = programs::tpacf(if quick { 4_096 } else { 65_536 });
        let ways = by_block(plan, opened, &[12, 13, 14, 15, 16, 17, 18, 19, 20], &[1, 2, 4]);
        compare(plan, &program, "fig. 12: two-point correlation", ways, report);
    }
    Ok(())
}

/// Explicit copies, and rolling-update as in the paper with blocks of 2^shift bytes and these rolling sizes.
fn by_block<'a>(plan: &Plan, opened: &'a Opened, shifts: &[u32], rolling: &[usize]) -> Vec<(String, Make<'a>)> {
    let accel = &opened.accel;
    let mut ways: Vec<(String, Make<'a>)> =
        vec![("hand".to_owned(), Box::new(|sizes| Ok(Box::new(Copies::new(accel, true, sizes)?))))];
    for &rolling in rolling {
        for &shift in shifts {
            let block = 1 << shift;
            let config =
                Config { protocol: Protocol::Rolling, block, rolling, ahead: 0, read_back: 0, ..plan.config.clone() };
            ways.push((format!("block {}K rolling {rolling}", block >> 10), library(accel, config)));
        }
    }
    ways
}

/// Median bandwidth from and to pinned memory, in pieces of `block` bytes, each completed before the next is started.
fn bandwidth(accel: &dyn Accelerator, block: usize, runs: usize) -> Outcome<Bandwidth> {
    let total = (32 << 20).max(block);
    let memory = accel.allocate(total)?;
    let mut host = vec![1u8; total];
    // SAFETY: the vector lives until it is unregistered below.
    unsafe { accel.register(host.as_mut_ptr(), total) }?;
    // Enough pieces to measure, few enough if they are small.
    let pieces = (total / block).min(256);
    let rate = |seconds: f64| (pieces * block) as f64 / seconds / 1e9;
    let mut measured = (Vec::new(), Vec::new());
    for _ in 0..=runs {
        let begin = Instant::now();
        for piece in 0..pieces {
            // SAFETY: a part of the vector, which stays unchanged.
            let ticket = unsafe { accel.upload(&memory, piece * block, host.as_ptr().add(piece * block), block) }?;
            accel.wait(ticket)?;
        }
        measured.0.push(rate(begin.elapsed().as_secs_f64()));
        let begin = Instant::now();
        for piece in 0..pieces {
            // SAFETY: a part of the vector, which is not used otherwise.
            unsafe { accel.download(&memory, piece * block, host.as_mut_ptr().add(piece * block), block) }?;
        }
        measured.1.push(rate(begin.elapsed().as_secs_f64()));
    }
    accel.unregister(host.as_mut_ptr());
    accel.free(memory)?;
    // The first run of each maps pages and is not counted.
    Ok(Bandwidth { block, to_device: median(&measured.0[1..]), from_device: median(&measured.1[1..]) })
}
