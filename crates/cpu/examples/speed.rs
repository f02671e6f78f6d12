//! How many instructions per second the simulated core commits, over caches that always hit.
//!
//! `cargo run --release -p cohesim-cpu --example speed [INSTRUCTIONS]`

#[path = "../tests/programs/flat.rs"]
mod flat;
#[path = "../tests/programs/store_queue.rs"]
mod store_queue;

use cpu::{Core, CoreSpec};
use engine::{Context, Cycles, Hertz, Inlet, Lane, Model, Outcome, Outlet, PortSpec, Run, RunOptions};
use flat::{Ended, FlatProgram, elf};
use interconnect::Wire;
use mem::{Reply, Request};
use std::{cell::RefCell, fs, rc::Rc};

fn main() {
    let limit = std::env::args().nth(1).map_or(5_000_000, |count| count.parse().expect("a number of instructions"));
    let programs: [(&str, &[u8]); 2] = [
        ("integer", include_bytes!("../../x86/bench/integer.elf")),
        ("sse2", include_bytes!("../../x86/bench/sse2.elf")),
    ];
    println!("{:10} {:>12} {:>12} {:>7} {:>12}", "program", "instructions", "cycles", "IPC", "million/s");
    for (name, program) in programs {
        let start = cpu_seconds();
        let run = run(program, limit);
        let seconds = cpu_seconds() - start;
        assert_eq!(run.outcome, Outcome::Finished);
        let total = run.total();
        let count = |path: &str| total.count(&format!("core.{path}"));
        let phases = ["busy", "read_stall", "write_stall", "fetch_stall"];
        let cycles: u64 = phases.iter().map(|phase| count(&format!("cycles.{phase}"))).sum();
        let instructions = count("instructions");
        let rate = instructions as f64 / cycles as f64;
        println!("{name:10} {instructions:12} {cycles:12} {rate:7.2} {:12.2}", instructions as f64 / seconds / 1e6);
        let share = |phase| format!("{phase} {:.1}%", 100.0 * count(&format!("cycles.{phase}")) as f64 / cycles as f64);
        println!("  {}", phases.map(share).join(", "));
        let wrong: u64 =
            ["direction", "target", "return"].map(|kind| count(&format!("mispredicted.{kind}"))).iter().sum();
        println!(
            "  {} branches, {:.2}% mispredicted",
            count("branches"),
            100.0 * wrong as f64 / count("branches") as f64
        );
        let counts = ["micro_ops", "loads", "loads_forwarded", "stores", "store_prefetches", "code_lines"];
        println!("  {}", counts.map(|name| format!("{} {name}", count(name))).join(", "));
    }
}

/// CPU time of this process so far, in seconds; Linux counts it in hundredths.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn run(program: &'static [u8], limit: u64) -> Run {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(4));
    model.partition(move |partition| {
        let scope = partition.scope(clock);
        let place = scope.scope("core");
        let cache = |name: &'static str| {
            let spec = PortSpec { capacity: 64, latency: Cycles(1), bytes_per_cycle: None };
            let cache = scope.scope(name);
            let (to, requests) = place.port(name, spec, &cache);
            let (replies, from) = cache.port("replies", spec, &place);
            cache.serve("hit", move |cx| hit(cx, requests, replies));
            Wire { from, to }
        };
        let (data, code, bell) = (cache("l1d"), cache("l1i"), place.eventcount("bell"));
        let (cpu, memory) = elf(program);
        let program = FlatProgram::new(vec![cpu], memory, limit, Ended::default());
        let core = Core::new(CoreSpec::default(), 1, Rc::new(RefCell::new(program)), data, code, bell, &place);
        place.serve("pipeline", |cx| core.run(cx));
    });
    model.run(&RunOptions::default())
}

/// A cache that always hits.
async fn hit(_: Context, requests: Inlet<Request>, replies: Outlet<Reply>) {
    loop {
        for lane in [Lane::Request, Lane::Coherence] {
            while let Some(Request { id, data, .. }) = requests.try_recv(lane) {
                replies.send(Lane::Reply, Reply { id, data, stamp: 0 }, 8).await;
            }
        }
        requests.arrivals().next().await;
    }
}
