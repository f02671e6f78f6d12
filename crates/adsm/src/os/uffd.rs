//! userfaultfd: the kernel queues faults, and a thread of this library serves them.
//!
//! The view maps a shared file. A closed page is in the file but not in the view (a *minor* fault), a read-only page is
//! write-protected by userfaultfd, and closing is `MADV_DONTNEED` on the view. Mappings are never split. System calls
//! that access closed pages wait like other accesses, unless only faults from user mode may be served
//! (`UFFD_USER_MODE_ONLY`, the only kind for unprivileged users).

use super::{Access, FaultEngine, Part, Protection, page_size};
use crate::memory::{self, Served};
use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    sync::Arc,
    thread,
};

/// The engine: its file descriptor, the thread that reads it, and the descriptor that stops the thread.
pub struct Userfaultfd {
    file: Arc<OwnedFd>,
    stop: OwnedFd,
    server: Option<thread::JoinHandle<()>>,
    user_only: bool,
}

// Constants of linux/userfaultfd.h.
const USER_MODE_ONLY: i32 = 1;
const API: u64 = 0xAA;
const FEATURES: u64 = 1 << 0 | 1 << 5 | 1 << 10 | 1 << 12; // write protection, missing, minor and protected shared memory
const IOCTL_API: u64 = 0xC018_AA3F;
const IOCTL_REGISTER: u64 = 0xC020_AA00;
const IOCTL_UNREGISTER: u64 = 0x8010_AA01;
const IOCTL_WAKE: u64 = 0x8010_AA02;
const IOCTL_WRITEPROTECT: u64 = 0xC018_AA06;
const IOCTL_CONTINUE: u64 = 0xC020_AA07;
const REGISTER_ALL: u64 = 1 | 2 | 4; // missing, write-protected, minor
const WRITEPROTECT_ON: u64 = 1;
const CONTINUE_PROTECTED: u64 = 2;
const EVENT_PAGEFAULT: u8 = 0x12;
const FLAG_WRITE: u64 = 1;
const FLAG_PROTECTED: u64 = 2;

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Span {
    start: u64,
    len: u64,
}

#[repr(C)]
struct Register {
    span: Span,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Protect {
    span: Span,
    mode: u64,
}

#[repr(C)]
struct Continue {
    span: Span,
    mode: u64,
    mapped: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    _reserved: [u8; 7],
    flags: u64,
    address: u64,
    _thread: u64,
}

impl Userfaultfd {
    /// Opens the file descriptor and starts the thread.
    pub fn start(user_only: bool) -> io::Result<Self> {
        let open = |flags: i32| -> io::Result<OwnedFd> {
            // SAFETY: a system call with plain flags; a descriptor that comes back is ours.
            let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK | flags) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: as above.
            Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
        };
        let (file, user_only) = match open(if user_only { USER_MODE_ONLY } else { 0 }) {
            Ok(file) => (file, user_only),
            // Unprivileged users can only have the user-mode kind.
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => (open(USER_MODE_ONLY)?, true),
            Err(e) => return Err(e),
        };
        let mut api = Api { api: API, features: FEATURES, ioctls: 0 };
        ioctl(&file, IOCTL_API, &mut api)
            .map_err(|e| io::Error::new(e.kind(), format!("this kernel lacks a feature of it: {e}")))?;
        // SAFETY: a new eventfd is ours.
        let stop = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let file = Arc::new(file);
        let (served, ended) = (Arc::clone(&file), stop.try_clone()?);
        let server = thread::Builder::new().name("adsm-faults".to_owned()).spawn(move || serve(&served, &ended))?;
        Ok(Self { file, stop, server: Some(server), user_only })
    }

    fn write_protect(&self, part: Part, mode: u64) -> io::Result<()> {
        let mut ask = Protect { span: span(part.view, part.len), mode };
        retry(|| ioctl(&self.file, IOCTL_WRITEPROTECT, &mut ask))
    }

    /// Maps the pages of the file that are not in the view; those that are stay unchanged.
    fn put_in(&self, part: Part, mode: u64) -> io::Result<()> {
        // Pages that were never accessed are not even in the file.
        // SAFETY: a part of this library's alias.
        let populated = unsafe { libc::madvise(part.alias as *mut libc::c_void, part.len, libc::MADV_POPULATE_WRITE) };
        if populated != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut done = 0;
        while done < part.len {
            let mut ask = Continue { span: span(part.view + done, part.len - done), mode, mapped: 0 };
            match ioctl(&self.file, IOCTL_CONTINUE, &mut ask) {
                Ok(()) => done = part.len,
                Err(e) => {
                    done += usize::try_from(ask.mapped).unwrap_or(0);
                    match e.raw_os_error() {
                        Some(libc::EAGAIN) => {}
                        Some(libc::EEXIST) if ask.mapped <= 0 => done += page_size(),
                        Some(libc::EEXIST) => {}
                        _ => return Err(e),
                    }
                }
            }
        }
        Ok(())
    }
}

impl FaultEngine for Userfaultfd {
    fn name(&self) -> &'static str {
        if self.user_only { "userfaultfd (user mode only)" } else { "userfaultfd" }
    }

    fn attach(&self, part: Part) -> io::Result<()> {
        // Unmaps every page of the view, so that its first access is reported.
        // SAFETY: a part of this library's view; its bytes stay in the file. userfaultfd needs the mapping itself writable.
        unsafe {
            let view = part.view as *mut libc::c_void;
            if libc::mprotect(view, part.len, libc::PROT_READ | libc::PROT_WRITE) != 0
                || libc::madvise(view, part.len, libc::MADV_DONTNEED) != 0
            {
                return Err(io::Error::last_os_error());
            }
        }
        let mut ask = Register { span: span(part.view, part.len), mode: REGISTER_ALL, ioctls: 0 };
        ioctl(&self.file, IOCTL_REGISTER, &mut ask)
    }

    fn detach(&self, part: Part) {
        // A device driver may already have unmapped it: nothing to undo then.
        let _ = ioctl(&self.file, IOCTL_UNREGISTER, &mut span(part.view, part.len));
    }

    fn protect(&self, part: Part, from: Protection, to: Protection) -> io::Result<()> {
        match (from, to) {
            (_, Protection::Closed) => {
                // SAFETY: a part of this library's view; its bytes stay in the file.
                match unsafe { libc::madvise(part.view as *mut libc::c_void, part.len, libc::MADV_DONTNEED) } {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            }
            (Protection::Open, Protection::ReadOnly) => self.write_protect(part, WRITEPROTECT_ON),
            (_, Protection::ReadOnly) => self.put_in(part, CONTINUE_PROTECTED),
            (_, Protection::Open) => {
                self.write_protect(part, 0)?;
                self.put_in(part, 0)
            }
        }
    }

    fn serves_system_calls(&self) -> bool {
        !self.user_only
    }
}

impl Drop for Userfaultfd {
    fn drop(&mut self) {
        let one = 1u64;
        // SAFETY: writes eight bytes to this engine's eventfd.
        unsafe { libc::write(self.stop.as_raw_fd(), (&raw const one).cast(), 8) };
        if let Some(server) = self.server.take() {
            // This thread itself may have been the last owner of the engine; it can't wait for its own end.
            if server.thread().id() != thread::current().id() {
                let _ = server.join();
            }
        }
    }
}

fn span(start: usize, len: usize) -> Span {
    Span { start: start as u64, len: len as u64 }
}

fn ioctl<T>(file: &OwnedFd, request: u64, argument: &mut T) -> io::Result<()> {
    // SAFETY: each request is called with the structure that the kernel defines for it.
    match unsafe { libc::ioctl(file.as_raw_fd(), request as libc::Ioctl, argument as *mut T) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Retries while the kernel answers EAGAIN, which it does while mappings of the process change.
fn retry(mut ask: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match ask() {
            Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => thread::yield_now(),
            other => return other,
        }
    }
}

/// The thread: serves one fault at a time until it is stopped.
fn serve(file: &OwnedFd, stop: &OwnedFd) {
    loop {
        let ready = libc::POLLIN;
        let mut polled = [
            libc::pollfd { fd: file.as_raw_fd(), events: ready, revents: 0 },
            libc::pollfd { fd: stop.as_raw_fd(), events: ready, revents: 0 },
        ];
        // SAFETY: two descriptors of this engine.
        if unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) } < 0 {
            continue;
        }
        if polled[1].revents != 0 {
            return;
        }
        let mut messages = [Message::default(); 16];
        // SAFETY: the buffer has the stated length, and messages are plain integers.
        let got = unsafe { libc::read(file.as_raw_fd(), messages.as_mut_ptr().cast(), size_of_val(&messages)) };
        let count = usize::try_from(got).unwrap_or(0) / size_of::<Message>();
        for message in &messages[..count] {
            if message.event == EVENT_PAGEFAULT {
                answer(file, message);
            }
        }
    }
}

fn answer(file: &OwnedFd, message: &Message) {
    let address = message.address as usize;
    let store = message.flags & (FLAG_WRITE | FLAG_PROTECTED) != 0;
    let access = if store { Access::Store } else { Access::Load };
    if memory::fault(address, Some(access)) == Served::Failed {
        // The program can't continue without these bytes, and a single load can't fail: end the process like a bad
        // access.
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    }
    let page = address & !(page_size() - 1);
    let _ = ioctl(file, IOCTL_WAKE, &mut span(page, page_size()));
}
