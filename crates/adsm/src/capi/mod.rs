//! The C interface (`include/adsm.h`): one runtime for the process, created at the first call.

mod io;
mod kernel;
mod object;

use crate::{Error, Result, Runtime, Stats};
pub(crate) use io::register as register_io;
use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_int},
    sync::OnceLock,
};

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

/// The process's runtime.
fn runtime() -> Result<&'static Runtime> {
    let made = RUNTIME.get_or_init(|| {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        // The runtime is never dropped, so its trace is written when the program ends.
        // SAFETY: a function without arguments, as atexit asks.
        unsafe { libc::atexit(write_trace) };
        Ok(runtime)
    });
    made.as_ref().map_err(|why| Error::NoRuntime { why: why.clone() })
}

extern "C" fn write_trace() {
    if let Some(Ok(runtime)) = RUNTIME.get() {
        runtime.write_trace();
    }
}

/// The error code in the header.
fn number(error: &Error) -> c_int {
    match error {
        Error::Device(_) | Error::NoRuntime { .. } => 1,
        Error::System { .. } => 2,
        Error::Foreign { .. } | Error::Inside { .. } => 3,
        Error::InFlight { .. } => 4,
        Error::Size { .. }
        | Error::Bounds { .. }
        | Error::Setting { .. }
        | Error::Protocol { .. }
        | Error::Argument { .. } => 5,
        Error::NoOnePointer { .. } | Error::TwoDevices { .. } => 6,
        Error::Forked => 7,
    }
}

/// Stores an error for `adsm_error`, and returns its code.
fn tell(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            let text = CString::new(error.to_string()).unwrap_or_default();
            LAST.with(|last| *last.borrow_mut() = Some(text));
            number(&error)
        }
    }
}

/// Variant of `tell` for functions that return a pointer, null on error.
fn give<T>(result: Result<*mut T>) -> *mut T {
    result.unwrap_or_else(|error| {
        tell(Err(error));
        std::ptr::null_mut()
    })
}

/// The message of the last failed call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ref().map_or(c"".as_ptr(), |text| text.as_ptr()))
}

/// Creates the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_init() -> c_int {
    tell(runtime().map(drop))
}

/// Waits for all kernels so far.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_sync() -> c_int {
    tell(runtime().and_then(Runtime::sync))
}

/// Number of devices; -1 if none can be used.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_devices() -> c_int {
    runtime().map_or_else(
        |error| {
            tell(Err(error));
            -1
        },
        |runtime| runtime.devices() as c_int,
    )
}

/// Sets the scheduling policy of later kernels, in the syntax of `ADSM_SCHEDULE`.
///
/// # Safety
/// `policy` must be null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_schedule(policy: *const c_char) -> c_int {
    tell(runtime().and_then(|runtime| {
        // SAFETY: guaranteed by the caller.
        let value = unsafe { kernel::text(policy) }?;
        let schedule = value.parse().map_err(|expected| {
            let variable = "schedule".to_owned();
            Error::Setting { variable, value: value.clone(), expected }
        })?;
        runtime.set_schedule(schedule)
    }))
}

/// Totals since the start.
///
/// # Safety
/// `totals` must point to an `adsm_totals`, whose fields are those of [`Stats`] in order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_stats(totals: *mut Stats) -> c_int {
    tell(runtime().map(|runtime| {
        // SAFETY: guaranteed by the caller.
        unsafe { totals.write(runtime.stats()) }
    }))
}
