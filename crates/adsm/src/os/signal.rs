//! Page protection and SIGSEGV.
//!
//! The handler serves the fault where it happened. The access came from the program's own code, never from inside this
//! library (which uses aliases), so the thread holds none of our locks, and the handler blocks every other signal. Nor
//! did it come from inside malloc, whose memory is never shared, so device drivers may allocate while they serve it.
//! The fault is served on a stack of our own (`stack`), so the program's stack may be small, and an alternative signal
//! stack is used where there is one. Faults outside shared objects go to the previous handler, or end the process as
//! they would have without this library.

use super::{Access, FaultEngine, Part, Protection, stack};
use crate::memory::{self, Served};
use std::{
    cell::UnsafeCell,
    io, mem, ptr,
    sync::{Mutex, PoisonError},
};

/// The engine. There is one handler, however many engines are created.
pub struct Mprotect(());

/// The handler that was installed before ours.
struct Before(UnsafeCell<mem::MaybeUninit<libc::sigaction>>);

// SAFETY: written under `INSTALLING` before the handler that reads it can run, and again only when another handler has
// replaced ours.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(mem::MaybeUninit::zeroed()));
static INSTALLING: Mutex<()> = Mutex::new(());

impl Mprotect {
    /// Installs the handler, once.
    pub fn install() -> io::Result<Self> {
        stack::prepare()?;
        put_in_front()?;
        Ok(Self(()))
    }
}

/// Installs our handler in front of the current one, which is remembered.
fn put_in_front() -> io::Result<()> {
    let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: plain queries and changes of the process's signal table; `ours` is fully set.
    unsafe {
        let mut now: libc::sigaction = mem::zeroed();
        if libc::sigaction(libc::SIGSEGV, ptr::null(), &mut now) != 0 {
            return Err(io::Error::last_os_error());
        }
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        if now.sa_sigaction == handler as *const () as usize {
            return Ok(());
        }
        (*BEFORE.0.get()).write(now);
        let mut ours: libc::sigaction = mem::zeroed();
        ours.sa_sigaction = handler as *const () as usize;
        // Uses the thread's alternative stack if it has one: the previous handler may exist to handle stack overflows.
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigfillset(&mut ours.sa_mask);
        if libc::sigaction(libc::SIGSEGV, &ours, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

impl FaultEngine for Mprotect {
    fn name(&self) -> &'static str {
        "mprotect"
    }

    fn attach(&self, _: Part) -> io::Result<()> {
        Ok(())
    }

    fn detach(&self, _: Part) {}

    fn protect(&self, part: Part, from: Protection, to: Protection) -> io::Result<()> {
        if from == to {
            return Ok(());
        }
        let flags = match to {
            Protection::Closed => libc::PROT_NONE,
            Protection::ReadOnly => libc::PROT_READ,
            Protection::Open => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: a part of a view that this library has mapped.
        if unsafe { libc::mprotect(part.view as *mut libc::c_void, part.len, flags) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    fn serves_system_calls(&self) -> bool {
        false
    }

    fn likes_huge_pages(&self) -> bool {
        true
    }

    fn refresh(&self) -> io::Result<()> {
        put_in_front()
    }
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of this thread's own errno, which is saved for the interrupted code.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel hands a valid siginfo to a handler with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    let mut fault = Fault { address, access: access_of(context), served: Served::NotOurs };
    // SAFETY: prepared before the handler was installed; what `serve` accepts.
    unsafe { stack::call(serve, (&raw mut fault).cast()) };
    match fault.served {
        Served::Yes => {
            // SAFETY: as above.
            unsafe { *libc::__errno_location() = errno };
        }
        Served::NotOurs | Served::Failed => pass_on(signal, info, context),
    }
}

struct Fault {
    address: usize,
    access: Option<Access>,
    served: Served,
}

extern "C" fn serve(fault: *mut libc::c_void) {
    // SAFETY: what `on_fault` gave.
    let fault = unsafe { &mut *fault.cast::<Fault>() };
    fault.served = memory::fault(fault.address, fault.access);
}

/// The kind of the access that faulted. `None` where the machine does not report it.
fn access_of(context: *mut libc::c_void) -> Option<Access> {
    #[cfg(target_arch = "x86_64")]
    {
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the kernel hands a valid context to a handler with SA_SIGINFO. Bit 1 of the error code: a write.
        let error = unsafe { (*context).uc_mcontext.gregs[libc::REG_ERR as usize] };
        Some(if error & 2 == 0 { Access::Load } else { Access::Store })
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = context;
        None
    }
}

/// Calls the previous handler. Without one, the fault is repeated and ends the process as it would have without this
/// library.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: set before our handler was installed.
    let before = unsafe { (*BEFORE.0.get()).assume_init() };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the default disposition for a signal that exists.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: registered with SA_SIGINFO, so it has this type.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: registered without SA_SIGINFO, so it has this type.
            let handler: extern "C" fn(i32) = unsafe { mem::transmute(handler) };
            handler(signal);
        }
    }
}
