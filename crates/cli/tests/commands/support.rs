//! Runs the command as users do.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The result of running the command.
pub struct Outcome {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl Outcome {
    /// The output of a run that must succeed.
    pub fn result(self) -> String {
        assert!(self.ok, "the command failed:\n{}", self.err);
        self.out
    }

    /// The message of a run that must fail, without the terminal's line breaks.
    pub fn error(self) -> String {
        assert!(!self.ok, "the command did not fail:\n{}", self.out);
        let words: Vec<&str> =
            self.err.split_whitespace().filter(|word| !matches!(*word, "│" | "╰─▶" | "├─▶")).collect();
        words.join(" ")
    }

    pub fn json(self) -> serde_json::Value {
        let text = self.result();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("no JSON ({error}):\n{text}"))
    }
}

pub fn cohesim(arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    let Output { status, stdout, stderr } = command.args(arguments).output().expect("the command was built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command writes UTF-8");
    Outcome { ok: status.success(), out: text(stdout), err: text(stderr) }
}

/// Runs the command and returns its exit code.
pub fn code(arguments: &[&str]) -> i32 {
    let output = Command::new(env!("CARGO_BIN_EXE_cohesim")).args(arguments).output().expect("the command was built");
    output.status.code().expect("the command was not killed")
}

/// A code object of the loader's tests.
pub fn object(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gcn3/tests/objects").join(name);
    path.to_str().expect("the path of the project is UTF-8").to_string()
}

/// A folder that is removed after the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cohesim-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files can be made");
        Folder(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("temporary folders have UTF-8 names").to_string()
    }

    /// The names of the files in it.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder can be read");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry can be read").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
