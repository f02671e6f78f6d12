//! The path of a statistic.
//!
//! A run has thousands of statistics, and each region has its own map of them. Paths are shared between these maps, so
//! that copying or adding up regions copies no text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Borrow, fmt, ops::Deref, sync::Arc};

/// The path of a statistic: `gpu0.array3.cu1.wavefronts`. Clones share the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Arc<str>);

impl Deref for Path {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Path {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Path {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Path {
    fn from(path: &str) -> Path {
        Path(path.into())
    }
}

impl From<String> for Path {
    fn from(path: String) -> Path {
        Path(path.into())
    }
}

impl From<Path> for String {
    fn from(path: Path) -> String {
        path.as_str().to_owned()
    }
}

impl Path {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Path {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Path {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Path, D::Error> {
        String::deserialize(from).map(Path::from)
    }
}
