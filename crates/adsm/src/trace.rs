//! A trace of faults, transfers and kernels, for Perfetto (`ADSM_TRACE=FILE`).
//!
//! Events are noted in room that is taken beforehand, since faults are traced from a signal handler; what does not fit is
//! counted and left out. The file is written when the runtime ends.

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

/// What an event is.
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
    /// The thread, or a device's number.
    row: i64,
}

/// The events so far.
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

    /// Something that this thread began at `begin` and that ends now.
    pub fn span(&self, what: What, begin: Instant, bytes: usize) {
        if self.file.is_some() {
            // SAFETY: asks for a number of this thread.
            self.note(what, begin, bytes, unsafe { libc::syscall(libc::SYS_gettid) });
        }
    }

    /// A kernel of a device that began at `begin`, or later, and has ended: devices have rows of their own.
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

    /// The events in the JSON that Perfetto and Chrome read.
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

    /// Writes the file, if one was asked for.
    pub fn write(&self) -> io::Result<()> {
        match &self.file {
            Some(file) => fs::write(file, self.json()),
            None => Ok(()),
        }
    }
}
