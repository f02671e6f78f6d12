//! `read`, `write` and similar calls, through a buffer of this library where the program's buffer is shared.

use crate::{next::Next, shared};
use libc::{FILE, off_t, size_t, ssize_t};
use std::ffi::{c_int, c_void};

/// Size of the buffer.
const PIECE: usize = 256 << 10;

type Read = unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t;
type Write = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;
type Pread = unsafe extern "C" fn(c_int, *mut c_void, size_t, off_t) -> ssize_t;
type Pwrite = unsafe extern "C" fn(c_int, *const c_void, size_t, off_t) -> ssize_t;
type Recv = unsafe extern "C" fn(c_int, *mut c_void, size_t, c_int) -> ssize_t;
type Send = unsafe extern "C" fn(c_int, *const c_void, size_t, c_int) -> ssize_t;
type Fread = unsafe extern "C" fn(*mut c_void, size_t, size_t, *mut FILE) -> size_t;
type Fwrite = unsafe extern "C" fn(*const c_void, size_t, size_t, *mut FILE) -> size_t;

static READ: Next<Read> = Next::new(c"read");
static WRITE: Next<Write> = Next::new(c"write");
static PREAD: Next<Pread> = Next::new(c"pread");
static PWRITE: Next<Pwrite> = Next::new(c"pwrite");
static RECV: Next<Recv> = Next::new(c"recv");
static SEND: Next<Send> = Next::new(c"send");
static FREAD: Next<Fread> = Next::new(c"fread");
static FWRITE: Next<Fwrite> = Next::new(c"fwrite");

/// Whether to continue after a full piece: on a pipe or a socket the next call might block.
fn goes_on(fd: c_int) -> bool {
    // SAFETY: an out-parameter.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        libc::fstat(fd, &mut about) == 0 && about.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// Reads piece by piece; each is copied to the program's memory by ordinary stores.
///
/// # Safety
/// `to` must have `count` bytes.
unsafe fn gather(
    to: *mut c_void,
    count: usize,
    more: bool,
    one: impl Fn(*mut c_void, usize, usize) -> ssize_t,
) -> ssize_t {
    let mut piece = vec![0u8; count.min(PIECE)];
    let mut done = 0;
    while done < count {
        let len = piece.len().min(count - done);
        let got = one(piece.as_mut_ptr().cast(), len, done);
        if got <= 0 {
            // After some bytes, an error is left to the next call, as the kernel does.
            return if done > 0 { done as ssize_t } else { got };
        }
        // SAFETY: `got` bytes were read into the piece, and the program's memory has space for them.
        unsafe { crate::bulk::move_bytes(to.cast::<u8>().add(done), piece.as_ptr(), got as usize) };
        done += got as usize;
        if (got as usize) < len || !more {
            break;
        }
    }
    done as ssize_t
}

/// Variant of `gather` for writing.
///
/// # Safety
/// `from` must have `count` bytes.
unsafe fn scatter(
    from: *const c_void,
    count: usize,
    more: bool,
    one: impl Fn(*const c_void, usize, usize) -> ssize_t,
) -> ssize_t {
    let mut piece = vec![0u8; count.min(PIECE)];
    let mut done = 0;
    while done < count {
        let len = piece.len().min(count - done);
        // SAFETY: the program's memory has at least `len` bytes left.
        unsafe { crate::bulk::move_bytes(piece.as_mut_ptr(), from.cast::<u8>().add(done), len) };
        let put = one(piece.as_ptr().cast(), len, done);
        if put < 0 {
            return if done > 0 { done as ssize_t } else { put };
        }
        done += put as usize;
        if (put as usize) < len || !more {
            break;
        }
    }
    done as ssize_t
}

/// The last argument for the next piece: an offset advances, flags stay.
trait After {
    fn after(self, done: usize) -> Self;
}

impl After for off_t {
    fn after(self, done: usize) -> Self {
        self + done as off_t
    }
}

impl After for c_int {
    fn after(self, _: usize) -> Self {
        self
    }
}

macro_rules! interpose {
    ($($(#[$doc:meta])* $name:ident($first:ident: $kind:ty, $buffer:ident: $pointer:ty, $count:ident $(, $last:ident: $last_kind:ty)?)
        = $next:ident by $way:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the C library's function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($first: $kind, $buffer: $pointer, $count: size_t $(, $last: $last_kind)?) -> ssize_t {
            if $count == 0 || shared($buffer.cast()).is_none() {
                // SAFETY: guaranteed by the caller.
                return unsafe { ($next.get())($first, $buffer, $count $(, $last)?) };
            }
            let one = |piece, len: usize, done: usize| {
                let _ = done;
                // SAFETY: a piece of this length.
                unsafe { ($next.get())($first, piece, len $(, $last.after(done))?) }
            };
            // SAFETY: guaranteed by the caller.
            unsafe { $way($buffer, $count, goes_on($first), one) }
        }
    )*};
}
interpose! {
    /// Reads into shared memory too.
    read(fd: c_int, buffer: *mut c_void, count) = READ by gather;
    /// Writes from shared memory too.
    write(fd: c_int, buffer: *const c_void, count) = WRITE by scatter;
    /// Reads into shared memory too.
    pread(fd: c_int, buffer: *mut c_void, count, offset: off_t) = PREAD by gather;
    /// Writes from shared memory too.
    pwrite(fd: c_int, buffer: *const c_void, count, offset: off_t) = PWRITE by scatter;
    /// Reads into shared memory too.
    pread64(fd: c_int, buffer: *mut c_void, count, offset: off_t) = PREAD by gather;
    /// Writes from shared memory too.
    pwrite64(fd: c_int, buffer: *const c_void, count, offset: off_t) = PWRITE by scatter;
    /// Receives into shared memory too.
    recv(fd: c_int, buffer: *mut c_void, count, flags: c_int) = RECV by gather;
    /// Sends from shared memory too.
    send(fd: c_int, buffer: *const c_void, count, flags: c_int) = SEND by scatter;
}

/// Reads into shared memory too.
///
/// # Safety
/// As for the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fread(buffer: *mut c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t {
    let next = FREAD.get();
    match size.checked_mul(count) {
        Some(bytes) if bytes > 0 && shared(buffer).is_some() => {
            // SAFETY: guaranteed by the caller; the stream buffers, so continuing never loses data.
            let got = unsafe { gather(buffer, bytes, true, |piece, len, _| next(piece, 1, len, file) as ssize_t) };
            got as usize / size
        }
        // SAFETY: guaranteed by the caller.
        _ => unsafe { next(buffer, size, count, file) },
    }
}

/// Writes from shared memory too.
///
/// # Safety
/// As for the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fwrite(buffer: *const c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t {
    let next = FWRITE.get();
    match size.checked_mul(count) {
        Some(bytes) if bytes > 0 && shared(buffer).is_some() => {
            // SAFETY: as above.
            let put = unsafe { scatter(buffer, bytes, true, |piece, len, _| next(piece, 1, len, file) as ssize_t) };
            put as usize / size
        }
        // SAFETY: guaranteed by the caller.
        _ => unsafe { next(buffer, size, count, file) },
    }
}
