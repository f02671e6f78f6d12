//! How a command talks: text for people, or one JSON document for programs.

use miette::IntoDiagnostic;
use serde::Serialize;
use std::io::{self, Write};

/// What the user asked of the output.
#[derive(Clone, Copy, Debug)]
pub struct Ui {
    /// Results as JSON on standard output, nothing else there.
    pub json: bool,
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
}

/// A reader that closed the pipe early has seen what it wanted.
fn write(bytes: &[u8]) -> miette::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).into_diagnostic(),
        _ => Ok(()),
    }
}
