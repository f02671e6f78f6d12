//! Finds the commands in the workspace's documentation pages: their places, and the words into which a shell splits
//! them.
//!
//! A command stands in a block of code, indented or fenced. In a block ```` ```console ````, lines that begin with `$ `
//! are commands and the others are what they print; a line `...` stands for any number of lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// How pages call the command.
const CALLS: [&str; 3] = ["cohesim ", "target/release/cohesim ", "cargo run --release -- "];

/// A command of a page.
pub struct Shown {
    pub page: PathBuf,
    /// The arguments of the command, on one line.
    pub command: String,
    /// The output that the page shows for the command, if it shows one.
    pub output: Option<String>,
}

/// The commands of all pages of the workspace, page by page.
pub fn commands() -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    pages(&root, &mut found);
    found.sort();
    found.iter().flat_map(|page| commands_of(page, &fs::read_to_string(page).expect("the page can be read"))).collect()
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "target" && !name.starts_with('.') => pages(&path, found),
            false if name.ends_with(".md") => found.push(path),
            _ => {}
        }
    }
}

/// The commands of a page, with lines that end in `\` put together.
fn commands_of(path: &Path, page: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    // The word behind the fence of the block that is open.
    let mut fence: Option<&str> = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(word) = line.strip_prefix("```") {
            fence = fence.is_none().then_some(word);
            continue;
        }
        let console = fence == Some("console");
        let code = match fence {
            Some(_) if console => line.strip_prefix("$ "),
            Some(_) => Some(line),
            None => line.strip_prefix("    "),
        };
        let Some(rest) = code.and_then(|code| CALLS.iter().find_map(|call| code.strip_prefix(call))) else {
            if console && let Some(output) = found.last_mut().and_then(|shown| shown.output.as_mut()) {
                output.push_str(line);
                output.push('\n');
            }
            continue;
        };
        let mut command = rest.to_owned();
        while command.trim_end().ends_with('\\') {
            command = command.trim_end().trim_end_matches('\\').to_owned() + lines.next().unwrap_or_default().trim();
        }
        found.push(Shown { page: path.to_owned(), command, output: console.then(String::new) });
    }
    found
}

/// The words of a command as a shell makes them, up to a comment, a pipe or a redirection.
pub fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#' | '|' | '>' | ';' | '&') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Whether the word is a placeholder for something of the reader's own: a file, a folder, a variable, or a name in
/// capitals.
pub fn readers_own(word: &str) -> bool {
    word.contains(['/', '.', '$', '<']) || word.chars().all(|letter| letter.is_ascii_uppercase())
}
