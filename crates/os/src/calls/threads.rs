//! System calls that create, end and synchronise threads.

use super::{DONE, Flow, Outcome, only, value};
use crate::{
    Tid,
    errno::Errno,
    guest::GuestMemory,
    process::{CpuSet, End, PID, Process, Thread, WakeOp},
};
use engine::Time;
use mem::VirtAddr;
use x86::Reg;

mod flag {
    pub const VM: u64 = 0x100;
    pub const SIGHAND: u64 = 0x800;
    pub const PARENT_SETTID: u64 = 0x10_0000;
    pub const CHILD_CLEARTID: u64 = 0x20_0000;
    pub const CHILD_SETTID: u64 = 0x100_0000;
    pub const THREAD: u64 = 0x1_0000;
    pub const SETTLS: u64 = 0x8_0000;
}

/// A limit on threads that no real program reaches, and that protects the host's memory.
const MOST_THREADS: usize = 4096;

impl Process {
    pub(super) fn clone(
        &mut self,
        index: usize,
        flags: u64,
        stack: u64,
        parent_tid: u64,
        child_tid: u64,
        tls: u64,
    ) -> Outcome {
        let shared = flag::VM | flag::SIGHAND | flag::THREAD;
        if flags & shared != shared {
            // Without the flags of a thread, `clone` would create a second process.
            return Err(Errno::EAGAIN);
        }
        if self.threads.len() >= MOST_THREADS {
            return Err(Errno::EAGAIN);
        }
        let tid = Tid(self.peek_tid());
        for (wanted, at) in [(flag::PARENT_SETTID, parent_tid), (flag::CHILD_SETTID, child_tid)] {
            if flags & wanted != 0 {
                self.space.write_u32(VirtAddr(at), tid.0)?;
            }
        }
        let parent = &self.threads[index];
        let mut cpu = parent.cpu.clone();
        cpu.gpr[Reg::Rax] = 0;
        cpu.instructions = 0;
        if stack != 0 {
            cpu.gpr[Reg::Rsp] = stack;
        }
        if flags & flag::SETTLS != 0 {
            cpu.fs_base = tls;
        }
        let mut thread = Thread::new(tid, cpu);
        thread.blocked = parent.blocked;
        thread.name = parent.name;
        thread.cpus = parent.cpus.clone();
        if flags & flag::CHILD_CLEARTID != 0 {
            thread.clear_at_exit = child_tid;
        }
        self.new_tid();
        self.threads.push(thread);
        Ok(Flow::Return(tid.0.into()))
    }

    pub(super) fn exit(&mut self, index: usize, code: u64) -> Outcome {
        self.end_thread(index, code as u8);
        Ok(Flow::Resumed)
    }

    pub(super) fn exit_group(&mut self, code: u64) -> Outcome {
        self.end = Some(End::Exited { code: code as u8 });
        Ok(Flow::Resumed)
    }

    pub(super) fn set_tid_address(&mut self, index: usize, address: u64) -> Outcome {
        let thread = &mut self.threads[index];
        thread.clear_at_exit = address;
        value(Ok(thread.tid.0.into()))
    }

    pub(super) fn set_robust_list(&mut self, index: usize, head: u64, size: u64) -> Outcome {
        if size != 24 {
            return Err(Errno::EINVAL);
        }
        self.threads[index].robust_list = head;
        DONE
    }

    pub(super) fn get_robust_list(&mut self, index: usize, tid: u64, head: u64, size: u64) -> Outcome {
        let index = if tid == 0 { index } else { self.find_thread(tid)? };
        self.space.write_u64(VirtAddr(head), self.threads[index].robust_list)?;
        self.space.write_u64(VirtAddr(size), 24)?;
        DONE
    }

    pub(super) fn find_thread(&self, tid: u64) -> Result<usize, Errno> {
        let tid = u32::try_from(tid as i32).map_err(|_| Errno::EINVAL)?;
        self.thread_index(Tid(tid)).ok_or(Errno::ESRCH)
    }

    pub(super) fn futex(
        &mut self,
        address: u64,
        op: u64,
        count: u64,
        timeout: u64,
        second: u64,
        third: u64,
    ) -> Outcome {
        const CLOCK_REALTIME: u64 = 256;
        const PRIVATE: u64 = 128;
        const ANY: u32 = u32::MAX;
        let real = op & CLOCK_REALTIME != 0;
        match op & !(PRIVATE | CLOCK_REALTIME) {
            // FUTEX_WAIT: the timeout is a duration.
            0 => {
                let deadline = match timeout {
                    0 => Time::NEVER,
                    at => self.clock.now() + self.read_timespec(at)?.length(),
                };
                self.wait_futex(address, count as u32, ANY, deadline).map(Flow::Wait)
            }
            // FUTEX_WAIT_BITSET: the timeout is a point in time.
            9 => {
                let deadline = match timeout {
                    0 => Time::NEVER,
                    at => {
                        let point = self.read_timespec(at)?;
                        self.clock.moment(point, real)
                    }
                };
                self.wait_futex(address, count as u32, third as u32, deadline).map(Flow::Wait)
            }
            1 => {
                self.check_futex(address)?;
                value(Ok(self.wake_futex(address, count, ANY)))
            }
            10 if third as u32 == 0 => Err(Errno::EINVAL),
            10 => {
                self.check_futex(address)?;
                value(Ok(self.wake_futex(address, count, third as u32)))
            }
            3 => {
                self.check_futex(address)?;
                let (woken, _) = self.requeue_futex(address, count, second, timeout)?;
                value(Ok(woken))
            }
            4 => {
                if self.futex_word(address)? != third as u32 {
                    return Err(Errno::EAGAIN);
                }
                let (woken, moved) = self.requeue_futex(address, count, second, timeout)?;
                value(Ok(woken + moved))
            }
            5 => value(self.wake_futex_op(address, count, second, timeout, WakeOp(third as u32))),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Checks a futex address: aligned, and in the program's half of the address space. It need not be mapped.
    fn check_futex(&mut self, address: u64) -> Result<(), Errno> {
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        if address >= crate::memory::USER_END { Err(Errno::EFAULT) } else { Ok(()) }
    }

    pub(super) fn arch_prctl(&mut self, index: usize, code: u64, address: u64) -> Outcome {
        const SET_GS: u64 = 0x1001;
        const SET_FS: u64 = 0x1002;
        const GET_FS: u64 = 0x1003;
        const GET_GS: u64 = 0x1004;
        let cpu = &mut self.threads[index].cpu;
        match code {
            SET_FS | SET_GS if address >= crate::memory::USER_END => return Err(Errno::EPERM),
            SET_FS => cpu.fs_base = address,
            SET_GS => cpu.gs_base = address,
            GET_FS | GET_GS => {
                let base = if code == GET_FS { cpu.fs_base } else { cpu.gs_base };
                self.space.write_u64(VirtAddr(address), base)?;
            }
            _ => return Err(Errno::EINVAL),
        }
        DONE
    }

    pub(super) fn sched_yield(&mut self) -> Outcome {
        self.yielded = self.threads.len() > 1;
        DONE
    }

    /// The thread of a call that names the caller by 0.
    fn thread_or_caller(&self, index: usize, tid: u64) -> Result<usize, Errno> {
        match tid {
            0 => Ok(index),
            tid if tid == u64::from(PID) => Ok(self.thread_index(Tid(PID)).unwrap_or(index)),
            tid => self.find_thread(tid),
        }
    }

    pub(super) fn sched_getaffinity(&mut self, index: usize, tid: u64, size: u64, mask: u64) -> Outcome {
        let index = self.thread_or_caller(index, tid)?;
        if size < 8 || !size.is_multiple_of(8) {
            return Err(Errno::EINVAL);
        }
        let bytes = self.cpus.div_ceil(64).max(1) as usize * 8;
        if size < bytes as u64 {
            return Err(Errno::EINVAL);
        }
        let allowed = |cpu: u32| cpu < self.cpus && self.threads[index].cpus.has(cpu);
        let bits: Vec<u8> = (0..bytes as u32)
            .map(|byte| (0..8).filter(|bit| allowed(byte * 8 + bit)).fold(0, |bits, bit| bits | 1 << bit))
            .collect();
        self.space.write(VirtAddr(mask), &bits)?;
        value(Ok(bytes as u64))
    }

    /// From now on a thread runs on these CPUs only. A mask without any CPU is rejected. Hardware on which the thread
    /// may no longer run gives it up before its next instruction.
    pub(super) fn sched_setaffinity(&mut self, index: usize, tid: u64, size: u64, mask: u64) -> Outcome {
        let index = self.thread_or_caller(index, tid)?;
        let mut bytes = vec![0; size.min(128) as usize];
        self.space.read(VirtAddr(mask), &mut bytes)?;
        self.threads[index].cpus = CpuSet::of_bytes(&bytes, self.cpus).ok_or(Errno::EINVAL)?;
        self.has_bound = true;
        DONE
    }

    pub(super) fn sched_getparam(&mut self, at: u64) -> Outcome {
        self.space.write_u32(VirtAddr(at), 0)?;
        DONE
    }

    /// In a functional run, all threads run on the first CPU that they may run on.
    pub(super) fn getcpu(&mut self, index: usize, cpu: u64, node: u64) -> Outcome {
        for (at, value) in [(cpu, self.cpu_of(index)), (node, 0)] {
            if at != 0 {
                self.space.write_u32(VirtAddr(at), value)?;
            }
        }
        DONE
    }

    pub(super) fn membarrier(&mut self, command: u64, flags: u64) -> Outcome {
        only(flags, 0)?;
        const QUERY: u64 = 0;
        const GLOBAL: u64 = 1;
        const PRIVATE: u64 = 8;
        const REGISTER_PRIVATE: u64 = 16;
        match command {
            QUERY => value(Ok(GLOBAL | PRIVATE | REGISTER_PRIVATE)),
            // Threads take turns, so there is no barrier to wait for.
            GLOBAL | PRIVATE | REGISTER_PRIVATE => DONE,
            _ => Err(Errno::EINVAL),
        }
    }
}
