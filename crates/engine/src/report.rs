//! Reports on stuck runs: which context waits for what, which context could wake it, and where waits form a cycle.

use crate::{eventcount::Reason, time::Time};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A waiting context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The path of the context.
    pub context: String,
    /// What it waits for: the path of an eventcount, or the need that the context stated itself.
    pub on: String,
    /// Whether it is blocked: it should end but does not, or it waits for a resource or a reply. An idle server is not
    /// blocked.
    pub held_up: bool,
    /// When the wait began.
    pub since: Time,
    /// Contexts that could wake it, as far as known: those that last sent to, or took from, what it waits for.
    pub wakers: Vec<String>,
    /// Number of advances of the eventcount.
    pub advances: u64,
    /// The last advances, the newest last: time and context.
    pub last_advances: Vec<(Time, String)>,
    /// Whether the context stated this need itself.
    #[serde(default)]
    pub explained: bool,
    /// The wire of a link that delivers what it waits for.
    #[serde(skip)]
    pub(crate) wire: Option<u32>,
}

impl Waiting {
    pub(crate) fn held_up(server: bool, reason: Reason) -> bool {
        !server || reason == Reason::Resource
    }
}

/// What one partition knows about waiting contexts.
#[derive(Default)]
pub(crate) struct Knowledge {
    pub(crate) waiting: Vec<Waiting>,
    /// The wires that start in the partition, and the context that puts mail on each.
    pub(crate) bringers: Vec<(u32, String)>,
    /// Second names of contexts, and their paths.
    pub(crate) aliases: Vec<(String, String)>,
}

/// Which context waits for what when a run makes no progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitReport {
    /// When the run stopped making progress.
    pub time: Time,
    /// Every waiting context, by path.
    pub waiting: Vec<Waiting>,
    /// A cycle of waits, if there is one: each context waits for the next, the last for the first.
    pub circle: Vec<String>,
}

impl WaitReport {
    pub(crate) fn new(time: Time, knowledge: Vec<Knowledge>) -> WaitReport {
        let mut bringers: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        let mut waiting = Vec::new();
        let mut aliases = BTreeMap::new();
        for mut partition in knowledge {
            waiting.append(&mut partition.waiting);
            aliases.extend(partition.aliases);
            for (wire, who) in partition.bringers {
                bringers.entry(wire).or_default().push(who);
            }
        }
        for waits in &mut waiting {
            let over_a_link = waits.wire.and_then(|wire| bringers.get(&wire));
            waits.wakers.extend(over_a_link.into_iter().flatten().cloned());
            for waker in &mut waits.wakers {
                if let Some(path) = aliases.get(waker) {
                    waker.clone_from(path);
                }
            }
            waits.wakers.sort();
            waits.wakers.dedup();
        }
        waiting.sort_by(|a, b| (&a.context, &a.on, a.since).cmp(&(&b.context, &b.on, b.since)));
        let circle = circle(&waiting);
        WaitReport { time, waiting, circle }
    }

    /// Whether any context is blocked. A need that a server stated itself does not count.
    pub fn anybody_held_up(&self) -> bool {
        self.waiting.iter().any(|waits| waits.held_up && !waits.explained)
    }
}

/// Finds a cycle of waiting contexts that can be reached from a blocked one. The first in the order of paths.
fn circle(waiting: &[Waiting]) -> Vec<String> {
    let mut wakers: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for waits in waiting {
        wakers.entry(&waits.context).or_default().extend(&waits.wakers);
    }
    let mut done = std::collections::BTreeSet::new();
    for start in waiting.iter().filter(|waits| waits.held_up) {
        // A depth-first search: `path` leads from `start`, with the current position in each context's list of wakers.
        let mut path: Vec<(&str, usize)> = vec![(&start.context, 0)];
        while let Some((context, at)) = path.last_mut() {
            let next = wakers.get(context).and_then(|wakers| wakers.get(*at));
            *at += 1;
            match next {
                None => {
                    done.insert(*context);
                    path.pop();
                }
                Some(next) => {
                    if let Some(first) = path.iter().position(|(context, _)| context == next) {
                        return path[first..].iter().map(|(context, _)| context.to_string()).collect();
                    }
                    if wakers.contains_key(next.as_str()) && !done.contains(next.as_str()) {
                        path.push((next, 0));
                    }
                }
            }
        }
    }
    Vec::new()
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (held_up, at_rest): (Vec<_>, Vec<_>) = self.waiting.iter().partition(|waits| waits.held_up);
        writeln!(f, "at {}, {} held up and {} at rest:", self.time, contexts(held_up.len()), at_rest.len())?;
        for waits in held_up {
            writeln!(f, "  {waits}")?;
        }
        if self.circle.is_empty() {
            return write!(
                f,
                "no circle: a context that others wait for has ended, or is at rest and does not provide it"
            );
        }
        writeln!(f, "the circle, each waiting for the next:")?;
        writeln!(f, "  {} -> {}", self.circle.join(" -> "), self.circle[0])?;
        write!(f, "last events on it:")?;
        let on_it = |waits: &&Waiting| self.circle.contains(&waits.context) && !waits.explained;
        for waits in self.waiting.iter().filter(on_it) {
            for (time, by) in &waits.last_advances {
                write!(f, "\n  {time}: {by} advanced {}", waits.on)?;
            }
            if waits.last_advances.is_empty() {
                write!(f, "\n  {} was never advanced", waits.on)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waits for {} since {}", self.context, self.on, self.since)?;
        match self.wakers.as_slice() {
            [] => write!(f, "; no context is known that could provide it"),
            wakers if self.explained => write!(f, "; could be provided by {}", wakers.join(", ")),
            wakers => write!(f, "; could be woken by {}", wakers.join(", ")),
        }
    }
}

fn contexts(n: usize) -> String {
    if n == 1 { "1 context is".to_owned() } else { format!("{n} contexts are") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(context: &str, wakers: &[&str]) -> Waiting {
        Waiting {
            context: context.to_owned(),
            on: format!("{context}.room"),
            held_up: true,
            explained: false,
            since: Time::ZERO,
            wakers: wakers.iter().map(|who| who.to_string()).collect(),
            advances: 0,
            last_advances: Vec::new(),
            wire: None,
        }
    }

    #[test]
    fn a_circle_is_found_behind_a_tail() {
        let waiting = [waits("a", &["b"]), waits("b", &["x", "c"]), waits("c", &["d"]), waits("d", &["b"])];
        assert_eq!(circle(&waiting), ["b", "c", "d"]);
    }

    #[test]
    fn a_chain_has_no_circle() {
        let waiting = [waits("a", &["b", "c"]), waits("b", &["c"]), waits("c", &["ended"])];
        assert_eq!(circle(&waiting), [""; 0]);
    }

    #[test]
    fn the_sender_on_a_link_is_found_in_another_partition() {
        let mut a = waits("a", &[]);
        a.wire = Some(7);
        let here = Knowledge { waiting: vec![a], ..Knowledge::default() };
        let bringers = vec![(7, "b".to_owned())];
        let there = Knowledge { waiting: vec![waits("b", &["a"])], bringers, ..Knowledge::default() };
        let report = WaitReport::new(Time::nanos(5), vec![here, there]);
        assert_eq!(report.circle, ["a", "b"]);
        assert!(report.to_string().contains("a waits for a.room since 0 fs; could be woken by b"), "{report}");
    }
}
