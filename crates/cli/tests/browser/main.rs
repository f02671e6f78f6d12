//! Pages in a real browser: the files that `--out` writes, and `cohesim view`.

mod live;
mod pages;
mod reports;
mod webdriver;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}"));
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("tests have a folder for files");
    folder
}

/// Runs the command, which must succeed.
fn cohesim(words: &str, out: &Path) {
    let mut parts = words.splitn(2, " -- ");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    command.args(parts.next().unwrap_or_default().split_whitespace()).arg("--out").arg(out);
    if let Some(arguments) = parts.next() {
        command.arg("--").args(arguments.split_whitespace());
    }
    let done = command.output().expect("cohesim starts");
    assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The run with the widest table of cores.
const EDGE: &str = "run edge --system apu-c-l3 -- --size tiny --cpu-share 50 --threads 4 --copies none";

/// Reports layout errors: a page that must be scrolled sideways, or a name broken into letters.
const TOO_WIDE: &str = r#"
    const wrong = [], page = document.documentElement;
    if (page.scrollWidth > page.clientWidth) wrong.push(`the page is ${page.scrollWidth} wide in ${page.clientWidth}`);
    document.querySelectorAll("table").forEach((table, number) => {
        const holder = table.closest(".wide") ?? table, place = holder.getBoundingClientRect();
        if (place.right > page.clientWidth + 1) wrong.push(`table ${number} ends at ${place.right}`);
        const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT), range = document.createRange();
        while (texts.nextNode()) {
            range.selectNodeContents(texts.currentNode);
            const lines = new Set([...range.getClientRects()].map(line => Math.round(line.top))).size;
            const text = texts.currentNode.textContent.trim();
            // A text may be broken between words, but not between letters.
            if (lines > Math.max(text.split(/\s/).length, text.length / 8)) wrong.push(`'${text}' takes ${lines} lines`);
        }
    });
    return wrong;"#;
