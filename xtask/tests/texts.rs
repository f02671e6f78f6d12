//! Checks the texts of the workspace: sources are cited by keys of `docs/papers.md`; links lead to files and headings;
//! the tests, tasks and examples that pages name exist; `docs/` is a book that has every page; every crate has a
//! README; and README.md and ARCHITECTURE.md stay short.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// All files of the workspace that are text, without what is built or hidden.
fn texts() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().to_path_buf()];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("folders of the workspace can be read") {
            let path = entry.expect("its entries, too").path();
            let name = path.file_name().expect("an entry has a name").to_string_lossy();
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "book", "shared"].contains(&&*name) {
                    folders.push(path);
                }
            } else if let Ok(text) = fs::read_to_string(&path) {
                texts.push((path, text));
            }
        }
    }
    texts
}

/// Whether a text has a file name of three digits, `_` and sixteen hexadecimal digits.
fn names_a_stored_text(text: &str) -> bool {
    text.as_bytes().windows(20).any(|name| {
        name[..3].iter().all(u8::is_ascii_digit)
            && name[3] == b'_'
            && name[4..].iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
    })
}

/// The keys of citations with a place, such as `halcone` of "[halcone 3.2]" or "[halcone Fig. 5]".
fn cited(text: &str) -> impl Iterator<Item = &str> {
    text.split('[').skip(1).filter_map(|rest| {
        let (key, place) = rest.split_once(' ')?;
        let is_key = key.len() > 1
            && key.starts_with(|first: char| first.is_ascii_lowercase())
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        let is_place = place.starts_with(|first: char| first.is_ascii_digit())
            || ["Fig", "Table", "chapter"].iter().any(|word| place.starts_with(word));
        (is_key && is_place && key != "doi").then_some(key)
    })
}

/// The targets of a page's links within the workspace: a file (empty: the page itself) and a heading (empty: none).
fn links(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        (!target.is_empty() && !target.contains("://")).then(|| target.split_once('#').unwrap_or((target, "")))
    })
}

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).flat_map(str::lines).filter(|line| !line.starts_with("    ")).fold(
        String::new(),
        |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        },
    )
}

/// The anchors of a page's headings, formed as GitHub and mdBook form them.
fn headings(page: &str) -> Vec<String> {
    let text = prose(page);
    let titles = text.lines().filter_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#').trim()));
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => letter.to_lowercase().next(),
        _ => None,
    };
    titles.map(|title| title.chars().filter_map(letter).collect()).collect()
}

/// All pages of the workspace.
fn pages() -> impl Iterator<Item = (PathBuf, String)> {
    texts().into_iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "md"))
}

#[test]
fn no_text_names_a_source_by_a_file_that_readers_do_not_have() {
    assert!(names_a_stored_text(&format!("see 000_{}.txt", "0123456789abcdef")));
    let named: Vec<_> =
        texts().into_iter().filter(|(_, text)| names_a_stored_text(text)).map(|(path, _)| path).collect();
    assert!(named.is_empty(), "cite by a key of docs/papers.md: {named:?}");
}

#[test]
fn every_citation_has_a_key_of_the_list_of_sources() {
    assert_eq!(cited("`[umh Fig. 5]`, [giles 3.2.5] and [memory]").collect::<Vec<_>>(), ["umh", "giles"]);
    let sources = fs::read_to_string(root().join("docs/papers.md")).expect("the list of sources is there");
    for (path, text) in texts() {
        let of_ours = ["rs", "md", "toml", "c", "cl", "h"].map(std::ffi::OsStr::new);
        if !path.extension().is_some_and(|extension| of_ours.contains(&extension)) {
            continue;
        }
        for key in cited(&text) {
            assert!(sources.contains(&format!("| `[{key}]` |")), "{}: docs/papers.md has no [{key}]", path.display());
        }
    }
}

#[test]
fn links_between_pages_lead_to_files_and_headings() {
    assert_eq!(
        links("[a](b.md#c) [d](https://e.f) [g](#h)").collect::<Vec<_>>(),
        [("b.md", "c"), ("", "h")],
        "links out of the workspace are not followed"
    );
    assert_eq!(headings("# What is `x`, in 2 words?\n\n    # code\n"), ["what-is-x-in-2-words"]);
    for (path, text) in pages() {
        let folder = path.parent().expect("a page lies in a folder");
        for (file, heading) in links(&prose(&text)) {
            let target = if file.is_empty() { path.clone() } else { folder.join(file) };
            assert!(target.exists(), "{}: {file} does not exist", path.display());
            if !heading.is_empty() {
                let page = fs::read_to_string(&target).expect("links to headings lead to pages");
                assert!(
                    headings(&page).iter().any(|known| known == heading),
                    "{}: {file} has no #{heading}",
                    path.display()
                );
            }
        }
    }
}

/// A name of a test is one of five words at least; `...` stands for the rest of a long one.
fn tests_named(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches("...")).filter(|name| {
        name.matches('_').count() >= 4
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

#[test]
fn tests_that_pages_on_protocols_name_exist() {
    assert_eq!(tests_named("`a_b_c_d_...` and `region_of_it`").collect::<Vec<_>>(), ["a_b_c_d_"]);
    let texts = texts();
    let code: String = texts
        .iter()
        .filter(|(path, _)| path.starts_with(root().join("crates/protocol")))
        .map(|(_, text)| &**text)
        .collect();
    for (path, text) in texts.iter().filter(|(path, _)| path.starts_with(root().join("docs/protocols"))) {
        for name in tests_named(text) {
            assert!(code.contains(&format!("fn {name}")), "{}: there is no test {name}", path.display());
        }
    }
}

/// The word after each occurrence of a text.
fn words_behind<'a>(page: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let ends = |letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter);
    page.split(text).skip(1).filter_map(move |rest| rest.split(ends).next()).filter(|word| !word.is_empty())
}

/// Commands of `cohesim` itself are tested by `crates/cli`.
#[test]
fn tasks_and_examples_that_pages_name_exist() {
    assert_eq!(words_behind("run `cargo xtask soak`.", "cargo xtask ").collect::<Vec<_>>(), ["soak"]);
    let tasks = fs::read_to_string(root().join("xtask/src/main.rs")).expect("xtask has a main file");
    let crates = || fs::read_dir(root().join("crates")).expect("there are crates").flatten();
    for (path, text) in pages() {
        for task in words_behind(&text, "cargo xtask ").filter(|task| *task != "TASK") {
            assert!(tasks.contains(&format!("\"{task}\"")), "{}: xtask has no task {task}", path.display());
        }
        for example in words_behind(&text, " --example ") {
            let file = format!("examples/{example}.rs");
            assert!(crates().any(|entry| entry.path().join(&file).exists()), "{}: no crate has {file}", path.display());
        }
    }
}

#[test]
fn the_book_has_every_page_of_docs() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("the book has a table of contents");
    let listed: Vec<PathBuf> = links(&summary).map(|(page, _)| docs.join(page)).collect();
    let listed_once: BTreeSet<PathBuf> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), listed_once.len(), "docs/SUMMARY.md lists a page twice: {listed:?}");
    let written = pages().map(|(path, _)| path).filter(|path| path.starts_with(&docs));
    let written: BTreeSet<PathBuf> = written.filter(|path| !path.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed_once, written, "left: in docs/SUMMARY.md, right: in docs/");
}

/// mdBook takes each link to a page for one to a chapter. `docs/` and the built `book/` lie beside each other, so links to folders and to
/// files of other kinds lead to them from both.
#[test]
fn pages_of_the_book_link_to_no_page_outside_it() {
    let docs = root().join("docs");
    let pages: Vec<_> = pages().filter(|(path, _)| path.starts_with(&docs)).collect();
    assert!(pages.len() > 20, "{} pages", pages.len());
    for (path, text) in pages {
        let depth = path.strip_prefix(&docs).expect("it lies there").components().count();
        for (file, _) in links(&prose(&text)) {
            let outside = file.matches("../").count() >= depth;
            assert!(!(outside && file.ends_with(".md")), "{}: link to the folder of {file} instead", path.display());
        }
    }
}

#[test]
fn every_crate_has_a_readme_and_the_first_pages_are_short() {
    for entry in fs::read_dir(root().join("crates")).expect("there are crates") {
        let readme = entry.expect("they can be listed").path().join("README.md");
        assert!(readme.exists(), "{} is missing", readme.display());
    }
    for (page, most) in [("README.md", 900), ("ARCHITECTURE.md", 2500)] {
        let words = fs::read_to_string(root().join(page)).expect("the page is there").split_whitespace().count();
        assert!(words < most, "{page} has {words} words, and should have fewer than {most}");
    }
}
