//! A trace of faults, transfers and kernels, for Perfetto (`ADSM_TRACE=FILE`).
//!
//! Events are recorded in memory that is allocated beforehand, because faults are traced from a signal handler. Events
//! that don't fit are counted and dropped. The file is written when the runtime is dropped.

use std::{
    fmt::Write as _,
    fs, io,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Fault,
    Upload,
    Download,
    /// From one device to another.
    Migration,
    Call,
    Kernel,
}

#[derive(Clone, Copy)]
struct Event {
    what: What,
    begin: u64,
    end: u64,
    bytes: usize,
    /// The thread, or the number of a device.
    row: i64,
}

/// The recorded events.
pub struct Trace {
    file: Option<PathBuf>,
    origin: Instant,
    events: Mutex<Vec<Event>>,
    left_out: AtomicU64,
}

const ROOM: usize = 1 << 20;

impl Trace {
    pub fn new(file: Option<PathBuf>) -> Self {
        let room = if file.is_some() { ROOM } else { 0 };
        let events = Mutex::new(Vec::with_capacity(room));
        Self { file, origin: Instant::now(), events, left_out: AtomicU64::new(0) }
    }

    /// Records an activity of this thread that began at `begin` and ends now.
    pub fn span(&self, what: What, begin: Instant, bytes: usize) {
        if self.file.is_some() {
            // SAFETY: a system call that only returns the number of this thread.
            self.note(what, begin, bytes, unsafe { libc::syscall(libc::SYS_gettid) });
        }
    }

    /// Records a kernel that began at `begin` or later and has ended. Each device has its own row.
    pub fn kernel(&self, device: usize, begin: Instant) {
        if self.file.is_some() {
            self.note(What::Kernel, begin, 0, device as i64);
        }
    }

    fn note(&self, what: What, begin: Instant, bytes: usize, row: i64) {
        let since = |at: Instant| at.saturating_duration_since(self.origin).as_nanos() as u64;
        let event = Event { what, begin: since(begin), end: since(Instant::now()), bytes, row };
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() == events.capacity() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        } else {
            events.push(event);
        }
    }

    /// The events as JSON for Perfetto and Chrome.
    pub fn json(&self) -> String {
        let process = std::process::id();
        let mut text = String::from("{\"traceEvents\":[\n");
        for (number, event) in self.events.lock().unwrap_or_else(PoisonError::into_inner).iter().enumerate() {
            let comma = if number == 0 { "" } else { ",\n" };
            let (begin, long) = (event.begin as f64 / 1e3, (event.end - event.begin) as f64 / 1e3);
            let row = event.row;
            let (name, bytes) = (format!("{:?}", event.what).to_lowercase(), event.bytes);
            let _ = write!(
                text,
                "{comma}{{\"name\":\"{name}\",\"cat\":\"adsm\",\"ph\":\"X\",\"ts\":{begin:.3},\"dur\":{long:.3},\
                 \"pid\":{process},\"tid\":{row},\"args\":{{\"bytes\":{bytes}}}}}"
            );
        }
        let left_out = self.left_out.load(Ordering::Relaxed);
        let _ = write!(text, "\n],\"otherData\":{{\"left_out\":{left_out}}}}}\n");
        text
    }

    /// Writes the trace file, if one was requested.
    pub fn write(&self) -> io::Result<()> {
        match &self.file {
            Some(file) => fs::write(file, self.json()),
            None => Ok(()),
        }
    }
}
