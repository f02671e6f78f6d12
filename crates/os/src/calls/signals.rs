//! System calls about signals.

use super::{DONE, Flow, Outcome, value};
use crate::{
    errno::Errno,
    guest::GuestMemory,
    process::{End, PID, Process, Wait, What},
    signal::{Action, AltStack, Detail, SigInfo, SigSet, Signal, stack_flags},
};
use engine::Time;
use mem::VirtAddr;
use x86::Reg;

/// The smallest alternate stack that a handler may have.
const SMALLEST_STACK: u64 = 2048;

impl Process {
    pub(super) fn sigaction(&mut self, signal: u64, new: u64, old: u64, size: u64) -> Outcome {
        let signal = Signal::new(signal).filter(|_| size == 8).ok_or(Errno::EINVAL)?;
        let before = self.actions.get(signal);
        if new != 0 {
            if matches!(signal, Signal::KILL | Signal::STOP) {
                return Err(Errno::EINVAL);
            }
            let mut words = [0; 4];
            for (place, word) in words.iter_mut().enumerate() {
                *word = self.space.read_u64(VirtAddr(new.wrapping_add(place as u64 * 8)))?;
            }
            let [handler, flags, restorer, mask] = words;
            self.actions.set(signal, Action { handler, flags, restorer, mask: SigSet(mask).blockable() });
        }
        if old != 0 {
            let words = [before.handler, before.flags, before.restorer, before.mask.0];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.space.write(VirtAddr(old), &bytes)?;
        }
        DONE
    }

    pub(super) fn sigprocmask(&mut self, index: usize, how: u64, new: u64, old: u64, size: u64) -> Outcome {
        if size != 8 {
            return Err(Errno::EINVAL);
        }
        let before = self.threads[index].blocked;
        if new != 0 {
            let set = SigSet(self.space.read_u64(VirtAddr(new))?);
            let after = match how {
                0 => before.union(set),
                1 => before.without(set),
                2 => set,
                _ => return Err(Errno::EINVAL),
            };
            self.threads[index].blocked = after.blockable();
        }
        if old != 0 {
            self.space.write_u64(VirtAddr(old), before.0)?;
        }
        DONE
    }

    pub(super) fn sigreturn(&mut self, index: usize) -> Outcome {
        if let Err(error) = self.pop_frame(index) {
            if self.space.is_waiting() {
                return Err(error);
            }
            let rip = self.threads[index].cpu.rip;
            let report =
                format!("killed by SIGSEGV: rt_sigreturn found no frame on the stack\n  at rip {}", self.place(rip));
            self.end = Some(End::Killed { signal: Signal::SEGV.number(), report });
        }
        Ok(Flow::Resumed)
    }

    pub(super) fn sigaltstack(&mut self, index: usize, new: u64, old: u64) -> Outcome {
        let pointer = self.threads[index].cpu.gpr[Reg::Rsp];
        let before = self.threads[index].alt_stack;
        if new != 0 {
            let start = self.space.read_u64(VirtAddr(new))?;
            let flags = self.space.read_u32(VirtAddr(new.wrapping_add(8)))?;
            let size = self.space.read_u64(VirtAddr(new.wrapping_add(16)))?;
            if before.holds(pointer) {
                return Err(Errno::EPERM);
            }
            let stack = match flags {
                AltStack::DISABLED => AltStack::default(),
                0 | AltStack::ON_STACK if size < SMALLEST_STACK => return Err(Errno::ENOMEM),
                0 | AltStack::ON_STACK => AltStack { start, flags: 0, size },
                _ => return Err(Errno::EINVAL),
            };
            self.threads[index].alt_stack = stack;
        }
        if old != 0 {
            self.space.write_u64(VirtAddr(old), before.start)?;
            self.space.write_u64(VirtAddr(old.wrapping_add(8)), stack_flags(&before, pointer).into())?;
            self.space.write_u64(VirtAddr(old.wrapping_add(16)), before.size)?;
        }
        DONE
    }

    pub(super) fn sigpending(&mut self, index: usize, set: u64, size: u64) -> Outcome {
        if size > 8 {
            return Err(Errno::EINVAL);
        }
        let all = self.threads[index].pending.iter().chain(&self.pending);
        let pending = all.fold(SigSet::EMPTY, |set, info| set.with(info.signal));
        let bytes = (pending.0 & self.threads[index].blocked.0).to_le_bytes();
        self.space.write(VirtAddr(set), &bytes[..size as usize])?;
        DONE
    }

    pub(super) fn sigsuspend(&mut self, index: usize, mask: u64, size: u64) -> Outcome {
        if size != 8 {
            return Err(Errno::EINVAL);
        }
        let mask = SigSet(self.space.read_u64(VirtAddr(mask))?).blockable();
        let thread = &mut self.threads[index];
        thread.mask_after.get_or_insert(thread.blocked);
        thread.blocked = mask;
        if self.has_signal(index) {
            return Err(Errno::EINTR);
        }
        self.pause()
    }

    pub(super) fn pause(&mut self) -> Outcome {
        Ok(Flow::Wait(Wait { what: What::Handler, deadline: Time::NEVER }))
    }

    pub(super) fn sigtimedwait(&mut self, index: usize, set: u64, info: u64, timeout: u64, size: u64) -> Outcome {
        if size != 8 {
            return Err(Errno::EINVAL);
        }
        let set = SigSet(self.space.read_u64(VirtAddr(set))?).blockable();
        match self.take_waited(index, set.0, info) {
            Err(Errno::EAGAIN) => {}
            result => return value(result),
        }
        let deadline = match timeout {
            0 => Time::NEVER,
            at => self.clock.now() + self.read_timespec(at)?.length(),
        };
        if deadline <= self.clock.now() {
            return Err(Errno::EAGAIN);
        }
        Ok(Flow::Wait(Wait { what: What::Signal { set, info }, deadline }))
    }

    pub(super) fn kill_process(&mut self, index: usize, pid: u64, signal: u64) -> Outcome {
        let pid = pid as i32;
        // The only valid targets are the process itself, its group, and all processes: no other process exists.
        if ![PID as i32, 0, -1, -(PID as i32)].contains(&pid) {
            return Err(Errno::ESRCH);
        }
        self.send(signal, SigInfo::SI_USER, 0, |process, info| process.send_to_process(index, info))
    }

    pub(super) fn tkill(&mut self, tid: u64, signal: u64) -> Outcome {
        let target = self.find_thread(tid)?;
        self.send(signal, SigInfo::SI_TKILL, 0, |process, info| process.send_to_thread(target, info))
    }

    pub(super) fn tgkill(&mut self, pid: u64, tid: u64, signal: u64) -> Outcome {
        if pid as i32 <= 0 {
            return Err(Errno::EINVAL);
        }
        if pid != u64::from(PID) {
            return Err(Errno::ESRCH);
        }
        self.tkill(tid, signal)
    }

    /// `rt_sigqueueinfo` and `rt_tgsigqueueinfo`.
    pub(super) fn sigqueue(&mut self, index: usize, number: u64, args: [u64; 4]) -> Outcome {
        let [pid, b, c, d] = args;
        if pid != u64::from(PID) {
            return Err(Errno::ESRCH);
        }
        let to_thread = number == 297;
        let (target, signal, info) = if to_thread { (self.find_thread(b)?, c, d) } else { (index, b, c) };
        let code = self.space.read_u32(VirtAddr(info.wrapping_add(8)))? as i32;
        let given = self.space.read_u64(VirtAddr(info.wrapping_add(24)))?;
        self.send(signal, code, given, |process, info| {
            if to_thread { process.send_to_thread(target, info) } else { process.send_to_process(target, info) }
        })
    }

    fn send(
        &mut self,
        signal: u64,
        code: i32,
        value: u64,
        deliver: impl FnOnce(&mut Process, SigInfo) -> Result<(), Errno>,
    ) -> Outcome {
        // Signal 0 only tests whether the target exists.
        if signal as u32 == 0 {
            return DONE;
        }
        let signal = Signal::new(u64::from(signal as u32)).ok_or(Errno::EINVAL)?;
        let detail = Detail::Sender { pid: PID, uid: super::identity::UID as u32, value };
        deliver(self, SigInfo { signal, code, detail })?;
        DONE
    }
}
