//! Captures a program's output.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

/// Clones share one buffer.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no thread panics while it writes")).into_owned()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no thread panics while it writes").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
