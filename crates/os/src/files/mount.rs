//! Folders that the user makes visible to the guest: `HOST[:GUEST][:rw]`.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    str::FromStr,
};
use thiserror::Error;

/// A folder of the host, and where the guest sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub host: PathBuf,
    /// An absolute path; by default the folder's path on the host.
    pub guest: Option<PathBuf>,
    pub writable: bool,
}

/// Why a folder can't be mounted.
#[derive(Debug, Error)]
pub enum MountError {
    #[error("'{0}' names no folder: write HOST[:GUEST][:rw]")]
    Empty(String),
    #[error("'{0}' is not an absolute path: the guest's path begins with /")]
    NotAbsolute(String),
    #[error("'{0}' has more parts than HOST:GUEST:rw")]
    TooMany(String),
    #[error("the folder '{path}' can't be shown to the guest: {error}")]
    Unusable { path: String, error: std::io::Error },
}

impl FromStr for Mount {
    type Err = MountError;

    fn from_str(text: &str) -> Result<Mount, MountError> {
        Mount::parse(OsStr::new(text))
    }
}

impl Mount {
    /// Parses a `--mount` argument; names of folders need not be UTF-8.
    pub fn parse(text: &OsStr) -> Result<Mount, MountError> {
        let mut parts: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b':').collect();
        let writable = match parts.last() {
            Some(&b"rw") if parts.len() > 1 => parts.pop().is_some(),
            Some(&b"ro") if parts.len() > 1 => parts.pop().is_none(),
            _ => false,
        };
        let shown = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let (host, guest) = match parts[..] {
            [b""] | [b"", _] => return Err(MountError::Empty(shown(text.as_bytes()))),
            [host] => (host, None),
            [host, guest] => (host, Some(guest)),
            _ => return Err(MountError::TooMany(shown(text.as_bytes()))),
        };
        if let Some(guest) = guest
            && !guest.starts_with(b"/")
        {
            return Err(MountError::NotAbsolute(shown(guest)));
        }
        let path = |part: &[u8]| Path::new(OsStr::from_bytes(part)).to_owned();
        Ok(Mount { host: path(host), guest: guest.map(path), writable })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_only_and_in_its_own_place_unless_said_otherwise() {
        let mount = |text: &str| text.parse::<Mount>().unwrap();
        assert_eq!(mount("data"), Mount { host: "data".into(), guest: None, writable: false });
        assert_eq!(mount("data:rw"), Mount { host: "data".into(), guest: None, writable: true });
        assert_eq!(mount("data:ro"), Mount { host: "data".into(), guest: None, writable: false });
        let odd = Mount::parse(OsStr::from_bytes(b"\xff:/\xfe")).unwrap();
        assert_eq!(odd.host.as_os_str().as_bytes(), b"\xff");
        assert_eq!(odd.guest.unwrap().as_os_str().as_bytes(), b"/\xfe");
        assert_eq!(mount("a:/b:rw"), Mount { host: "a".into(), guest: Some("/b".into()), writable: true });
    }

    #[test]
    fn a_wrong_mount_says_what_is_wrong() {
        let error = |text: &str| text.parse::<Mount>().unwrap_err().to_string();
        assert!(error("a:b").contains("'b' is not an absolute path"));
        assert!(error("").contains("names no folder"));
        assert!(error("a:/b:/c:rw").contains("more parts"));
    }
}
