//! Reports on processes that did not end normally.

use super::{End, Process, State, What};
use crate::{
    Tid,
    signal::{Detail, SigInfo, Signal},
};
use x86::Memory;

impl Process {
    pub(super) fn deadlock(&self) -> End {
        End::Deadlock { threads: self.whereabouts() }
    }

    /// What each thread waits for, and its location: address and function.
    pub fn whereabouts(&self) -> Vec<(Tid, String)> {
        let threads = self.threads.iter().map(|thread| {
            let what = match thread.state {
                State::Running | State::Retrying => "its turn".into(),
                State::Waiting(wait) => self.describe(thread.tid, wait.what),
            };
            let place = self.place(thread.cpu.rip);
            let name = thread.name();
            let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
            (thread.tid, format!("{what}, at {place}{name}"))
        });
        threads.collect()
    }

    fn describe(&self, thread: Tid, what: What) -> String {
        match what {
            What::Futex { address, .. } => match self.symbols.name(address) {
                Some(name) => format!("the futex at {address:#x} ({name})"),
                None => format!("the futex at {address:#x}"),
            },
            What::Sleep { .. } => "a time that never comes".into(),
            What::Files { .. } => "a pipe on which nothing happens".into(),
            What::Page { .. } => "a page that the driver brings".into(),
            What::Driver => self.driver.waits_for(thread),
            What::Handler => "a signal".into(),
            What::Signal { set, .. } => format!("one of the signals {:#x}", set.0),
        }
    }

    /// Formats an address with its function.
    pub(crate) fn place(&self, rip: u64) -> String {
        match self.symbols.name(rip) {
            Some(name) => format!("{rip:#x} in {name}"),
            None => format!("{rip:#x}"),
        }
    }

    pub(crate) fn kill_report(&mut self, index: usize, info: &SigInfo) -> String {
        let thread = &self.threads[index];
        let (tid, rip, trap) = (thread.tid, thread.cpu.rip, thread.trap);
        let what = match (info.signal, info.detail) {
            (Signal::SEGV | Signal::BUS, Detail::Fault { address }) => {
                let verb = match trap.error {
                    error if error & 16 != 0 => "execute",
                    error if error & 2 != 0 => "write",
                    _ => "read",
                };
                let why = match (info.signal, info.code) {
                    (Signal::BUS, SigInfo::BUS_ALIGNMENT) => "a locked access must not cross the border of a line",
                    (Signal::BUS, _) => "it lies past the end of the mapped file",
                    (_, 1) => "nothing is mapped there",
                    _ => "the page does not allow it",
                };
                format!("{tid} can't {verb} address {address:#x}: {why}")
            }
            (Signal::SEGV, _) => format!("{tid}: general protection fault"),
            (Signal::FPE, Detail::Fault { .. }) if info.code == 1 => {
                format!("{tid} divided by zero or overflowed a quotient")
            }
            (Signal::FPE, Detail::Fault { .. }) => format!("{tid}: floating-point exception"),
            (Signal::ILL, Detail::Fault { .. }) => format!("{tid}: undefined or unsupported instruction"),
            (_, Detail::Sender { pid, .. }) => format!("{tid} was sent it by process {pid}"),
            _ => format!("{tid}"),
        };
        format!("killed by {}: {what}\n  at rip {}{}", info.signal.name(), self.place(rip), self.code_at(rip))
    }

    pub(crate) fn stack_report(&mut self, index: usize, signal: Signal) -> String {
        let thread = &self.threads[index];
        let (tid, rsp, rip) = (thread.tid, thread.cpu.gpr[x86::Reg::Rsp], thread.cpu.rip);
        format!(
            "killed by SIGSEGV: {tid} has no room on its stack (rsp {rsp:#x}) for the handler of {}\n  at rip {}",
            signal.name(),
            self.place(rip)
        )
    }

    /// The bytes of the instruction at an address, if it can be fetched.
    fn code_at(&mut self, rip: u64) -> String {
        let mut bytes = [0; 15];
        match self.space.fetch(rip, &mut bytes) {
            Ok(count) => {
                let bytes: Vec<String> = bytes[..count].iter().map(|byte| format!("{byte:02x}")).collect();
                format!(", code bytes {}", bytes.join(" "))
            }
            Err(_) => String::new(),
        }
    }
}
