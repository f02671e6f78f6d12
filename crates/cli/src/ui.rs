//! How the command talks: results on standard output, for people or as one JSON document; all else on standard error.

use miette::IntoDiagnostic;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// What the user asked of the output.
#[derive(Clone, Copy, Debug)]
pub struct Ui {
    /// Results as JSON on standard output, nothing else there.
    pub json: bool,
    /// Say more about what is going on.
    pub verbose: bool,
}

impl Ui {
    /// Writes a result for people; silent when JSON was asked for.
    pub fn print(&self, text: &str) -> miette::Result<()> {
        if self.json { Ok(()) } else { write(text.as_bytes()) }
    }

    /// Writes a result for programs; silent unless JSON was asked for.
    pub fn report(&self, value: &impl Serialize) -> miette::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut text = serde_json::to_vec_pretty(value).into_diagnostic()?;
        text.push(b'\n');
        write(&text)
    }

    /// Tells the user something beside the result.
    pub fn note(&self, text: &str) {
        eprintln!("note: {text}");
    }

    /// Says how long work gets on: on a terminal in one line that is written over, elsewhere only if asked to say more.
    pub fn progress(&self, what: &str) {
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[2K{what}");
        } else if self.verbose {
            eprintln!("{what}");
        }
    }

    /// Takes the line of progress away.
    pub fn progress_done(&self) {
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[2K");
        }
    }
}

/// A reader that closed the pipe early has seen what it wanted.
fn write(bytes: &[u8]) -> miette::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).into_diagnostic(),
        _ => Ok(()),
    }
}
