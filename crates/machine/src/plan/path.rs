//! Names of elements.

use engine::Scope;

/// Names from the root to an element; some have an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<(&'static str, Option<usize>)>);

impl Path {
    pub fn to(name: &'static str) -> Self {
        Self(vec![(name, None)])
    }

    /// The path of one of several elements, given by its index.
    pub fn to_one(name: &'static str, number: usize) -> Self {
        Self(vec![(name, Some(number))])
    }

    pub fn and(mut self, name: &'static str) -> Self {
        self.0.push((name, None));
        self
    }

    pub fn and_one(mut self, name: &'static str, number: usize) -> Self {
        self.0.push((name, Some(number)));
        self
    }

    /// The scope of this path below a root.
    pub fn scope(&self, root: &Scope) -> Scope {
        self.0.iter().fold(root.clone(), |scope, (name, number)| match number {
            Some(number) => scope.scope((*name, *number)),
            None => scope.scope(*name),
        })
    }

    /// The names, with indices, from the root on.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, Option<usize>)> {
        self.0.iter().copied()
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (name, number)) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match number {
                Some(number) => write!(f, "{dot}{name}{number}")?,
                None => write!(f, "{dot}{name}")?,
            }
        }
        Ok(())
    }
}
