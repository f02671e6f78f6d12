//! Linux error numbers.

use crate::{Fault, memory::MapError};
use std::fmt;

macro_rules! errors {
    ($($name:ident = $number:literal)*) => {
        /// An error that a system call returns.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct Errno(pub u16);

        impl Errno {
            $(pub const $name: Errno = Errno($number);)*
        }

        impl fmt::Debug for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($number => write!(f, stringify!($name)),)*
                    other => write!(f, "errno {other}"),
                }
            }
        }
    };
}

errors! {
    EPERM = 1 ENOENT = 2 ESRCH = 3 EINTR = 4 EIO = 5 ENXIO = 6 E2BIG = 7 EBADF = 9 ECHILD = 10 EAGAIN = 11 ENOMEM = 12
    EACCES = 13 EFAULT = 14 EBUSY = 16 EEXIST = 17 EXDEV = 18 ENODEV = 19 ENOTDIR = 20 EISDIR = 21 EINVAL = 22 EMFILE = 24
    ENOTTY = 25 EFBIG = 27 ENOSPC = 28 ESPIPE = 29 EROFS = 30 EPIPE = 32 ERANGE = 34 EDEADLK = 35 ENAMETOOLONG = 36
    ENOSYS = 38 ENOTEMPTY = 39 ELOOP = 40 EOPNOTSUPP = 95 ETIMEDOUT = 110
}

impl Errno {
    /// The value that a failed system call returns in rax.
    pub fn to_rax(self) -> u64 {
        -i64::from(self.0) as u64
    }
}

impl From<Fault> for Errno {
    fn from(_: Fault) -> Errno {
        Errno::EFAULT
    }
}

impl From<MapError> for Errno {
    fn from(error: MapError) -> Errno {
        match error {
            MapError::Invalid => Errno::EINVAL,
            MapError::NoMemory => Errno::ENOMEM,
            MapError::Exists => Errno::EEXIST,
        }
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        Errno(error.raw_os_error() as u16)
    }
}

impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Errno {
        error.raw_os_error().map_or(Errno::EIO, |number| Errno(number as u16))
    }
}
