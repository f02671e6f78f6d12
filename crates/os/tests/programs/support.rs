//! Runs a guest and captures its results.

use engine::Time;
use os::{
    End, Options, Process,
    files::{Mount, Stdio},
    process::Totals,
};
use std::{
    cell::RefCell,
    io::{self, Cursor, Write},
    path::{Path, PathBuf},
    rc::Rc,
};

/// The committed guests.
pub const GUESTS: &[u8] = include_bytes!("../guests/guests");

#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The result of a run.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub end: End,
    pub out: String,
    pub totals: Totals,
}

impl Outcome {
    /// The output of a guest that must have exited with code 0.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(self.end, End::Exited { code: 0 }, "{}\n{}", self.end, self.out);
        self.out
    }
}

/// Runs a program; `change` sets the options that matter.
pub fn run_program(program: &[u8], arguments: &[&str], change: impl FnOnce(&mut Options)) -> Outcome {
    let (out, err) = (Kept::default(), Kept::default());
    let mut options = Options::new("/guest");
    options.arguments = std::iter::once(&"guest").chain(arguments).map(|text| text.as_bytes().to_vec()).collect();
    options.stdio = Stdio::new(Cursor::new(Vec::new()), out.clone(), err);
    options.max_instructions = 2_000_000_000;
    options.max_time = Time(u64::MAX - 1);
    change(&mut options);
    let mut process = Process::start(program, options).unwrap_or_else(|error| panic!("{error}"));
    let end = process.run();
    let out = String::from_utf8_lossy(&out.0.borrow()).into_owned();
    Outcome { end, out, totals: process.totals() }
}

/// Runs one of the committed guests.
pub fn run(arguments: &[&str]) -> Outcome {
    run_program(GUESTS, arguments, |_| {})
}

/// A folder that is removed at the end of the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cohesim-os-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files can be made");
        Folder(path.canonicalize().expect("it was made just now"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a file can be written");
    }

    pub fn mount(&self, guest: &str, writable: bool) -> Mount {
        Mount { host: self.0.clone(), guest: Some(guest.into()), writable }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
