//! The C interface (`include/adsm.h`): one runtime for the process, made at the first call.

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

/// The number of an error in the header.
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

/// Notes an error for `adsm_error`, and answers with its number.
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

/// The same for what is or is not there.
fn give<T>(result: Result<*mut T>) -> *mut T {
    result.unwrap_or_else(|error| {
        tell(Err(error));
        std::ptr::null_mut()
    })
}

/// What went wrong in the last call of this thread that failed.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ref().map_or(c"".as_ptr(), |text| text.as_ptr()))
}

/// Finds devices and settings.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_init() -> c_int {
    tell(runtime().map(drop))
}

/// Waits for every kernel so far.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_sync() -> c_int {
    tell(runtime().and_then(Runtime::sync))
}

/// How many devices there are; -1 if none can be used.
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

/// From now on, kernels go where this says, in the words of `ADSM_SCHEDULE`.
///
/// # Safety
/// `policy` must be null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_schedule(policy: *const c_char) -> c_int {
    tell(runtime().and_then(|runtime| {
        // SAFETY: the caller's word.
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
        // SAFETY: the caller's word.
        unsafe { totals.write(runtime.stats()) }
    }))
}
