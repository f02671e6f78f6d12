//! `report.html`: one self-contained page, with a light and a dark theme.
//!
//! Charts are SVG in the page. The only script filters and sorts the table of statistics and shows more rows on
//! request; everything else works without it.

mod charts;
mod cpu;
mod table;
mod timeline;

pub(crate) use charts::{CORES, UNITS, legend, stacked_rows};

use crate::{
    Summary, drawing,
    figures::{bandwidth, count, percent},
    subject::{Subject, VERSION},
};
use engine::{Hertz, Time};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The report on a run.
pub(crate) fn page(subject: &Subject, summary: &Summary) -> String {
    let title = format!("{} on {}", summary.program, summary.system);
    let total = subject.run.total();
    let mut body = format!("<h1>{}</h1>\n", escaped(&title));
    let arguments = if summary.arguments.is_empty() { "none".to_owned() } else { summary.arguments.join(" ") };
    let about = [
        ("outcome", summary.outcome.clone()),
        ("arguments", arguments),
        ("machine", subject.machine.about.clone()),
        ("run", subject.identity().to_string()),
    ];
    let forward = summary.fast_forward.as_ref().map(|forward| ("fast-forward", forward.to_string()));
    let drained = summary.drained.as_ref().map(|parts| ("drained", parts.to_string()));
    body.push_str("<dl class=about>");
    for (name, value) in about.into_iter().chain(forward).chain(drained) {
        write!(body, "<dt>{name}</dt><dd>{}</dd>", escaped(&value)).expect(STRING);
    }
    body.push_str("</dl>\n");
    body.push_str(&cards(summary));
    section(&mut body, "What held it up most", &bottlenecks(summary));
    if let Some(cores) = &summary.cores {
        let note = "Every cycle of the run has one reason; each bar is a core.";
        let each: Vec<(&str, &[f64])> = cores.each.iter().map(|core| (core.name.as_str(), &core.shares[..])).collect();
        let charts = format!("<p>{note}</p>{}{}", legend(&CORES), charts::by_element(&each, &CORES));
        section(&mut body, "Where the cycles of each core went", &charts);
        section(&mut body, "Cores", &cpu::cores(cores));
        section(&mut body, "Caches of the CPU", &cpu::caches(&cores.caches));
    }
    if let Some(units) = summary.units.as_ref().filter(|_| summary.kernel_fs > 0) {
        let note = "Every cycle of kernel time has one reason; each bar is a compute unit.";
        let each: Vec<(&str, &[f64])> = units.each.iter().map(|(path, shares)| (path.as_str(), &shares[..])).collect();
        let charts = format!("<p>{note}</p>{}{}", legend(&UNITS), charts::by_element(&each, &UNITS));
        section(&mut body, "Where the cycles of each compute unit went", &charts);
        section(&mut body, "Caches of the GPU", &cpu::caches(&summary.caches));
    }
    if summary.cores.is_some() {
        section(&mut body, "Kernels", &cpu::kernels(summary));
        section(&mut body, "Network", &summary.network.as_ref().map_or(String::new(), cpu::network));
    }
    let over = if summary.cores.is_some() { "Over time" } else { "Over kernel time" };
    section(&mut body, over, &timeline::charts(subject, summary));
    section(&mut body, "The machine", &drawing::svg(subject.machine));
    section(&mut body, "Summary", &format!("<pre>{}</pre>", escaped(&summary.to_string())));
    section(&mut body, "Every statistic", &table::of(&total));
    document(&title, &body)
}

/// A whole page.
pub(crate) fn document(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<meta name=viewport content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n<main>\n{body}\
         <footer>cohesim {VERSION}</footer>\n</main>\n<script>\n{SCRIPT}</script>\n</html>\n"
    )
}

pub(crate) fn section(body: &mut String, title: &str, content: &str) {
    if !content.is_empty() {
        write!(body, "<section>\n<h2>{title}</h2>\n{content}\n</section>\n").expect(STRING);
    }
}

fn cards(summary: &Summary) -> String {
    let mut cards = Vec::new();
    let kernels = summary.kernel_fs > 0 || summary.cores.is_none();
    let total = ("total time", Time(summary.total_fs).to_string(), format!("clock {}", Hertz(summary.clock_hz)));
    if let Some(cores) = &summary.cores {
        let executed = format!("{} on {} of {} cores", count(cores.instructions), cores.used, cores.count);
        cards.push(("total time", Time(summary.total_fs).to_string(), summary.system.clone()));
        cards.push(("instructions a cycle of a core", format!("{:.2}", cores.per_cycle()), executed));
        for (level, name) in [("l1d", "L1D read hits"), ("l2", "CPU L2 read hits"), ("l3", "L3 read hits")] {
            let Some(reads) = cores.level(level).map(|cache| cache.reads) else { continue };
            if let Some(rate) = reads.hit_rate() {
                cards.push((name, percent(rate), format!("of {} reads", count(reads.total()))));
            }
        }
    }
    if kernels {
        let cycles = format!("{} cycles", count(summary.kernel_cycles));
        cards.push(("kernel time", Time(summary.kernel_fs).to_string(), cycles));
    }
    if summary.cores.is_none() {
        cards.push(total);
    }
    if kernels {
        let name = if summary.cores.is_some() { "GPU instructions a cycle" } else { "instructions a cycle" };
        let by_wavefronts = format!("{} by wavefronts", count(summary.wave_instructions));
        cards.push((name, format!("{:.2}", summary.instructions_per_cycle()), by_wavefronts));
    }
    if let Some(units) = summary.units.as_ref().filter(|_| kernels) {
        let slots = format!("of {} in each of {} units", units.wave_slots, units.count);
        cards.push(("wavefront slots filled", format!("{:.1}", units.waves.mean), slots));
    }
    for cache in summary.caches.iter().filter(|cache| kernels && matches!(cache.level.as_str(), "l1v" | "l2")) {
        if let Some(rate) = cache.reads.hit_rate() {
            let name = match (cache.level.as_str(), summary.cores.is_some()) {
                ("l2", true) => "GPU L2 read hits",
                ("l2", false) => "L2 read hits",
                _ => "L1V read hits",
            };
            cards.push((name, percent(rate), format!("of {} reads", count(cache.reads.total()))));
        }
    }
    if let Some(memory) = &summary.memory {
        let used = format!("{} of {}", percent(memory.used()), bandwidth(memory.peak_bandwidth));
        cards.push(("memory bandwidth", bandwidth(memory.bandwidth), used));
    }
    let card = |(name, value, note): (&str, String, String)| {
        format!("<div><span>{name}</span><b>{}</b><small>{}</small></div>", escaped(&value), escaped(&note))
    };
    format!("<div class=cards>{}</div>\n", cards.into_iter().map(card).collect::<String>())
}

fn bottlenecks(summary: &Summary) -> String {
    if summary.bottlenecks.is_empty() {
        return String::new();
    }
    let items = summary.bottlenecks.iter().map(|bottleneck| {
        let (what, evidence) = (escaped(&bottleneck.what), escaped(&bottleneck.evidence));
        format!("<li><meter max=1 value={:.3}></meter> <b>{what}</b><br>{evidence}</li>\n", bottleneck.weight)
    });
    format!("<ol class=bottlenecks>\n{}</ol>", items.collect::<String>())
}

pub(crate) const STRING: &str = "writing to a string can't fail";

/// Text escaped for HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
