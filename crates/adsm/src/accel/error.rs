//! The errors of a device.

/// An error of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    #[error("{device} has not enough memory for {asked} bytes{}", free.map(|f| format!(" ({f} are free)")).unwrap_or_default())]
    OutOfMemory { device: String, asked: usize, free: Option<u64> },
    #[error(
        "{device} is lost: {why}; data that only this device held is gone; salvage() restores the CPU's latest copies"
    )]
    Lost { device: String, why: String },
    #[error("{device}: {what} failed: {why}")]
    Failed { device: String, what: &'static str, why: String },
    #[error("{device} can't be used: {why}")]
    Unavailable { device: String, why: String },
    #[error("kernel '{kernel}' has no {wanted} code, which {device} needs")]
    NoCode { device: String, kernel: String, wanted: &'static str },
}
