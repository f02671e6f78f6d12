//! A page about a run in progress: its progress, which elements wait for which, and how full queues are, with buttons
//! to pause and to stop the run. A sweep in progress has a page, too, with links to the pages of its runs.
//!
//! The process at work serves it on the loopback address, under the rules of [`server`](crate::server): only
//! requests that name this server and come from its own page are answered. The page asks once a second, and only while
//! it is visible; without an open page the run is not disturbed.

use crate::{
    assets,
    server::{Hosts, bytes, guarded, told, with_status},
};
use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
    routing::{get, post},
};
use engine::{Hertz, Monitor, Snapshot, Time, Waiting};
use serde_json::{Value, json};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Work that a page shows, and that its buttons control.
pub trait InProgress: Send + Sync + 'static {
    /// What the page shows. `paused` and `stopped` tell which buttons there are.
    fn state(&self) -> Value;
    fn pause(&self);
    fn resume(&self);
    /// Ends the work soon; what it has achieved so far is kept.
    fn stop(&self);
}

/// A run to watch.
pub struct Live {
    /// The program and the machine.
    pub title: String,
    pub monitor: Monitor,
    /// The clock in whose cycles simulated time is shown, too.
    pub clock: Hertz,
}

struct Watched {
    live: Live,
    since: Instant,
}

/// What is in progress, and the name of its page.
#[derive(Clone)]
struct Shown {
    work: Arc<dyn InProgress>,
    page: &'static str,
}

/// Time limit for the threads of a run to answer a request for a snapshot. If a round takes longer, the page is updated
/// without one.
const PATIENCE: Duration = Duration::from_millis(500);

/// A machine without an event for longer than this is shown as idle.
const IDLE: Time = Time::micros(1);

/// Maximum number of waits, and of levels, on the page.
const MOST: usize = 100;

impl Live {
    /// Serves the page at a port of the loopback address (0: any free port) from its own thread until the process ends.
    /// Returns the address.
    pub fn serve(self, port: u16) -> io::Result<SocketAddr> {
        serve(Shown { work: Arc::new(Watched { live: self, since: Instant::now() }), page: "live.html" }, port)
    }
}

/// Serves the page of a sweep in progress, as [`Live::serve`] does that of a run.
pub fn serve_sweep(sweep: Arc<dyn InProgress>, port: u16) -> io::Result<SocketAddr> {
    serve(Shown { work: sweep, page: "sweep.html" }, port)
}

fn serve(shown: Shown, port: u16) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let router = guarded(router(shown), Hosts::of(address));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let serve = move || {
        // If the page can't be served any more, the work goes on without.
        _ = runtime.block_on(async { axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await });
    };
    thread::Builder::new().name("live page".to_owned()).spawn(serve)?;
    Ok(address)
}

fn router(shown: Shown) -> Router {
    let order = |give: fn(&dyn InProgress)| {
        post(move |State(shown): State<Shown>| async move {
            give(&*shown.work);
            answer(&json!({}))
        })
    };
    let first = shown.page;
    Router::new()
        .route("/api/live", get(state))
        .route("/api/live/pause", order(|work| work.pause()))
        .route("/api/live/resume", order(|work| work.resume()))
        .route("/api/live/stop", order(|work| work.stop()))
        .route("/", get(move || page(Path(first.to_owned()))))
        .route("/{name}", get(page))
        .with_state(shown)
}

async fn page(Path(name): Path<String>) -> Response {
    match assets::find(&name) {
        Some((kind, content)) => bytes(kind, content),
        None => with_status(StatusCode::NOT_FOUND, format!("There is no '{name}' here.\n")),
    }
}

fn answer(value: &Value) -> Response {
    told(value).unwrap_or_else(|(status, text)| with_status(status, text))
}

async fn state(State(shown): State<Shown>) -> Response {
    let looked = tokio::task::spawn_blocking(move || shown.work.state());
    answer(&looked.await.unwrap_or_else(|error| json!({ "error": error.to_string() })))
}

impl InProgress for Watched {
    fn state(&self) -> Value {
        let Self { live: Live { title, monitor, clock }, since } = self;
        let (done, expected) = monitor.work();
        let headway = monitor.headway();
        json!({
            "title": title,
            "seconds": since.elapsed().as_secs_f64(),
            "time": monitor.time().to_string(),
            "time_fs": monitor.time().0,
            "cycles": (monitor.time().0 as f64 * clock.0 as f64 / 1e15) as u64,
            "idle_until": monitor.idle_until().filter(|until| until.0 - monitor.time().0.min(until.0) > IDLE.0).map(|time| time.to_string()),
            "paused": monitor.is_paused(),
            "stopped": monitor.is_stopped(),
            "done": done,
            "expected": expected,
            "instructions": headway.instructions,
            "wave_instructions": headway.wave_instructions,
            "kernels": headway.kernels,
            "look": monitor.look(PATIENCE).map(shortened),
        })
    }

    fn pause(&self) {
        self.live.monitor.pause();
    }

    fn resume(&self) {
        self.live.monitor.resume();
    }

    fn stop(&self) {
        self.live.monitor.stop();
    }
}

/// The longest waits and the highest levels.
fn shortened(Snapshot { time, mut waits, events, mut levels }: Snapshot) -> Value {
    waits.waiting.sort_by(|one, other| (one.since, &one.context).cmp(&(other.since, &other.context)));
    levels.sort_by(|(one, high), (other, low)| (low, one).cmp(&(high, other)));
    let (held_up, filled) = (waits.waiting.len(), levels.len());
    waits.waiting.truncate(MOST);
    levels.truncate(MOST);
    let waiting = waits.waiting.iter().map(|Waiting { context, on, since, wakers, .. }| {
        json!({ "context": context, "on": on, "for": time.0.saturating_sub(since.0), "wakers": wakers })
    });
    let waiting: Vec<Value> = waiting.collect();
    json!({ "events": events, "held_up": held_up, "waiting": waiting, "filled": filled, "levels": levels, "circle": waits.circle })
}
