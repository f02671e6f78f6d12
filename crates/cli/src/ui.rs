//! Output of the command: results on standard output, as text or as one JSON document; everything else on standard
//! error.

use miette::IntoDiagnostic;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// The user's options for output.
#[derive(Clone, Copy, Debug)]
pub struct Ui {
    /// Results as JSON on standard output, nothing else there.
    pub json: bool,
    /// Whether to print details of the progress.
    pub verbose: bool,
}

impl Ui {
    /// Prints a result as text; silent with JSON output.
    pub fn print(&self, text: &str) -> miette::Result<()> {
        if self.json { Ok(()) } else { write(text.as_bytes()) }
    }

    /// Prints a result as JSON; silent with text output.
    pub fn report(&self, value: &impl Serialize) -> miette::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut text = serde_json::to_vec_pretty(value).into_diagnostic()?;
        text.push(b'\n');
        write(&text)
    }

    /// Prints a note on standard error.
    pub fn note(&self, text: &str) {
        eprintln!("note: {text}");
    }

    /// Shows progress: on a terminal in one line that is overwritten, elsewhere only if `verbose`.
    pub fn progress(&self, what: &str) {
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[2K{what}");
        } else if self.verbose {
            eprintln!("{what}");
        }
    }

    /// Clears the progress line.
    pub fn progress_done(&self) {
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[2K");
        }
    }
}

/// Writes to standard output. A reader that closed the pipe early is not an error.
fn write(bytes: &[u8]) -> miette::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).into_diagnostic(),
        _ => Ok(()),
    }
}
