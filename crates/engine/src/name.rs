//! Hierarchical names in a compact form.
//!
//! `gpu0.array3.cu1.l1v` is a chain of families and indices: `cu` under `array3` is one family, whose members differ
//! only in their index. A name is two words, so a million contexts can have one. Its text is built only when it is
//! printed.

use rustc_hash::{FxBuildHasher, FxHashMap};
use std::{hash::BuildHasher, ops::Range};

const NO_INDEX: u32 = u32::MAX;

/// The name of an element under its parent: `"l1v"`, or `("cu", 1)` for one of several.
#[derive(Clone, Copy, Debug)]
pub struct Label<'a> {
    text: &'a str,
    index: u32,
}

impl<'a> From<&'a str> for Label<'a> {
    fn from(text: &'a str) -> Label<'a> {
        Label { text, index: NO_INDEX }
    }
}

impl<'a> From<&'a String> for Label<'a> {
    fn from(text: &'a String) -> Label<'a> {
        Label::from(text.as_str())
    }
}

impl<'a> From<(&'a str, usize)> for Label<'a> {
    fn from((text, index): (&'a str, usize)) -> Label<'a> {
        let index = u32::try_from(index).ok().filter(|index| *index != NO_INDEX);
        Label { text, index: index.expect("an index in a name is smaller than 2^32 - 1") }
    }
}

/// A name within one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) family: u32,
    pub(crate) index: u32,
}

impl Name {
    /// The root of the tree of names: its path is empty.
    pub(crate) const ROOT: Name = Name { family: 0, index: NO_INDEX };
}

/// The names of one partition.
pub(crate) struct Names {
    /// The parent of each family, and where its text is in `texts`.
    families: Vec<(Name, Range<u32>)>,
    texts: String,
    /// The families by the hash of parent and text; one whose hash is taken has the next free number after it. Only used
    /// for look-ups, never iterated, so its order does not matter.
    known: FxHashMap<u64, u32>,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names { families: vec![(Name::ROOT, 0..0)], texts: String::new(), known: FxHashMap::default() }
    }

    pub(crate) fn name(&mut self, parent: Name, label: Label<'_>) -> Name {
        let mut key = FxBuildHasher.hash_one((parent, label.text));
        let family = loop {
            let new = self.families.len() as u32;
            let family = *self.known.entry(key).or_insert(new);
            if family == new {
                let start = self.texts.len() as u32;
                self.texts.push_str(label.text);
                self.families.push((parent, start..self.texts.len() as u32));
                break family;
            }
            if self.family(family) == (parent, label.text) {
                break family;
            }
            key = key.wrapping_add(1);
        };
        Name { family, index: label.index }
    }

    /// The parent of a family, and its text.
    fn family(&self, family: u32) -> (Name, &str) {
        let (parent, text) = &self.families[family as usize];
        (*parent, &self.texts[text.start as usize..text.end as usize])
    }

    /// The name above a name that is not the root.
    pub(crate) fn parent(&self, name: Name) -> Name {
        self.families[name.family as usize].0
    }

    /// Appends the last part of the path of a name.
    pub(crate) fn write_label(&self, name: Name, to: &mut String) {
        to.push_str(self.family(name.family).1);
        if name.index != NO_INDEX {
            push_number(to, name.index);
        }
    }

    pub(crate) fn path(&self, name: Name) -> String {
        let mut path = String::with_capacity(64);
        self.write(name, &mut path);
        path
    }

    fn write(&self, name: Name, path: &mut String) {
        if name == Name::ROOT {
            return;
        }
        self.write(self.parent(name), path);
        if !path.is_empty() {
            path.push('.');
        }
        self.write_label(name, path);
    }
}

/// Appends a number in decimal. Avoids the formatting machinery, which would cost more than the rest of a path.
fn push_number(path: &mut String, number: u32) {
    if number >= 10 {
        push_number(path, number / 10);
    }
    path.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_chain_of_labels() {
        let mut names = Names::new();
        let gpu = names.name(Name::ROOT, ("gpu", 0).into());
        let cu = names.name(gpu, ("cu", 12).into());
        let cache = names.name(cu, "l1v".into());
        assert_eq!(names.path(cache), "gpu0.cu12.l1v");
        assert_eq!(names.path(Name { index: NO_INDEX - 1, ..cu }), format!("gpu0.cu{}", NO_INDEX - 1));
        assert_eq!(names.path(Name::ROOT), "");
    }

    #[test]
    fn the_same_label_under_the_same_parent_is_the_same_name() {
        let mut names = Names::new();
        let a = names.name(Name::ROOT, ("cu", 1).into());
        let b = names.name(Name::ROOT, ("cu", 1).into());
        let c = names.name(Name::ROOT, ("cu", 2).into());
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert_eq!(a.family, c.family);
    }
}
