//! The mesh of `[giles]`, Fig. 2.1: eighteen cores and two memory controllers on a fabric of switches. Each switch is
//! written like algorithm 2.10.
//!
//! Run it with `cargo run --release -p cohesim-engine --example mesh -- [THREADS [REQUESTS]]`. The result is the same for any
//! number of threads: the mesh is cut between its rows of switches, where the wires are links.
//!
//! ```text
//! memory - s - s - s - s - s - s - memory      s: a switch with its core
//!          |   |   |   |   |   |
//!          s - s - s - s - s - s
//!          |   |   |   |   |   |
//!          s - s - s - s - s - s
//! ```

use engine::{
    Context, Counter, Cycles, Energy, EventCount, Hertz, Histogram, Inlet, Lane, LinkReceiver, LinkSender, LinkSpec,
    Model, Outcome, Outlet, PortSpec, RoundRobin, RunOptions, Scope, Time,
};
use signal_hook::{consts::SIGINT, iterator::Signals};
use std::thread;

const ROWS: usize = 3;
const COLUMNS: usize = 6;
/// The switches to which the two memory controllers are attached.
const MEMORIES: [(usize, usize); 2] = [(0, 0), (0, COLUMNS - 1)];
/// The ports of a switch: four neighbours, and the core or memory attached to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    North,
    South,
    West,
    East,
    Core,
    Memory,
}

/// An endpoint: its switch, and whether it is the core or the memory there.
#[derive(Clone, Copy, Debug)]
struct Place {
    row: usize,
    column: usize,
    side: Side,
}

/// A packet: a request to a memory, or its reply to a core.
#[derive(Clone, Copy, Debug)]
struct Packet {
    to: Place,
    from: Place,
    lane: Lane,
    sent: u64,
}

impl Packet {
    /// A request is a header of 8 bytes, a reply carries a line of 64 as well.
    fn bytes(&self) -> u64 {
        if self.lane == Lane::Request { 8 } else { 72 }
    }

    /// The output port at the switch at (row, column): packets go first along the row, then along the column, so that
    /// waiting packets can't form a cycle.
    fn output(&self, row: usize, column: usize) -> Side {
        if self.to.column < column {
            Side::West
        } else if self.to.column > column {
            Side::East
        } else if self.to.row < row {
            Side::North
        } else if self.to.row > row {
            Side::South
        } else {
            self.to.side
        }
    }
}

/// A switch (algorithm 2.10): any number of ports, each with virtual lanes.
struct Switch {
    row: usize,
    column: usize,
    /// In cycles, from arbitration until the packets are on the output wires.
    latency: u64,
    inputs: Vec<(Side, Inlet<Packet>)>,
    outputs: Vec<(Side, Outlet<Packet>)>,
    /// Advances whenever a packet arrives at any input.
    arrivals: EventCount,
    links_formed: Counter,
    energy: Energy,
}

impl Switch {
    /// Line 5 of the algorithm: the control loop.
    async fn run(self, cx: Context) {
        let mut round_robin = RoundRobin::new(self.inputs.len());
        loop {
            // Line 6: await an advance by a neighbour, unless packets are left over from the last arbitration.
            if self.inputs.iter().all(|(_, inlet)| inlet.is_empty()) {
                self.arrivals.next().await;
            }
            // Lines 8 to 10: the sub-clock. All senders of this cycle have sent before the crossbar arbitrates.
            cx.settle().await;
            let links = self.link(&mut round_robin);
            // Line 11: charge the latency. The switch is occupied: no packet gets through meanwhile.
            cx.pause(self.latency).await;
            // Lines 12 to 19: move the packets of the links that were formed.
            for &(input, lane, output) in &links {
                let packet = self.inputs[input].1.try_recv(lane).expect("the packet that was linked is there");
                let sent = self.outputs[output].1.try_send(lane, packet, packet.bytes());
                sent.expect("the output had room when it was linked");
                self.links_formed.increment();
            }
            // Line 21: the energy of the links formed, 100 fJ each. (The engine charges leakage.)
            self.energy.spend(100 * links.len() as u64);
        }
    }

    /// The crossbar: which packet of which input goes to which output. Each input and each output is used at most once.
    /// If the lane of an output is full, the packet stays at its input.
    fn link(&self, round_robin: &mut RoundRobin) -> Vec<(usize, Lane, usize)> {
        let mut links: Vec<(usize, Lane, usize)> = Vec::new();
        for input in round_robin.order() {
            let possible = Lane::ALL.iter().find_map(|&lane| {
                let side = self.inputs[input].1.front(lane)?.output(self.row, self.column);
                let output = self.outputs.iter().position(|(own, _)| *own == side)?;
                let free = links.iter().all(|(_, _, taken)| *taken != output);
                (free && self.outputs[output].1.has_room(lane)).then_some((input, lane, output))
            });
            links.extend(possible);
        }
        // The input granted first this time has the lowest priority next time.
        round_robin.grant(|input| links.first().is_some_and(|(first, ..)| *first == input));
        links
    }
}

/// A core: sends `requests` requests to the two memories in turn and waits for each reply.
async fn core(
    place: Place,
    requests: u64,
    to_switch: Outlet<Packet>,
    from_switch: Inlet<Packet>,
    latency: Histogram,
    cx: Context,
) {
    for request in 0..requests {
        let (row, column) = MEMORIES[request as usize % MEMORIES.len()];
        let to = Place { row, column, side: Side::Memory };
        let packet = Packet { to, from: place, lane: Lane::Request, sent: cx.now().0 };
        to_switch.send(Lane::Request, packet, packet.bytes()).await;
        let reply = from_switch.recv(Lane::Reply).await;
        latency.record(cx.now().0 - reply.sent);
        cx.progress();
        // Some work before the next request.
        cx.pause(20).await;
    }
}

/// A memory controller: one request every 8 cycles.
async fn memory(from_switch: Inlet<Packet>, to_switch: Outlet<Packet>, cx: Context) {
    loop {
        let request = from_switch.recv(Lane::Request).await;
        cx.pause(8).await;
        let reply = Packet { to: request.from, from: request.to, lane: Lane::Reply, sent: request.sent };
        to_switch.send(Lane::Reply, reply, reply.bytes()).await;
    }
}

/// The wires of a switch while the mesh is built.
#[derive(Default)]
struct Wires {
    inputs: Vec<(Side, Inlet<Packet>)>,
    outputs: Vec<(Side, Outlet<Packet>)>,
}

/// Builds a row of switches with their cores and memories. The wires to the rows above and below are links.
fn build_row(
    row: usize,
    requests: u64,
    mesh: &Scope,
    vertical: Vec<(usize, Side, LinkSender<Packet>, LinkReceiver<Packet>)>,
) {
    let wire = PortSpec { capacity: 4, latency: Cycles(1), bytes_per_cycle: Some(32) };
    let scopes: Vec<Scope> = (0..COLUMNS).map(|column| mesh.scope(("switch", row * COLUMNS + column))).collect();
    let mut wires: Vec<Wires> = (0..COLUMNS).map(|_| Wires::default()).collect();
    let connect = |wires: &mut Vec<Wires>, from: usize, to: usize, out: Side, into: Side, label: &str| {
        let (outlet, inlet) = scopes[from].port(label, wire, &scopes[to]);
        wires[from].outputs.push((out, outlet));
        wires[to].inputs.push((into, inlet));
    };
    for column in 0..COLUMNS - 1 {
        connect(&mut wires, column, column + 1, Side::East, Side::West, "east");
        connect(&mut wires, column + 1, column, Side::West, Side::East, "west");
    }
    for (column, side, sender, receiver) in vertical {
        wires[column].outputs.push((side, scopes[column].sender(sender)));
        wires[column].inputs.push((side, scopes[column].receiver(receiver)));
    }
    for (column, (scope, mut wires)) in scopes.iter().zip(wires).enumerate() {
        let (to_core, core_in) = scope.port("to_core", wire, scope);
        let (core_out, from_core) = scope.port("from_core", wire, scope);
        wires.outputs.push((Side::Core, to_core));
        wires.inputs.push((Side::Core, from_core));
        let place = Place { row, column, side: Side::Core };
        let latency = scope.histogram("request_cycles");
        scope.spawn("core", |cx| core(place, requests, core_out, core_in, latency, cx));
        if MEMORIES.contains(&(row, column)) {
            let (to_memory, memory_in) = scope.port("to_memory", wire, scope);
            let (memory_out, from_memory) = scope.port("from_memory", wire, scope);
            wires.outputs.push((Side::Memory, to_memory));
            wires.inputs.push((Side::Memory, from_memory));
            scope.serve("memory", |cx| memory(memory_in, memory_out, cx));
        }
        let arrivals = scope.eventcount("arrivals");
        for (_, inlet) in &wires.inputs {
            inlet.ring(&arrivals);
        }
        let switch = Switch {
            row,
            column,
            latency: 2,
            inputs: wires.inputs,
            outputs: wires.outputs,
            arrivals,
            links_formed: scope.counter("links_formed"),
            energy: scope.energy(5),
        };
        scope.serve("control", |cx| switch.run(cx));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("THREADS and REQUESTS are numbers"));
    let (threads, requests) = (arguments.next().unwrap_or(1) as usize, arguments.next().unwrap_or(2_000));
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(2));
    // The vertical wires have a latency of 4 cycles, 2 ns. The mesh may be cut there.
    let spec = LinkSpec { latency: Time::nanos(2), capacity: 8, bytes_per_cycle: Some(32) };
    let mut vertical: Vec<Vec<_>> = (0..ROWS).map(|_| Vec::new()).collect();
    for row in 0..ROWS - 1 {
        for column in 0..COLUMNS {
            let (down_out, down_in) = model.link(format!("down{row}_{column}"), spec);
            let (up_out, up_in) = model.link(format!("up{row}_{column}"), spec);
            vertical[row].push((column, Side::South, down_out, up_in));
            vertical[row + 1].push((column, Side::North, up_out, down_in));
        }
    }
    for (row, vertical) in vertical.into_iter().enumerate() {
        model.partition(move |partition| build_row(row, requests, &partition.scope(clock).scope("mesh"), vertical));
    }
    // If contexts run 1,000,000 times without a reply to any core, the run ends with a report. Ctrl-C ends the run at
    // the end of its window; what was measured until then is still printed.
    let options = RunOptions { threads, watchdog: Some(1_000_000), ..RunOptions::default() };
    let monitor = options.monitor.clone();
    let mut signals = Signals::new([SIGINT]).expect("Ctrl-C can be caught");
    thread::spawn(move || signals.forever().for_each(|_| monitor.stop()));
    let run = model.run(&options);
    println!("{} after {}, {} events", run.outcome, run.end, run.events);
    let statistics = run.total();
    for switch in 0..ROWS * COLUMNS {
        let path = format!("mesh.switch{switch}");
        let busy = statistics.count(&format!("{path}.control.busy_cycles"));
        let (passive, active) = statistics.energy(&path);
        println!(
            "{path:14} busy {busy:>7} cycles, {:>6} links formed, {:>5} pJ leaked, {:>5} pJ spent",
            statistics.count(&format!("{path}.links_formed")),
            passive / 1000,
            active / 1000
        );
    }
    let (passive, active) = statistics.energy("mesh");
    println!("whole mesh: {} pJ", (passive + active) / 1000);
    if !matches!(run.outcome, Outcome::Finished | Outcome::Interrupted) {
        std::process::exit(1);
    }
}
