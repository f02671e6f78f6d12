//! The trace as a file for ui.perfetto.dev, in Chrome's JSON trace format.
//!
//! Every context is a thread of its element. Activities are slices; events without duration are instants. Times are in
//! microseconds, with enough decimals for femtoseconds. Source: "Trace Event Format" of the Chromium project (phases
//! `X`, `i` and `M`).

use crate::files::line;
use engine::{Activity, Time, TraceEvent};
use std::{collections::BTreeMap, fmt::Write};

pub(crate) fn render(events: &[TraceEvent]) -> Vec<u8> {
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    // A process is the first two names of a path, such as `gpu.array0`; a thread is the whole path.
    let contexts: BTreeMap<&str, usize> = events.iter().map(|event| (event.context.as_str(), 0)).collect();
    let mut processes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (thread, context) in contexts.keys().enumerate() {
        let next = processes.len() + 1;
        let process = *processes.entry(process_of(context)).or_insert(next);
        places.insert(*context, (process, thread + 1));
    }
    let mut separator = "";
    let mut put = |entry: String| {
        text.push_str(separator);
        text.push_str(&entry);
        separator = ",\n";
    };
    for (name, process) in &processes {
        let name = quoted(name);
        put(format!(r#"{{"ph":"M","name":"process_name","pid":{process},"tid":0,"args":{{"name":{name}}}}}"#));
    }
    for (context, (process, thread)) in &places {
        let name = quoted(context);
        put(format!(r#"{{"ph":"M","name":"thread_name","pid":{process},"tid":{thread},"args":{{"name":{name}}}}}"#));
    }
    for event in events {
        put(entry(event, places[event.context.as_str()]));
    }
    text.push_str("\n]}\n");
    text.into_bytes()
}

fn process_of(context: &str) -> &str {
    let second = context.match_indices('.').nth(1).map_or(context.len(), |(at, _)| at);
    &context[..second]
}

fn entry(event: &TraceEvent, (process, thread): (usize, usize)) -> String {
    let start = micros(event.time);
    let slice = |name: &str, category: &str, until: Time| {
        let (name, length) = (quoted(name), micros(Time(until.0.saturating_sub(event.time.0))));
        format!(
            r#"{{"ph":"X","name":{name},"cat":"{category}","pid":{process},"tid":{thread},"ts":{start},"dur":{length}}}"#
        )
    };
    match &event.what {
        Activity::Busy { until } => slice("busy", "busy", *until),
        Activity::Waiting { until, on } => slice(&format!("waits for {on}"), "waiting", *until),
        Activity::Span { until, name } => slice(name, "span", *until),
        Activity::Instant { name } => {
            let name = quoted(name);
            format!(r#"{{"ph":"i","s":"t","name":{name},"pid":{process},"tid":{thread},"ts":{start}}}"#)
        }
    }
}

/// A time in microseconds, exact: `1234.567890123`.
fn micros(time: Time) -> String {
    let (whole, rest) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
    let mut text = whole.to_string();
    if rest > 0 {
        write!(text, ".{rest:09}").expect("writing to a string can't fail");
    }
    text
}

fn quoted(text: &str) -> String {
    line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_and_instants_are_in_the_threads_of_their_contexts() {
        let event =
            |nanos, context: &str, what| TraceEvent { time: Time::nanos(nanos), context: context.to_owned(), what };
        let events = [
            event(1, "gpu.array0.cu0.control", Activity::Busy { until: Time::nanos(3) }),
            event(2, "gpu.l2_0.control", Activity::Waiting { until: Time::nanos(5), on: "gpu.l2_0.work".into() }),
            event(4, "gpu.array0.cu0.control", Activity::Instant { name: "done".into() }),
        ];
        let value: serde_json::Value = serde_json::from_slice(&render(&events)).unwrap();
        let entries = value["traceEvents"].as_array().unwrap();
        assert_eq!(entries.len(), 2 + 2 + 3);
        let slice = &entries[4];
        assert_eq!(
            (slice["ph"].as_str(), slice["ts"].as_f64(), slice["dur"].as_f64()),
            (Some("X"), Some(0.001), Some(0.002))
        );
        assert_eq!((&entries[4]["tid"], &entries[4]["pid"]), (&entries[6]["tid"], &entries[6]["pid"]));
        assert_ne!(entries[4]["pid"], entries[5]["pid"]);
        assert_eq!(entries[5]["name"], "waits for gpu.l2_0.work");
    }
}
