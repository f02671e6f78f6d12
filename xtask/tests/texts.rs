//! What the texts of the workspace promise: sources are cited by keys that `docs/papers.md` has, links lead to files,
//! every crate has a README, and the two pages that visitors read first stay short.

use std::{
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
                if !name.starts_with('.') && name != "target" && name != "shared" {
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

/// The targets of a page's links to other files of the workspace.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', '#', ' ']).next()?;
        (!target.is_empty() && !target.contains("://")).then_some(target)
    })
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
fn links_between_pages_lead_to_files() {
    assert_eq!(links("[a](b.md#c) [d](https://e.f) [g](#h)").collect::<Vec<_>>(), ["b.md"]);
    for (path, text) in texts() {
        if path.extension().is_some_and(|extension| extension == "md") {
            let folder = path.parent().expect("a page lies in a folder");
            for link in links(&text) {
                assert!(folder.join(link).exists(), "{}: {link} does not exist", path.display());
            }
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
