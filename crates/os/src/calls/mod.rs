//! System calls: dispatches a call number and six argument words to the function that does what the Linux kernel would
//! do.
//!
//! A call returns a value, fails with an error number, or makes its thread wait. A call that waits for files or for the
//! driver is executed again after something has happened. Any other waiting call is completed by the event that ends
//! the wait.

mod descriptors;
mod emulated;
mod guest_words;
mod identity;
mod memory;
mod names;
mod paths;
mod polling;
mod reading;
mod refusal;
mod signals;
mod threads;
mod times;

use crate::{
    Answer, End,
    errno::Errno,
    guest::TRAP_CALL,
    process::{Process, Wait, What},
};

/// How a call that did not fail continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The call returns a value.
    Return(u64),
    /// The calling thread waits.
    Wait(Wait),
    /// The call has already set the thread's registers, or the thread has exited.
    Resumed,
}

pub type Outcome = Result<Flow, Errno>;

const LONGEST_PATH: usize = 4096;

/// The outcome of a call that succeeds with the value 0.
pub(crate) const DONE: Outcome = Ok(Flow::Return(0));

/// Rejects flags that the call does not know.
fn only(flags: u64, known: u64) -> Result<(), Errno> {
    // Linux takes flags as 32 bits.
    if flags & 0xffff_ffff & !known != 0 { Err(Errno::EINVAL) } else { Ok(()) }
}

/// A call that is never permitted. Unknown flags are reported first, as Linux does.
fn refused(flags: u64, known: u64) -> Outcome {
    only(flags, known)?;
    Err(Errno::EPERM)
}

fn value(result: Result<u64, Errno>) -> Outcome {
    result.map(Flow::Return)
}

impl Process {
    /// Executes the pending system call of a thread.
    pub(crate) fn call(&mut self, index: usize) -> Outcome {
        let call = self.threads[index].call;
        let [a, b, c, d, e, f] = call.args;
        let outcome = match call.number {
            0 => self.read(index, a, b, c),
            1 => self.write(index, a, b, c),
            2 => self.open(AT_FDCWD, a, b as u32, c as u32),
            3 => self.close(a),
            4 => self.stat(AT_FDCWD, a, b, 0),
            5 => self.fstat(a, b),
            6 => self.stat(AT_FDCWD, a, b, paths::NO_FOLLOW),
            7 => self.poll(index, a, b, polling::Timeout::Milliseconds(c as i32)),
            8 => self.lseek(a, b as i64, c),
            9 => self.mmap(a, b, c, d, e, f),
            10 => self.mprotect(a, b, c),
            11 => self.munmap(a, b),
            12 => self.brk(a),
            13 => self.sigaction(a, b, c, d),
            14 => self.sigprocmask(index, a, b, c, d),
            15 => self.sigreturn(index),
            16 => self.ioctl(a, b, c),
            17 => self.pread(index, a, b, c, d),
            18 => self.pwrite(index, a, b, c, d),
            19 => self.readv(index, a, b, c),
            20 => self.writev(index, a, b, c),
            21 => self.access(AT_FDCWD, a, b, 0),
            22 => self.pipe(a, 0),
            23 => self.select(index, a, [b, c, d], e, polling::Unit::Microseconds),
            24 => self.sched_yield(),
            25 => self.mremap(a, b, c, d, e),
            26 => self.msync(a, b, c),
            27 => self.mincore(a, b, c),
            28 => self.madvise(a, b, c),
            32 => self.dup(a),
            33 => self.dup2(a, b),
            34 => self.pause(),
            35 => self.nanosleep(a, b),
            36 => self.getitimer(a, b),
            37 => self.set_alarm(a),
            38 => self.setitimer(a, b, c),
            39 => value(Ok(crate::process::PID.into())),
            // Sockets: there is no network.
            41 | 53 => Err(Errno::EACCES),
            56 => self.clone(index, a, b, c, d, e),
            // There is only one process: fork and vfork fail as if the process limit were reached, execve as if it were
            // forbidden.
            57 | 58 => Err(Errno::EAGAIN),
            59 | 322 => Err(Errno::EPERM),
            60 => self.exit(index, a),
            61 | 247 => Err(Errno::ECHILD),
            62 => self.kill_process(index, a, b),
            63 => self.uname(a),
            72 => self.fcntl(a, b, c),
            73..=75 => self.sync(a),
            76 => self.truncate(a, b),
            77 => self.ftruncate(a, b),
            78 | 217 => self.getdents(a, b, c, call.number == 78),
            79 => self.getcwd(a, b),
            80 => self.chdir(a),
            81 => self.fchdir(a),
            82 => self.rename((AT_FDCWD, a), (AT_FDCWD, b), 0),
            83 => self.mkdir(AT_FDCWD, a, b),
            84 => self.unlink(AT_FDCWD, a, paths::REMOVE_FOLDER),
            85 => self.open(AT_FDCWD, a, paths::CREATE, b as u32),
            87 => self.unlink(AT_FDCWD, a, 0),
            // Links could lead other programs out of the mounted folder; owners and permissions are managed by the
            // host.
            265 => refused(e, paths::FOLLOW | paths::EMPTY_PATH),
            86 | 88 | 266 => Err(Errno::EPERM),
            89 => self.readlink(AT_FDCWD, a, b, c),
            260 => refused(e, paths::NO_FOLLOW | paths::EMPTY_PATH),
            452 => refused(d, paths::NO_FOLLOW | paths::EMPTY_PATH),
            90..=94 | 268 => Err(Errno::EPERM),
            95 => self.umask(a),
            96 => self.gettimeofday(a, b),
            97 => self.getrlimit(a, b),
            98 => self.getrusage(a, b),
            99 => self.sysinfo(a),
            100 => self.times(a),
            102 | 107 => value(Ok(identity::UID)),
            104 | 108 => value(Ok(identity::GID)),
            109 => DONE,
            110 => value(Ok(1)),
            111 | 121 | 124 | 112 => value(Ok(crate::process::PID.into())),
            115 => value(Ok(0)),
            118 | 120 => self.three_ids(a, b, c),
            127 => self.sigpending(index, a, b),
            128 => self.sigtimedwait(index, a, b, c, d),
            129 | 297 => self.sigqueue(index, call.number, [a, b, c, d]),
            130 => self.sigsuspend(index, a, b),
            131 => self.sigaltstack(index, a, b),
            140 => value(Ok(20)),
            141 => DONE,
            144 | 142 => DONE,
            143 => self.sched_getparam(b),
            145 => value(Ok(0)),
            146 | 147 => value(Ok(0)),
            157 => self.prctl(index, a, b),
            158 => self.arch_prctl(index, a, b),
            160 => self.setrlimit(a, b),
            162 => DONE,
            186 => value(Ok(self.threads[index].tid.0.into())),
            200 => self.tkill(a, b),
            201 => self.time(a),
            202 => self.futex(a, b, c, d, e, f),
            203 => self.sched_setaffinity(index, a, b, c),
            204 => self.sched_getaffinity(index, a, b, c),
            218 => self.set_tid_address(index, a),
            221 => DONE,
            227 => Err(Errno::EPERM),
            228 => self.clock_gettime(index, a, b),
            229 => self.clock_getres(index, a, b),
            230 => self.clock_nanosleep(index, a, b, c, d),
            231 => self.exit_group(a),
            234 => self.tgkill(a, b, c),
            257 => self.open(a, b, c as u32, d as u32),
            258 => self.mkdir(a, b, c),
            262 => self.stat(a, b, c, d),
            263 => self.unlink(a, b, c),
            264 => self.rename((a, b), (c, d), 0),
            316 => self.rename((a, b), (c, d), e),
            267 => self.readlink(a, b, c, d),
            269 => self.access(a, b, c, 0),
            270 => self.select(index, a, [b, c, d], e, polling::Unit::Nanoseconds),
            271 => self.poll(index, a, b, polling::Timeout::Spec(c)),
            273 => self.set_robust_list(index, a, b),
            274 => self.get_robust_list(index, a, b, c),
            280 => self.utimensat(a, b, d),
            285 => self.fallocate(a, b, c, d),
            292 => self.dup3(a, b, c),
            293 => self.pipe(a, b as u32),
            295 => self.preadv(index, a, b, c, d),
            296 => self.pwritev(index, a, b, c, d),
            302 => self.prlimit(b, c, d),
            309 => self.getcpu(index, a, b),
            318 => self.getrandom(a, b, c),
            324 => self.membarrier(a, b),
            327 => self.preadv2(index, a, b, c, d, f),
            328 => self.pwritev2(index, a, b, c, d, f),
            332 => self.statx(a, b, c, d, e),
            // rseq and clone3: C libraries work without rseq and fall back to clone.
            334 | 435 => Err(Errno::ENOSYS),
            436 => self.close_range(a, b, c),
            439 => self.access(a, b, c, d),
            TRAP_CALL => self.trap(index, call.args),
            number => self.unknown(number),
        };
        if self.files.stirred.take() {
            self.retry(|what| matches!(what, What::Files { .. }));
        }
        outcome
    }

    /// Reports an unknown call number once. Only the first `MOST_NAMED` numbers are reported, since a program can
    /// invent any number.
    fn unknown(&mut self, number: u64) -> Outcome {
        const MOST_NAMED: usize = 32;
        if self.named.len() < MOST_NAMED && self.named.insert(number) {
            let name = names::name(number).unwrap_or("unknown");
            eprintln!("cohesim: system call {number} ({name}) is not supported: it returns ENOSYS");
            if self.named.len() == MOST_NAMED {
                eprintln!("cohesim: further system calls that are not supported are not named");
            }
        }
        Err(Errno::ENOSYS)
    }

    fn trap(&mut self, index: usize, args: [u64; 6]) -> Outcome {
        let (tid, now) = (self.threads[index].tid, self.clock.now());
        let answer = self.driver.trap(args, tid, &mut self.space, now);
        // A build that the user interrupted has failed. End the process, so that the program does not take it for an
        // error in its source.
        if self.monitor.is_stopped() && self.end.is_none() {
            self.end = Some(End::Interrupted { time: now });
        }
        match answer {
            Answer::Return(value) => {
                self.retry_driver();
                Ok(Flow::Return(value))
            }
            Answer::Wait { until, moved } => {
                if moved {
                    self.retry_driver();
                }
                Ok(Flow::Wait(Wait { what: What::Driver, deadline: until }))
            }
            Answer::Away => Err(Errno::EFAULT),
        }
    }
}

/// The working folder, as the descriptor argument of an `...at` call.
const AT_FDCWD: u64 = -100_i64 as u64;
