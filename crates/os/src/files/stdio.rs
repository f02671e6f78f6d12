//! The standard streams of the guest, connected by default to those of the simulator.

use std::{
    cell::RefCell,
    io::{self, IsTerminal, Read, Write},
};

/// One of the three standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Input,
    Output,
    Error,
}

/// What the three streams are connected to.
pub struct Stdio {
    input: RefCell<Box<dyn Read>>,
    output: RefCell<Box<dyn Write>>,
    error: RefCell<Box<dyn Write>>,
    terminals: [bool; 3],
}

impl Stdio {
    /// Connects to the simulator's own streams.
    pub fn inherit() -> Stdio {
        Stdio {
            terminals: [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()],
            ..Stdio::new(io::stdin(), io::stdout(), io::stderr())
        }
    }

    /// Connects to any reader and writers; none counts as a terminal.
    pub fn new(input: impl Read + 'static, output: impl Write + 'static, error: impl Write + 'static) -> Stdio {
        Stdio {
            input: RefCell::new(Box::new(input)),
            output: RefCell::new(Box::new(output)),
            error: RefCell::new(Box::new(error)),
            terminals: [false; 3],
        }
    }

    /// Replaces the input.
    pub fn with_input(self, input: impl Read + 'static) -> Stdio {
        Stdio { input: RefCell::new(Box::new(input)), ..self }
    }

    /// Replaces the outputs. What counts as a terminal stays, since the new outputs forward to the old ones.
    pub fn with_outputs(self, output: impl Write + 'static, error: impl Write + 'static) -> Stdio {
        Stdio { output: RefCell::new(Box::new(output)), error: RefCell::new(Box::new(error)), ..self }
    }

    pub fn is_terminal(&self, stream: Stream) -> bool {
        self.terminals[stream as usize]
    }

    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.input.borrow_mut().read(bytes)
    }

    /// Writes all bytes and flushes: the guest does its own buffering.
    pub fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let mut to = if stream == Stream::Error { self.error.borrow_mut() } else { self.output.borrow_mut() };
        to.write_all(bytes)?;
        to.flush()
    }
}
