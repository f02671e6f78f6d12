//! How the command speaks: results on standard output, everything else on standard error.

use miette::{IntoDiagnostic, Result};
use serde::Serialize;
use std::io::{IsTerminal, Write};

pub struct Ui {
    json: bool,
    verbose: bool,
}

impl Ui {
    pub fn new(json: bool, verbose: bool) -> Ui {
        Ui { json, verbose }
    }

    /// Prints a result: as one JSON object if that was asked for, else as `text` for people.
    pub fn result<T: Serialize>(&self, value: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
        let printed = if self.json { serde_json::to_string_pretty(value).into_diagnostic()? } else { text(value) };
        match writeln!(std::io::stdout(), "{}", printed.trim_end()) {
            // Whoever read this has read enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => written.into_diagnostic(),
        }
    }

    /// Says how long work gets on: on a terminal in one line that is written over, elsewhere only if asked to say more.
    pub fn progress(&self, what: &str) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[2K{what}");
        } else if self.verbose {
            eprintln!("{what}");
        }
    }

    /// Takes the line of progress away.
    pub fn progress_done(&self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[2K");
        }
    }
}
