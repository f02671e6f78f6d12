//! The information that a handler gets about a signal (`siginfo_t`).

use super::Signal;
use crate::state::state;

/// A pending signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SigInfo {
    pub signal: Signal,
    pub code: i32,
    pub detail: Detail,
}

state!(struct SigInfo { signal, code, detail });

/// Details that accompany a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    None,
    /// The address of the access or instruction that failed.
    Fault {
        address: u64,
    },
    /// The sender, and a value it passed.
    Sender {
        pid: u32,
        uid: u32,
        value: u64,
    },
}

state!(enum Detail { 0 None, 1 Fault { address }, 2 Sender { pid, uid, value } });

impl SigInfo {
    pub const SI_USER: i32 = 0;
    pub const SI_KERNEL: i32 = 0x80;
    pub const SI_TKILL: i32 = -6;
    /// The code of a SIGBUS for a misaligned access.
    pub const BUS_ALIGNMENT: i32 = 1;

    pub fn from_kernel(signal: Signal) -> SigInfo {
        SigInfo { signal, code: SigInfo::SI_KERNEL, detail: Detail::None }
    }

    /// Encodes a `siginfo_t`.
    pub fn bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        bytes[0..4].copy_from_slice(&u32::from(self.signal.0).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.code.to_le_bytes());
        match self.detail {
            Detail::None => {}
            Detail::Fault { address } => bytes[16..24].copy_from_slice(&address.to_le_bytes()),
            Detail::Sender { pid, uid, value } => {
                bytes[16..20].copy_from_slice(&pid.to_le_bytes());
                bytes[20..24].copy_from_slice(&uid.to_le_bytes());
                bytes[24..32].copy_from_slice(&value.to_le_bytes());
            }
        }
        bytes
    }
}
