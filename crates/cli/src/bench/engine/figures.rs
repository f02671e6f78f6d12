//! The measurements as tables, and as the figures of the thesis (`[giles 2.6.3 and 2.6.4]`).

use super::{EngineReport, Figure, SIZES, Single, parallel::Parallel};
use std::fmt::Write;

/// All tables, for people.
pub fn tables(report: &EngineReport) -> String {
    let mut text = String::new();
    single_table(
        &mut text,
        "Run again one cycle later (ns an event, and how many times as long others take)",
        &report.pause1,
    );
    for (kind, title) in [("ring", "Pass a token round a ring"), ("pairs", "Wake a partner once a cycle")] {
        single_table(&mut text, title, report.wake.iter().filter(|row| row.kind == Some(kind)));
    }
    text += "In parallel, 16 partitions\n  events/cycle  work ns  window  threads  speedup  identical\n";
    for row in &report.parallel {
        let Parallel { threads, events_per_cycle, window, work_ns, speedup, identical } = row;
        let identical = if *identical { "yes" } else { "NO" };
        line(
            &mut text,
            format_args!(
                "{events_per_cycle:>14}  {work_ns:>7}  {window:>6}  {threads:>7}  {speedup:>6.2}x  {identical:>9}"
            ),
        );
    }
    line(
        &mut text,
        format_args!(
            "\nA trace hook that is off costs {:.1}% of an event that wakes or is woken.",
            report.trace_off_percent
        ),
    );
    let memory = &report.memory;
    line(&mut text, format_args!("{} contexts run in a process of at most {} MB.", memory.contexts, memory.peak_mb));
    text
}

fn single_table<'a>(text: &mut String, title: &str, rows: impl IntoIterator<Item = &'a Single>) {
    line(text, format_args!("{title}\n  contexts     ns   binned    heap  stackful"));
    for row in rows {
        let Single { contexts, ns, ratio_binned, ratio_heap, ratio_stackful, .. } = row;
        line(
            text,
            format_args!("{contexts:>10} {ns:>6.2}  {ratio_binned:>6.2}x {ratio_heap:>6.2}x   {ratio_stackful:>6.2}x"),
        );
    }
    text.push('\n');
}

/// One figure of the thesis: bars, and the thesis's own values.
pub fn figure(report: &EngineReport, figure: Figure) -> String {
    match figure {
        Figure::SingleThreaded => single_threaded(report),
        Figure::WithoutWork => multithreaded(
            report,
            "Figure 2.4: multithreaded, events without work; speed relative to one thread",
            "thesis: parallel pays from about 512 events a cycle on",
        ),
        Figure::WithWork => multithreaded(
            report,
            "Figure 2.5: multithreaded, events with work; speed relative to one thread",
            "thesis, mean over KnightSim: 1.89x, 3.33x, 5.84x, 9.24x with 2, 4, 8, 16 threads",
        ),
    }
}

fn single_threaded(report: &EngineReport) -> String {
    let mut text = String::from("Figure 2.3: single threaded; speed relative to contexts with stacks (= 1)\n");
    for row in &report.pause1 {
        line(&mut text, format_args!("{} contexts", row.contexts));
        for (engine, speed) in [
            ("cohesim", row.ratio_stackful),
            ("stackful", 1.0),
            ("binned", row.ratio_stackful / row.ratio_binned),
            ("heap", row.ratio_stackful / row.ratio_heap),
        ] {
            bar(&mut text, engine, speed, 12.0);
        }
    }
    let mean = |of: fn(&Single) -> f64| report.pause1.iter().map(of).sum::<f64>() / report.pause1.len() as f64;
    line(
        &mut text,
        format_args!(
            "mean: {:.2}x over stackful, {:.2}x over binned, {:.2}x over heap",
            mean(|row| row.ratio_stackful),
            mean(|row| row.ratio_binned),
            mean(|row| row.ratio_heap)
        ),
    );
    text + "thesis, KnightSim: 3.51x over the Threads Package, 2.8x over gem5's queue, 11.95x over Esim\n"
}

fn multithreaded(report: &EngineReport, title: &str, thesis: &str) -> String {
    let mut text = format!("{title}\n");
    for size in SIZES {
        line(&mut text, format_args!("{size} events a cycle"));
        for row in report.parallel.iter().filter(|row| row.events_per_cycle == size) {
            bar(&mut text, &format!("{} threads", row.threads), row.speedup, 4.0);
        }
    }
    let mut counts: Vec<usize> = report.parallel.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    for threads in counts {
        let rows = report.parallel.iter().filter(|row| row.threads == threads);
        let speedups: Vec<f64> = rows.map(|row| row.speedup).collect();
        let mean = speedups.iter().sum::<f64>() / speedups.len() as f64;
        line(&mut text, format_args!("mean with {threads} threads: {mean:.2}x"));
    }
    if !report.parallel.iter().all(|row| row.identical) {
        text += "NOT IDENTICAL: results differed between numbers of threads\n";
    }
    text + thesis + "\n"
}

fn bar(text: &mut String, name: &str, value: f64, per_unit: f64) {
    let length = ((value * per_unit).round() as usize).clamp(1, 100);
    line(text, format_args!("  {name:>10} {} {value:.2}", "#".repeat(length)));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a String takes all that is written");
}
