//! Settings: in code, or at load time by `ADSM_*` variables.

use crate::{
    error::{Error, Result},
    os::page_size,
};
use std::{fmt, path::PathBuf, str::FromStr};

/// How host and accelerator are kept alike (`[gmac 4.3]`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Everything goes over on a call and comes back on a return.
    Batch,
    /// Objects move when they were modified, or are touched.
    Lazy,
    /// Blocks do, and the oldest modified ones go over early.
    #[default]
    Rolling,
}

/// Which device gets an object when the program does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The first device.
    #[default]
    First,
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest bytes in objects.
    LeastFilled,
}

/// Which device runs a kernel when the program does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The one that misses the fewest bytes of what the kernel uses.
    #[default]
    Affinity,
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest kernels that have not ended.
    LeastLoaded,
    /// Always this one.
    Fixed(usize),
}

/// Who tells that a closed page was touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// Page protection and SIGSEGV.
    #[default]
    Mprotect,
    /// userfaultfd, so that system calls on shared objects are served.
    Userfaultfd,
    /// The userfaultfd that any user may have: system calls are not served.
    UserfaultfdUserOnly,
}

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `ADSM_PROTOCOL=batch|lazy|rolling`.
    pub protocol: Protocol,
    /// `ADSM_BLOCK=64K`: bytes of a block, a multiple of the page size (rolling).
    pub block: usize,
    /// `ADSM_ROLLING=8`: how many runs of blocks may be dirty; 0 for the paper's rule, 2 more with each object.
    pub rolling: usize,
    /// `ADSM_AHEAD=4M`: how many bytes at most are opened at once when faults follow each other; 0 for a block a time.
    pub ahead: usize,
    /// `ADSM_READ_BACK=8M`: how many bytes at most are fetched after a call before the program asks, where it looked at them after
    /// the last few calls, or is going through them; 0 for none.
    pub read_back: usize,
    /// `ADSM_PLACE=first|round-robin|least-filled`.
    pub placement: Placement,
    /// `ADSM_SCHEDULE=affinity|round-robin|least-loaded`, or a device's number.
    pub schedule: Schedule,
    /// `ADSM_FAULTS=mprotect|userfaultfd|userfaultfd-user`.
    pub faults: Faults,
    /// `ADSM_TRACE=FILE`: writes a trace for Perfetto.
    pub trace: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            protocol: Protocol::Rolling,
            block: 64 << 10,
            rolling: 0,
            ahead: 4 << 20,
            read_back: 8 << 20,
            placement: Placement::First,
            schedule: Schedule::Affinity,
            faults: Faults::Mprotect,
            trace: None,
        }
    }
}

impl Config {
    /// The defaults, changed by the `ADSM_*` variables of the process.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The defaults, changed by what `get` knows of the `ADSM_*` variables.
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let mut config = Self::default();
        set(&get, "ADSM_PROTOCOL", &mut config.protocol)?;
        set(&get, "ADSM_FAULTS", &mut config.faults)?;
        set(&get, "ADSM_PLACE", &mut config.placement)?;
        set(&get, "ADSM_SCHEDULE", &mut config.schedule)?;
        for (variable, value) in [
            ("ADSM_BLOCK", &mut config.block),
            ("ADSM_ROLLING", &mut config.rolling),
            ("ADSM_AHEAD", &mut config.ahead),
            ("ADSM_READ_BACK", &mut config.read_back),
        ] {
            let mut size = Size(*value);
            set(&get, variable, &mut size)?;
            *value = size.0;
        }
        config.trace = get("ADSM_TRACE").filter(|file| !file.is_empty()).map(PathBuf::from);
        config.checked()
    }

    /// The same, if it makes sense.
    pub fn checked(self) -> Result<Self> {
        let page = page_size();
        if self.block == 0 || !self.block.is_multiple_of(page) {
            return Err(Error::Setting {
                variable: "ADSM_BLOCK".to_owned(),
                value: self.block.to_string(),
                expected: format!("a block is a multiple of the page size, {page} bytes"),
            });
        }
        Ok(self)
    }
}

/// Changes `value` to what the variable says, if it is set.
fn set<T: FromStr<Err = String>>(get: impl Fn(&str) -> Option<String>, variable: &str, value: &mut T) -> Result<()> {
    if let Some(text) = get(variable) {
        *value =
            text.parse().map_err(|expected| Error::Setting { variable: variable.to_owned(), value: text, expected })?;
    }
    Ok(())
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "batch" => Ok(Self::Batch),
            "lazy" => Ok(Self::Lazy),
            "rolling" => Ok(Self::Rolling),
            _ => Err("one of batch, lazy, rolling".to_owned()),
        }
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "first" => Ok(Self::First),
            "round-robin" => Ok(Self::RoundRobin),
            "least-filled" => Ok(Self::LeastFilled),
            _ => Err("one of first, round-robin, least-filled".to_owned()),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("affinity", _) => Ok(Self::Affinity),
            ("round-robin", _) => Ok(Self::RoundRobin),
            ("least-loaded", _) => Ok(Self::LeastLoaded),
            (_, Ok(device)) => Ok(Self::Fixed(device)),
            _ => Err("one of affinity, round-robin, least-loaded, or a device's number".to_owned()),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Batch => "batch",
            Self::Lazy => "lazy",
            Self::Rolling => "rolling",
        })
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mprotect" => Ok(Self::Mprotect),
            "userfaultfd" => Ok(Self::Userfaultfd),
            "userfaultfd-user" => Ok(Self::UserfaultfdUserOnly),
            _ => Err("one of mprotect, userfaultfd, userfaultfd-user".to_owned()),
        }
    }
}

/// A number with an optional K, M or G (of 1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub usize);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, shift) = match text.as_bytes().last() {
            Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
            Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
            Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        let number: usize = digits.parse().map_err(|_| "a number, with K, M or G if you like".to_owned())?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(|| "a number that fits in 64 bits".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variable: &str, value: &str) -> Result<Config> {
        Config::from_variables(|name| (name == variable).then(|| value.to_owned()))
    }

    #[test]
    fn variables_change_the_defaults() {
        assert_eq!(with("ADSM_PROTOCOL", "lazy").unwrap().protocol, Protocol::Lazy);
        assert_eq!(with("ADSM_BLOCK", "64K").unwrap().block, 65536);
        assert_eq!(with("ADSM_AHEAD", "0").unwrap().ahead, 0);
        assert_eq!(with("ADSM_READ_BACK", "1M").unwrap().read_back, 1 << 20);
        assert_eq!(with("ADSM_SCHEDULE", "2").unwrap().schedule, Schedule::Fixed(2));
        assert_eq!(with("ADSM_PLACE", "round-robin").unwrap().placement, Placement::RoundRobin);
        assert_eq!(with("ADSM_TRACE", "t.json").unwrap().trace.unwrap().to_str(), Some("t.json"));
    }

    #[test]
    fn a_setting_that_makes_no_sense_is_refused_by_name() {
        let told = with("ADSM_PROTOCOL", "eager").unwrap_err().to_string();
        assert_eq!(told, "ADSM_PROTOCOL=eager makes no sense: one of batch, lazy, rolling");
        let told = with("ADSM_BLOCK", "1000").unwrap_err().to_string();
        assert!(told.contains("a multiple of the page size"), "{told}");
        assert!(with("ADSM_BLOCK", "99999999999999999999G").is_err());
        assert!(with("ADSM_SCHEDULE", "fastest").is_err());
    }
}
