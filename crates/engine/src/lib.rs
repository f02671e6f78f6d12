//! A discrete-event engine whose events are hardware contexts.
//!
//! Each hardware element is one [`Context`]: an `async` function that waits for work, does it, and
//! [pauses](Context::pause) for as long as that takes. While it pauses it serves no other request, so occupancy and
//! contention need no extra code. Contexts signal each other through [`EventCount`]s, [`Queue`]s and ports. The idea is
//! KnightSim's (`[giles chapter 2]`); its stacks are replaced by the state machines that the compiler makes of `async`
//! functions.
//!
//! ```
//! use engine::{Hertz, Model, Outcome, RunOptions};
//!
//! let mut model = Model::new();
//! let clock = model.clock(Hertz::giga(1));
//! model.partition(move |partition| {
//!     let chip = partition.scope(clock).scope("chip");
//!     let requests = chip.queue::<u64>("requests", 4);
//!     let (sender, served) = (requests.clone(), chip.counter("served"));
//!     chip.spawn("core", async move |cx| {
//!         for request in 0..10 {
//!             cx.pause(1).await;
//!             sender.send(request).await; // waits while the queue is full
//!         }
//!     });
//!     chip.serve("memory", async move |cx| {
//!         loop {
//!             let _request = requests.recv().await;
//!             cx.pause(5).await; // one request every five cycles
//!             served.increment();
//!         }
//!     });
//! });
//! let run = model.run(&RunOptions::default());
//! assert_eq!(run.outcome, Outcome::Finished);
//! assert_eq!(run.total().count("chip.served"), 10);
//! assert_eq!(run.total().count("chip.memory.busy_cycles"), 50);
//! ```
//!
//! A model is cut into partitions along [links](LinkSpec); each partition is built and run by one thread and shares
//! nothing with the others. Statistics and traces are the same, byte for byte, for any number of threads and any cut.
//!
//! The rules, in short:
//!
//! - Within a cycle, contexts that paused for one cycle run first, then contexts whose longer pause ends, each in the
//!   order in which they asked. Contexts woken by an eventcount run after that, in the same cycle.
//! - A context waits for one thing at a time. A `select` or `join` inside a context is refused with a panic that says
//!   so.
//! - [`Context::settle`] resumes after everything else in the cycle. A context woken from then on runs in the next
//!   cycle.
//! - When nothing can run and a context is blocked, the run ends with a [`WaitReport`].
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arbiter;
mod barrier;
mod batch;
mod calendar;
mod context;
mod core;
mod credits;
mod crew;
mod deal;
mod domain;
mod edges;
mod energy;
mod eventcount;
mod journal;
mod link;
mod live;
mod model;
mod name;
mod partition;
mod port;
mod pressure;
mod queue;
mod report;
mod scaling;
mod stats;
mod time;
mod trace;
mod workers;

pub use arbiter::RoundRobin;
pub use context::{Context, Pause, Scope, Settle};
pub use credits::Credits;
pub use deal::Share;
pub use energy::Energy;
pub use eventcount::{EventCount, Reason, Rest, Wait, WaitFor};
pub use journal::{Auditor, Entry, Journal, Pen};
pub use link::{LinkReceiver, LinkSender, LinkSpec};
pub use live::Snapshot;
pub use model::{ClockId, Headway, Model, Monitor, Outcome, Run, RunOptions};
pub use name::Label;
pub use partition::Partition;
pub use port::{Inlet, Lane, Outlet, PortSpec, Ready};
pub use pressure::Pressure;
pub use queue::Queue;
pub use report::{WaitReport, Waiting};
pub use scaling::Scaling;
pub use stats::{Counter, Histogram, Level, Matrix, Path, Phases, Rate, Region, Series, Spans, Statistics, Value};
pub use time::{Cycles, Hertz, Time};
pub use trace::{Activity, Sample, Span, TraceEvent, TraceSpec};
