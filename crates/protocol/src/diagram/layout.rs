//! The positions of a diagram's boxes and arrows.
//!
//! Columns are given; an edge that skips columns passes each of them at a waypoint. The boxes and waypoints of a column
//! are first ordered so that few edges cross: they are sorted by the mean position of their neighbours, in passes to
//! the right and to the left. Then each is moved as close to the height of its neighbours as the order allows. An edge
//! leaves its box at a port of its own, beside its label.

use super::graph::{Edge, Graph};
use std::cmp::Ordering;

/// The width of a letter and the height of a line, of text in boxes and on edges.
pub(super) const LETTER: f64 = 6.1;
pub(super) const LINE: f64 = 12.0;
/// The longest line of a label, in letters, and of the events in a box.
const LABEL: usize = 26;
const INSIDE: usize = 22;
/// Between two columns there is room for labels and this, for curves: more of it where columns are high.
const CURVES: f64 = 56.0;
const CURVES_PER_HEIGHT: f64 = 0.06;
const MARGIN: f64 = 12.0;
/// The height of a box's name, and the room between two boxes.
pub(super) const NAME: f64 = 18.0;
const BETWEEN: f64 = 14.0;
/// The height of a port without a label.
const PORT: f64 = 8.0;

#[derive(Debug)]
pub(super) struct Rect {
    pub name: &'static str,
    /// The events that leave the state as it is, in lines.
    pub stays: Vec<String>,
    pub at_rest: bool,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

pub(super) struct Arrow {
    /// The number of the state that it leads to: arrows to one state have one colour.
    pub state: usize,
    pub title: String,
    pub label: Vec<String>,
    /// The label begins here, or ends here if the arrow leaves to the left.
    pub start: (f64, f64),
    pub leftwards: bool,
    /// The position of the arrow's head, and whether the arrow arrives from the right.
    pub end: (f64, f64),
    pub from_the_right: bool,
    pub path: String,
}

pub(super) struct Layout {
    pub boxes: Vec<Rect>,
    pub arrows: Vec<Arrow>,
    pub width: f64,
    pub height: f64,
}

/// A box or a waypoint.
struct Place {
    column: usize,
    height: f64,
    /// The vertical position of the box's middle.
    y: f64,
}

/// The way of an edge: its box, waypoints, its box.
struct Way {
    places: Vec<usize>,
    label: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// The end of an edge at a box.
#[derive(Clone, Copy)]
struct Port {
    way: usize,
    leaves: bool,
    side: Side,
    /// The port's vertical position, relative to the middle of the box.
    y: f64,
}

struct Drawing {
    places: Vec<Place>,
    ways: Vec<Way>,
    /// By column, the places from top to bottom.
    columns: Vec<Vec<usize>>,
    /// By box.
    ports: Vec<Vec<Port>>,
}

impl Layout {
    pub fn of(graph: Graph) -> Self {
        let mut drawing = Drawing::new(&graph);
        drawing.order();
        let stays: Vec<_> = graph.nodes.iter().map(|node| wrap(&node.stays, INSIDE)).collect();
        drawing.size(&stays);
        for _ in 0..8 {
            drawing.settle();
            drawing.arrange_ports();
        }
        drawing.finish(graph, stays)
    }
}

impl Drawing {
    fn new(graph: &Graph) -> Self {
        let mut places: Vec<Place> =
            graph.nodes.iter().map(|node| Place { column: node.column, height: 0.0, y: 0.0 }).collect();
        let mut columns = vec![Vec::new(); graph.columns];
        for (number, node) in graph.nodes.iter().enumerate() {
            columns[node.column].push(number);
        }
        let mut ways = Vec::new();
        for Edge { from, to, events, .. } in &graph.edges {
            let (first, last) = (graph.nodes[*from].column, graph.nodes[*to].column);
            let between: Vec<usize> =
                if first <= last { (first + 1..last).collect() } else { (last + 1..first).rev().collect() };
            let mut way = vec![*from];
            for column in between {
                columns[column].push(places.len());
                way.push(places.len());
                places.push(Place { column, height: 0.0, y: 0.0 });
            }
            way.push(*to);
            ways.push(Way { places: way, label: wrap(events, LABEL) });
        }
        let ports = vec![Vec::new(); graph.nodes.len()];
        Self { places, ways, columns, ports }
    }

    /// Neighbours in other columns, by place.
    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.places.len()];
        for pair in self.ways.iter().flat_map(|way| way.places.windows(2)) {
            if self.places[pair[0]].column != self.places[pair[1]].column {
                all[pair[0]].push(pair[1]);
                all[pair[1]].push(pair[0]);
            }
        }
        all
    }

    /// Puts the middle columns into the order with the fewest crossings that is found; the outer ones keep that of the table.
    fn order(&mut self) {
        let neighbours = self.neighbours();
        let last = self.columns.len() - 1;
        let mut best = (self.crossings(), self.columns.clone());
        for round in 0..40 {
            let inner: Vec<usize> = if round % 2 == 0 { (1..last).collect() } else { (1..last).rev().collect() };
            for column in inner {
                let position = self.positions();
                let mean = |place: usize| {
                    // Alternately by one side and by both.
                    let side = |other: &&usize| match round % 4 {
                        0 => self.places[**other].column < column,
                        1 => self.places[**other].column > column,
                        _ => true,
                    };
                    let near: Vec<f64> = neighbours[place].iter().filter(side).map(|&other| position[other]).collect();
                    if near.is_empty() { position[place] } else { near.iter().sum::<f64>() / near.len() as f64 }
                };
                let mut order: Vec<(f64, usize)> =
                    self.columns[column].iter().map(|&place| (mean(place), place)).collect();
                order.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
                self.columns[column] = order.into_iter().map(|(_, place)| place).collect();
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.columns.clone());
            }
        }
        self.columns = best.1;
    }

    /// Where each place stands in its column, from 0 to 1.
    fn positions(&self) -> Vec<f64> {
        let mut position = vec![0.0; self.places.len()];
        for column in &self.columns {
            for (number, &place) in column.iter().enumerate() {
                position[place] = (number as f64 + 0.5) / column.len() as f64;
            }
        }
        position
    }

    fn crossings(&self) -> usize {
        let position = self.positions();
        let mut by_gap = vec![Vec::new(); self.columns.len()];
        for pair in self.ways.iter().flat_map(|way| way.places.windows(2)) {
            let (a, b) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            let (left, right) = if self.places[a].column <= self.places[b].column { (a, b) } else { (b, a) };
            by_gap[self.places[left].column].push((position[left], position[right]));
        }
        let crosses = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0) * (a.1 - b.1) < 0.0;
        let in_gap = |edges: &Vec<(f64, f64)>| {
            let with_earlier =
                |(number, edge): (usize, &(f64, f64))| edges[..number].iter().filter(|e| crosses(e, edge)).count();
            edges.iter().enumerate().map(with_earlier).sum::<usize>()
        };
        by_gap.iter().map(in_gap).sum()
    }

    fn leaves_leftwards(&self, way: &Way) -> bool {
        self.places[way.places[1]].column < self.places[way.places[0]].column
    }

    /// The sides at which a way leaves its first box and arrives at its last.
    fn sides(&self, way: &Way) -> (Side, Side) {
        let column = |place: usize| self.places[place].column;
        let (from, to) = (column(way.places[0]), column(*way.places.last().expect("a way has two ends")));
        match from.cmp(&to) {
            Ordering::Less => (Side::Right, Side::Left),
            Ordering::Equal => (Side::Right, Side::Right),
            Ordering::Greater => (Side::Left, Side::Right),
        }
    }

    /// Creates the ports, and makes each box as high as its contents.
    fn size(&mut self, stays: &[Vec<String>]) {
        for number in 0..self.ways.len() {
            let way = &self.ways[number];
            let (out, into) = self.sides(way);
            let (from, to) = (way.places[0], *way.places.last().expect("a way has two ends"));
            self.ports[from].push(Port { way: number, leaves: true, side: out, y: 0.0 });
            self.ports[to].push(Port { way: number, leaves: false, side: into, y: 0.0 });
        }
        for (place, stays) in stays.iter().enumerate() {
            let of_side =
                |side| self.ports[place].iter().filter(|port| port.side == side).map(|port| self.height(port)).sum();
            let text = NAME + LINE * stays.len() as f64;
            let (left, right): (f64, f64) = (of_side(Side::Left), of_side(Side::Right));
            self.places[place].height = text.max(left).max(right) + 6.0;
        }
        for place in stays.len()..self.places.len() {
            self.places[place].height = PORT;
        }
    }

    fn height(&self, port: &Port) -> f64 {
        if port.leaves { LINE * self.ways[port.way].label.len() as f64 + 4.0 } else { PORT }
    }

    /// The place next to a port's box on its way.
    fn beyond(&self, port: &Port) -> usize {
        let places = &self.ways[port.way].places;
        if port.leaves { places[1] } else { places[places.len() - 2] }
    }

    /// Moves all places as near to their neighbours as the order in their columns allows.
    fn settle(&mut self) {
        let pull = self.pulls();
        for column in &self.columns {
            // Each place is as far below the one above it as their heights require. Without these distances, the
            // wanted positions only have to rise: where they do not, neighbours share their mean.
            let mut room = 0.0;
            let mut blocks: Vec<(f64, usize)> = Vec::new();
            let mut offsets = Vec::new();
            for (number, &place) in column.iter().enumerate() {
                if number > 0 {
                    room += (self.places[column[number - 1]].height + self.places[place].height) / 2.0 + BETWEEN;
                }
                offsets.push(room);
                blocks.push((pull[place] - room, 1));
                while let [.., (before, count), (after, more)] = blocks[..]
                    && before > after
                {
                    blocks.pop();
                    let last = blocks.last_mut().expect("there were two");
                    *last = ((before * count as f64 + after * more as f64) / (count + more) as f64, count + more);
                }
            }
            let wished = blocks.into_iter().flat_map(|(offset, count)| std::iter::repeat_n(offset, count));
            for ((&place, offset), wished) in column.iter().zip(offsets).zip(wished) {
                self.places[place].y = offset + wished;
            }
        }
    }

    /// The height that each place is drawn to: the mean of the ports that its edges lead to.
    fn pulls(&self) -> Vec<f64> {
        let mut near = vec![Vec::new(); self.places.len()];
        for (number, way) in self.ways.iter().enumerate() {
            let y = |at: usize| {
                let place = way.places[at];
                let port = self
                    .ports
                    .get(place)
                    .and_then(|ports| ports.iter().find(|port| port.way == number && port.leaves == (at == 0)));
                (self.places[place].y, port.map_or(0.0, |port| port.y))
            };
            for at in 1..way.places.len() {
                let (a, b) = (way.places[at - 1], way.places[at]);
                if self.places[a].column != self.places[b].column {
                    let ((from, out), (to, into)) = (y(at - 1), y(at));
                    near[a].push(to + into - out);
                    near[b].push(from + out - into);
                }
            }
        }
        let mean = |(place, near): (usize, &Vec<f64>)| {
            if near.is_empty() { self.places[place].y } else { near.iter().sum::<f64>() / near.len() as f64 }
        };
        near.iter().enumerate().map(mean).collect()
    }

    /// Orders the ports on each side of a box by the places they lead to.
    fn arrange_ports(&mut self) {
        for place in 0..self.ports.len() {
            let mut ports = std::mem::take(&mut self.ports[place]);
            let key = |port: &Port| self.places[self.beyond(port)].y;
            ports.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal).then(a.way.cmp(&b.way)));
            for side in [Side::Left, Side::Right] {
                let total: f64 = ports.iter().filter(|port| port.side == side).map(|port| self.height(port)).sum();
                let mut top = -total / 2.0;
                for port in ports.iter_mut().filter(|port| port.side == side) {
                    let height = self.height(port);
                    // A label stands above its line.
                    port.y = top + if port.leaves { height - 3.0 } else { height / 2.0 };
                    top += height;
                }
            }
            self.ports[place] = ports;
        }
    }

    fn finish(self, graph: Graph, stays: Vec<Vec<String>>) -> Layout {
        let boxes = graph.nodes.len();
        let width_of = |place: usize| {
            let longest = stays[place].iter().map(String::len).chain([graph.nodes[place].name.len() + 2]).max();
            longest.unwrap_or(0) as f64 * LETTER + 14.0
        };
        let widths: Vec<f64> = (self.columns.iter())
            .map(|column| {
                column.iter().filter(|&&place| place < boxes).map(|&place| width_of(place)).fold(0.0, f64::max)
            })
            .collect();
        let label_width = |way: &Way| way.label.iter().map(String::len).max().unwrap_or(0) as f64 * LETTER + 12.0;
        // The widest labels of the edges that start in each gap: to the right from its left column, to the left from its right one.
        let mut gaps = vec![(0.0_f64, 0.0_f64); self.columns.len()];
        for way in &self.ways {
            let column = self.places[way.places[0]].column;
            match self.leaves_leftwards(way) {
                true => gaps[column - 1].1 = gaps[column - 1].1.max(label_width(way)),
                false => gaps[column].0 = gaps[column].0.max(label_width(way)),
            }
        }
        let top = (0..self.places.len())
            .map(|place| self.places[place].y - self.places[place].height / 2.0)
            .fold(f64::MAX, f64::min);
        let middle = |place: usize| self.places[place].y - top + MARGIN;
        let lowest =
            (0..self.places.len()).map(|place| middle(place) + self.places[place].height / 2.0).fold(0.0, f64::max);
        let curves = CURVES + CURVES_PER_HEIGHT * lowest;
        let mut x = vec![MARGIN];
        for (column, width) in widths.iter().enumerate() {
            x.push(x[column] + width + gaps[column].0 + gaps[column].1 + curves);
        }
        let rects: Vec<Rect> = (0..boxes)
            .zip(stays.iter().zip(&graph.nodes))
            .map(|(place, (stays, node))| {
                let (column, height) = (node.column, self.places[place].height);
                let (x, y, width) = (x[column], middle(place) - height / 2.0, widths[column]);
                Rect { name: node.name, stays: stays.clone(), at_rest: node.at_rest, x, y, width, height }
            })
            .collect();
        let port = |way: usize, leaves: bool| {
            let place = if leaves { graph.edges[way].from } else { graph.edges[way].to };
            let port = self.ports[place].iter().find(|port| port.way == way && port.leaves == leaves);
            let port = port.expect("every edge has its ports");
            let edge = rects[place].x + if port.side == Side::Right { rects[place].width } else { 0.0 };
            (edge, middle(place) + port.y)
        };
        let mut arrows = Vec::new();
        for (number, way) in self.ways.iter().enumerate() {
            let (start, end) = (port(number, true), port(number, false));
            let leftwards = self.leaves_leftwards(way);
            let sign = if leftwards { -1.0 } else { 1.0 };
            let mut at = (start.0 + sign * label_width(way), start.1);
            let mut path = format!("M{:.1} {:.1}H{:.1}", start.0, start.1, at.0);
            let mut curve_to = |from: (f64, f64), to: (f64, f64)| {
                let bend = ((to.0 - from.0).abs() / 2.0).max(24.0);
                let into = if self.sides(way) == (Side::Right, Side::Right) { bend } else { -sign * bend };
                path.push_str(&format!(
                    "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                    from.0 + sign * bend,
                    from.1,
                    to.0 + into,
                    to.1,
                    to.0,
                    to.1
                ));
            };
            for &place in &way.places[1..way.places.len() - 1] {
                let column = self.places[place].column;
                let (near, far) = if leftwards {
                    (x[column] + widths[column], x[column])
                } else {
                    (x[column], x[column] + widths[column])
                };
                curve_to(at, (near, middle(place)));
                at = (far, middle(place));
                curve_to((near, at.1), at);
            }
            curve_to(at, end);
            let edge = &graph.edges[number];
            let (title, label) = (edge.title.clone(), way.label.clone());
            let from_the_right = self.sides(way).1 == Side::Right;
            let state = graph.nodes[edge.to].state;
            arrows.push(Arrow { state, title, label, start, leftwards, end, from_the_right, path });
        }
        let height = lowest + MARGIN;
        let last = self.columns.len() - 1;
        let mut width = x[last] + widths[last] + MARGIN;
        if gaps[last].0 > 0.0 {
            width += gaps[last].0 + curves;
        }
        Layout { boxes: rects, arrows, width, height }
    }
}

/// Names in lines of at most `most` letters (more if one name is longer).
fn wrap(names: &[&str], most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let comma = if number + 1 < names.len() { "," } else { "" };
        match lines.last_mut() {
            Some(line) if line.len() + 1 + name.len() + comma.len() <= most => {
                line.push_str(&format!(" {name}{comma}"))
            }
            _ => lines.push(format!("{name}{comma}")),
        }
    }
    lines
}
