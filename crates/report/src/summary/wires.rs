//! Wires: messages carried, and how often back-pressure stopped a sender.

use super::elements::last_part;
use crate::figures::ratio;
use engine::{Statistics, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A group of equal wires, such as those from all compute units, or between all arrays and banks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wires {
    /// The path of the wires, with `*` in place of numbers.
    pub name: String,
    pub count: usize,
    pub messages: u64,
    /// Messages per cycle on one of them.
    pub rate: f64,
    /// Share of the cycles of all of them in which a sender waited for buffer space.
    pub held_up: f64,
    /// Messages that had arrived and were not yet taken: on average, and (`most_waiting`) at most.
    pub waiting: f64,
    pub most_waiting: u64,
}

/// Wires that carried messages, those with the most back-pressure first; over `cycles`, or over the duration of each
/// wire's own statistics.
pub(super) fn alike(total: &Statistics, cycles: Option<u64>) -> Vec<Wires> {
    let mut groups: Vec<(Wires, u64)> = Vec::new();
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    // Statistics of one wire follow each other.
    let (mut last, mut number) = ("", 0);
    for (path, value) in &total.0 {
        let Some((wire, what)) = split(path) else { continue };
        if wire != last {
            let name = pattern(wire);
            number = match by_name.get(&name) {
                Some(number) => *number,
                None => {
                    groups.push((Wires { name: name.clone(), ..Wires::default() }, 0));
                    by_name.insert(name, groups.len() - 1);
                    groups.len() - 1
                }
            };
            last = wire;
        }
        let (group, passed) = &mut groups[number];
        match (what, value) {
            ("passed", Value::Count(n)) => (group.count, group.messages) = (group.count + 1, group.messages + n),
            ("wait_cycles", Value::Count(n)) => group.held_up += *n as f64,
            ("level", Value::Level { cycles, area, max }) => {
                *passed += cycles;
                group.waiting += ratio(*area as f64, *cycles as f64);
                group.most_waiting = group.most_waiting.max(*max);
            }
            _ => {}
        }
    }
    let mut wires = Vec::new();
    groups.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    for (mut group, passed) in groups.into_iter().filter(|(group, _)| group.messages > 0) {
        let cycles = cycles.map_or(passed as f64, |cycles| cycles as f64 * group.count as f64);
        group.rate = ratio(group.messages as f64, cycles);
        group.held_up = ratio(group.held_up, cycles);
        group.waiting = ratio(group.waiting, group.count as f64);
        wires.push(group);
    }
    wires.sort_by(|a, b| b.held_up.total_cmp(&a.held_up).then_with(|| b.rate.total_cmp(&a.rate)));
    wires
}

/// The wire of a statistic, and which statistic it is. The two ends of a link belong to different elements but are one
/// wire.
fn split(path: &str) -> Option<(&str, &'static str)> {
    let (end, what) = last_part(path)?;
    let (end, what) = match what {
        "passed" => (end, "passed"),
        "level" => (end, "level"),
        "wait_cycles" => {
            let (wire, lane) = last_part(end)?;
            matches!(lane, "request" | "reply" | "coherence").then_some((wire, "wait_cycles"))?
        }
        _ => return None,
    };
    // A link: its own name follows the element's, which differs at the two ends.
    match end.strip_suffix(".in").or(end.strip_suffix(".out")) {
        Some(link) => {
            // Its direction, and its name before that.
            let (named, _) = last_part(link)?;
            let (element, _) = last_part(named)?;
            Some((&link[element.len() + 1..], what))
        }
        // Reply wires are named after the receiver of the replies.
        None => Some((before(end, "_replies_"), what)),
    }
}

/// The part of a text before `mark`, or all of it. Quicker for short texts than a general search.
fn before<'a>(text: &'a str, mark: &str) -> &'a str {
    let mut starts = text.match_indices('_').map(|(at, _)| at);
    starts.find(|at| text[*at..].starts_with(mark)).map_or(text, |at| &text[..at])
}

/// A path with `*` for numbers.
fn pattern(path: &str) -> String {
    let mut pattern = Vec::with_capacity(path.len());
    // Whether the last byte was the `l` of a level, is a star in the pattern, or is a letter there.
    let (mut in_level, mut starred, mut letter) = (false, false, false);
    for byte in path.bytes() {
        // The 1 of `l1v` is not the number of an element.
        let in_number = byte.is_ascii_digit() && !in_level;
        if !in_number {
            pattern.push(byte);
        } else if !starred {
            pattern.push(b'*');
        }
        // A level may go on behind a dot.
        in_level = if byte == b'.' { in_level } else { byte == b'l' && !letter };
        (starred, letter) = (in_number || byte == b'*', byte.is_ascii_alphabetic());
    }
    String::from_utf8(pattern).expect("only digits have been replaced")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_ends_of_a_link_are_one_wire() {
        assert_eq!(
            split("gpu.array0.array0_l2_3.down.out.request.wait_cycles"),
            Some(("array0_l2_3.down", "wait_cycles"))
        );
        assert_eq!(split("gpu.l2_3.array0_l2_3.down.in.passed"), Some(("array0_l2_3.down", "passed")));
        assert_eq!(split("gpu.cu0.l1v.to_l1v_replies_gpu_cu0.passed"), Some(("gpu.cu0.l1v.to_l1v", "passed")));
        assert_eq!(split("gpu.array0.cu0.to_l1v.level"), Some(("gpu.array0.cu0.to_l1v", "level")));
        assert_eq!(split("gpu.array0.cu0.wavefronts"), None);
    }

    #[test]
    fn numbers_of_elements_are_left_out_and_levels_stay() {
        assert_eq!(pattern("array12_l2_3.down"), "array*_l2_*.down");
        assert_eq!(pattern("gpu0.array0.cu10.to_l1v"), "gpu*.array*.cu*.to_l1v");
    }
}
