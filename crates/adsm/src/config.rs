//! Settings: from code, or from `ADSM_*` environment variables when the runtime is created.

use crate::{
    error::{Error, Result},
    os::page_size,
};
use std::{fmt, path::PathBuf, str::FromStr};

/// How host and accelerator are kept coherent (`[gmac 4.3]`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Transfers everything on a call and back on a return.
    Batch,
    /// Transfers whole objects when they were modified or are accessed.
    Lazy,
    /// Transfers blocks, and sends the oldest modified ones early.
    #[default]
    Rolling,
}

/// Which device is an object's home when the program does not choose one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The first device.
    #[default]
    First,
    /// All devices in turn.
    RoundRobin,
    /// The device with the fewest bytes in objects.
    LeastFilled,
}

/// Which device runs a kernel when the program does not choose one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The device that lacks the fewest bytes of what the kernel uses.
    #[default]
    Affinity,
    /// All devices in turn.
    RoundRobin,
    /// The device with the fewest unfinished kernels.
    LeastLoaded,
    /// Always this device.
    Fixed(usize),
}

/// How accesses to closed pages are detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// Page protection and SIGSEGV.
    #[default]
    Mprotect,
    /// userfaultfd, which also serves faults inside system calls.
    Userfaultfd,
    /// userfaultfd for unprivileged users, which does not serve faults inside system calls.
    UserfaultfdUserOnly,
}

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `ADSM_PROTOCOL=batch|lazy|rolling`.
    pub protocol: Protocol,
    /// `ADSM_BLOCK=64K`: size of a block in bytes, a multiple of the page size (rolling).
    pub block: usize,
    /// `ADSM_ROLLING=8`: maximum number of dirty runs of blocks; 0 for the paper's rule, two per object.
    pub rolling: usize,
    /// `ADSM_AHEAD=4M`: maximum number of bytes opened at once when faults are sequential; 0 for one block at a time.
    pub ahead: usize,
    /// `ADSM_READ_BACK=8M`: maximum number of bytes fetched after a call before the program accesses them, if it
    /// accessed them after the last few calls or is reading sequentially; 0 for none.
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

    /// The defaults, changed by the `ADSM_*` variables that `get` returns.
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

    /// Checks the settings.
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

/// Sets `value` from the variable, if it is set.
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

/// A number with an optional suffix K, M or G (powers of 1024).
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
        assert_eq!(told, "ADSM_PROTOCOL=eager is not valid: one of batch, lazy, rolling");
        let told = with("ADSM_BLOCK", "1000").unwrap_err().to_string();
        assert!(told.contains("a multiple of the page size"), "{told}");
        assert!(with("ADSM_BLOCK", "99999999999999999999G").is_err());
        assert!(with("ADSM_SCHEDULE", "fastest").is_err());
    }
}
