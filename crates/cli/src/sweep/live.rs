//! `cohesim sweep --live`: what the page of a sweep in progress shows, and the orders that it gives. Each run serves a
//! page of its own, which gets these orders, too.

use super::{
    store::{State, Store},
    task::Task,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use viewer::InProgress;

/// A sweep that this process works on.
pub struct Live {
    title: String,
    store: Store,
    tasks: Vec<(String, Task)>,
    since: Instant,
    paused: AtomicBool,
    stopped: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Runs that are known to be done; and how many were at first.
    done: BTreeSet<String>,
    at_first: Option<usize>,
    /// Runs of this process, by key: when each was started, and the port of its page.
    here: BTreeMap<String, (Instant, Option<u16>)>,
}

/// Time limit of a run's page to take an order.
const PATIENCE: Duration = Duration::from_secs(1);
/// What a run says first is not longer than this.
const FIRST_WORDS: u64 = 4096;

impl Live {
    pub fn new(title: String, store: &Store, tasks: &[(String, Task)]) -> Self {
        Self {
            title,
            store: store.clone(),
            tasks: tasks.to_vec(),
            since: Instant::now(),
            paused: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run of this process has been started; its page is not known yet.
    pub fn begins<'a>(&'a self, key: &'a str) -> Watch<'a> {
        self.seen().here.insert(key.to_owned(), (Instant::now(), None));
        Watch { live: self, key, port: None, paused: false }
    }
}

/// A run of this process, until it is dropped.
pub struct Watch<'a> {
    live: &'a Live,
    key: &'a str,
    port: Option<u16>,
    /// The order that the run has got.
    paused: bool,
}

impl Watch<'_> {
    /// Learns from what the run has said where its page is, and hands orders on.
    pub fn attend(&mut self, said: &Path) {
        if self.port.is_none() {
            self.port = page(said);
            let here = &mut self.live.seen().here;
            if let Some((_, port)) = here.get_mut(self.key) {
                *port = self.port;
            }
        }
        let wanted = self.live.is_paused();
        if let Some(port) = self.port.filter(|_| wanted != self.paused)
            && give(port, if wanted { "pause" } else { "resume" }).is_ok()
        {
            self.paused = wanted;
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.live.seen().here.remove(self.key);
    }
}

/// The port of a run's page, from the output of the run.
fn page(said: &Path) -> Option<u16> {
    let mut text = Vec::new();
    std::fs::File::open(said).ok()?.take(FIRST_WORDS).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.split_once("http://127.0.0.1:")?.1.split_once('/')?.0.parse().ok()
}

/// Gives an order to the page of a run.
fn give(port: u16, order: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let host = format!("Host: 127.0.0.1:{port}");
    write!(stream, "POST /api/live/{order} HTTP/1.1\r\n{host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    if status.ends_with(b" 200") { Ok(()) } else { Err(std::io::ErrorKind::InvalidData.into()) }
}

impl InProgress for Live {
    fn state(&self) -> Value {
        let mut seen = self.seen();
        let (mut elsewhere, mut waiting, mut failed) = (0, 0, Vec::new());
        for (key, task) in &self.tasks {
            if seen.done.contains(key) || seen.here.contains_key(key) {
                continue;
            }
            match self.store.state(key) {
                State::Done => _ = seen.done.insert(key.clone()),
                State::Claimed => elsewhere += 1,
                State::Waiting => waiting += 1,
                State::Failed(failure) => {
                    let why = failure.why.lines().next_back().unwrap_or_default();
                    failed.push(json!({ "name": task.to_string(), "why": why }));
                }
            }
        }
        let done = seen.done.len();
        let at_first = *seen.at_first.get_or_insert(done);
        let seconds = self.since.elapsed().as_secs_f64();
        let open = self.tasks.len() - done - failed.len();
        let left = (done > at_first).then(|| seconds * open as f64 / (done - at_first) as f64);
        let here = self.tasks.iter().filter_map(|(key, task)| {
            let (since, port) = seen.here.get(key)?;
            let address = port.map(|port| format!("http://127.0.0.1:{port}/"));
            Some(json!({ "name": task.to_string(), "seconds": since.elapsed().as_secs_f64(), "address": address }))
        });
        json!({
            "title": self.title,
            "seconds": seconds,
            "runs": self.tasks.len(),
            "done": done,
            "here": here.collect::<Vec<_>>(),
            "elsewhere": elsewhere,
            "waiting": waiting,
            "failed": failed,
            "left": left,
            "paused": self.is_paused(),
            "stopped": self.is_stopped(),
        })
    }

    fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }

    fn resume(&self) {
        self.paused.store(false, Ordering::Relaxed);
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}
