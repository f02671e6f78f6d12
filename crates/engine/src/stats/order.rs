//! The order of statistics by path.
//!
//! Sorting thousands of long paths that begin alike takes longer than building a machine. So names are sorted as the
//! tree that they are: only the labels below one parent are compared with each other. A label with a character before
//! the dot (`-`, `+`) or with a dot in it can lie elsewhere in the order of whole paths; a sort of the nearly sorted
//! paths, which takes one comparison for each, puts such labels right.

use super::path::Path;
use crate::name::{Name, Names};
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

struct Node {
    name: Name,
    /// The child added last, and the child of the same parent added before this one.
    child: u32,
    sibling: u32,
    /// The entries of this name: the last one added.
    entry: u32,
}

struct Tree<'a> {
    names: &'a Names,
    nodes: Vec<Node>,
    known: FxHashMap<Name, u32>,
    /// For each entry, the one of the same name before it.
    before: Vec<u32>,
    /// The children of the nodes being visited: where the label of each begins and ends in `labels`, and its node.
    children: Vec<(usize, usize, u32)>,
    labels: String,
    /// The path of the node being visited.
    path: String,
    sorted: Vec<(Path, usize)>,
}

/// The paths of `names` in their order, each with its index in `of`. Equal names stay in their order.
pub(super) fn by_path(names: &Names, of: impl ExactSizeIterator<Item = Name>) -> Vec<(Path, usize)> {
    let mut tree = Tree {
        names,
        nodes: vec![Node { name: Name::ROOT, child: NONE, sibling: NONE, entry: NONE }],
        known: FxHashMap::default(),
        before: Vec::with_capacity(of.len()),
        children: Vec::new(),
        labels: String::new(),
        path: String::new(),
        sorted: Vec::with_capacity(of.len()),
    };
    tree.known.reserve(of.len());
    for (entry, name) in of.enumerate() {
        let node = tree.node(name) as usize;
        tree.before.push(std::mem::replace(&mut tree.nodes[node].entry, entry as u32));
    }
    tree.visit(0);
    let mut sorted = tree.sorted;
    // Stable.
    sorted.sort_by(|(path, _), (other, _)| path.cmp(other));
    sorted
}

impl Tree<'_> {
    fn node(&mut self, name: Name) -> u32 {
        if name == Name::ROOT {
            return 0;
        }
        if let Some(node) = self.known.get(&name) {
            return *node;
        }
        let parent = self.node(self.names.parent(name)) as usize;
        let node = self.nodes.len() as u32;
        let sibling = std::mem::replace(&mut self.nodes[parent].child, node);
        self.nodes.push(Node { name, child: NONE, sibling, entry: NONE });
        self.known.insert(name, node);
        node
    }

    /// Adds the entries of a node, whose path is in `path`, and of everything below it.
    fn visit(&mut self, node: u32) {
        let Node { mut entry, mut child, .. } = self.nodes[node as usize];
        let first = self.sorted.len();
        while entry != NONE {
            self.sorted.push((self.path.as_str().into(), entry as usize));
            entry = self.before[entry as usize];
        }
        self.sorted[first..].reverse();
        if child == NONE {
            return;
        }
        let (start, end, first) = (self.labels.len(), self.path.len(), self.children.len());
        while child != NONE {
            let Node { name, sibling, .. } = self.nodes[child as usize];
            let from = self.labels.len();
            self.names.write_label(name, &mut self.labels);
            self.children.push((from, self.labels.len(), child));
            child = sibling;
        }
        let labels = &self.labels;
        // The number makes the order of children with one label definite, too.
        self.children[first..].sort_unstable_by(|(from, to, child), (other_from, other_to, other)| {
            labels[*from..*to].cmp(&labels[*other_from..*other_to]).then(child.cmp(other))
        });
        for at in first..self.children.len() {
            let (from, to, child) = self.children[at];
            if end > 0 {
                self.path.push('.');
            }
            self.path.push_str(&self.labels[from..to]);
            self.visit(child);
            self.path.truncate(end);
        }
        self.children.truncate(first);
        self.labels.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_whole_paths() {
        let mut names = Names::new();
        let mut all = vec![Name::ROOT];
        for (parent, text, index) in [
            (0, "gpu", 10),
            (0, "gpu", 9),
            (0, "gp", 1),
            (1, "l1", usize::MAX),
            (1, "l1", 2),
            (1, "l1-x", usize::MAX),
            (1, "l1.b", usize::MAX),
            (4, "reads", usize::MAX),
            (4, "b", 7),
            (2, "reads", usize::MAX),
            (4, "reads", usize::MAX),
            (5, "a", 3),
        ] {
            let label = if index == usize::MAX { text.into() } else { (text, index).into() };
            let name = names.name(all[parent], label);
            all.push(name);
        }
        let mut expected: Vec<(Path, usize)> =
            all.iter().enumerate().map(|(at, name)| (names.path(*name).into(), at)).collect();
        expected.sort();
        assert_eq!(by_path(&names, all.iter().copied()), expected);
    }
}
