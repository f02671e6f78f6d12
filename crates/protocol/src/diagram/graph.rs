//! The graph of a table, for its diagram: states are nodes in columns, and transitions are edges between them.

use crate::{Cell, Table};

/// A state at a place of the diagram.
pub(super) struct Node {
    /// The state's number in the table.
    pub state: usize,
    pub name: &'static str,
    /// Events that leave the state as it is.
    pub stays: Vec<&'static str>,
    pub at_rest: bool,
    pub column: usize,
}

/// All transitions from one state to another.
pub(super) struct Edge {
    pub from: usize,
    pub to: usize,
    pub events: Vec<&'static str>,
    /// The transitions in words, with their actions.
    pub title: String,
}

pub(super) struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub columns: usize,
}

impl Graph {
    pub fn of(table: &Table) -> Self {
        let count = table.states.len();
        let at_rest: Vec<bool> = (0..count).map(|state| is_at_rest(table, state)).collect();
        let transitions = changes(table);
        let depth = depths(&at_rest, &transitions);
        let last = depth.iter().max().copied().unwrap_or(0) + 1;
        let mut nodes = Vec::new();
        // Where the edges of a state leave, and where those to it arrive.
        let (mut leave, mut arrive) = (vec![None; count], vec![None; count]);
        for state in 0..count {
            let mut place = |column| {
                let stays = if column == last { Vec::new() } else { stays(table, state as u8) };
                nodes.push(Node { state, name: table.states[state], stays, at_rest: at_rest[state], column });
                nodes.len() - 1
            };
            if !at_rest[state] {
                let node = place(depth[state]);
                (leave[state], arrive[state]) = (Some(node), Some(node));
                continue;
            }
            leave[state] = Some(place(0));
            if transitions.iter().any(|&(_, to, _)| to == state) {
                arrive[state] = Some(place(last));
            }
        }
        let mut edges: Vec<Edge> = Vec::new();
        for (from, to, event) in transitions {
            let (Some(start), Some(end)) = (leave[from], arrive[to]) else { continue };
            let name = table.events[event as usize];
            let text = table.cell_text(table.cell(from as u8, event));
            let actions = text.split_once(' ').map_or(String::new(), |(_, actions)| format!(": {actions}"));
            match edges.iter_mut().find(|edge| (edge.from, edge.to) == (start, end)) {
                Some(edge) => {
                    edge.events.push(name);
                    edge.title.push_str(&format!("; on {name}{actions}"));
                }
                None => {
                    let title = format!("{} to {} on {name}{actions}", table.states[from], table.states[to]);
                    edges.push(Edge { from: start, to: end, events: vec![name], title });
                }
            }
        }
        Self { nodes, edges, columns: last + 1 }
    }
}

fn goes(table: &Table, state: usize) -> impl Iterator<Item = (u8, u8)> {
    (0..table.events.len() as u8).filter_map(move |event| match table.cell(state as u8, event) {
        Cell::Go(next, _) => Some((event, *next)),
        _ => None,
    })
}

/// Whether no transaction is in flight: nothing stalls. A state that takes one event only waits for that one.
fn is_at_rest(table: &Table, state: usize) -> bool {
    let waits_for_one = goes(table, state).count() == 1 && state != table.initial() as usize;
    table.at_rest(state as u8) && !waits_for_one
}

/// The changes of state: from, to, and the event.
fn changes(table: &Table) -> Vec<(usize, usize, u8)> {
    let states = 0..table.states.len();
    let all = states.flat_map(|from| goes(table, from).map(move |(event, to)| (from, to as usize, event)));
    all.filter(|(from, to, _)| from != to).collect()
}

fn stays(table: &Table, state: u8) -> Vec<&'static str> {
    let loops = goes(table, state as usize).filter(|&(_, next)| next == state);
    loops.map(|(event, _)| table.events[event as usize]).collect()
}

/// How many transitions each state is away from a state at rest, at least.
fn depths(at_rest: &[bool], transitions: &[(usize, usize, u8)]) -> Vec<usize> {
    let mut depth: Vec<usize> = at_rest.iter().map(|&rests| if rests { 0 } else { usize::MAX }).collect();
    for next in 1..=depth.len() {
        let reached: Vec<usize> =
            transitions.iter().filter(|&&(from, ..)| depth[from] == next - 1).map(|&(_, to, _)| to).collect();
        for state in reached {
            depth[state] = depth[state].min(next);
        }
    }
    // A state that no transition leads to is placed in the column of the first step.
    depth.into_iter().map(|depth| if depth == usize::MAX { 1 } else { depth }).collect()
}
