//! How a process ends, and how that is reported.

use crate::Tid;
use engine::Time;
use mem::Bytes;
use std::fmt;

/// Why a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It called `exit_group`, or its last thread ended.
    Exited { code: u8 },
    /// A signal without a handler.
    Killed { signal: u8, report: String },
    /// Every thread waits, and nothing can wake any of them.
    Deadlock { threads: Vec<(Tid, String)> },
    /// More memory was used than the limit allows.
    OutOfMemory { limit: Bytes },
    /// The machine can't continue: a deadlock, a failed check, or an error in a kernel.
    MachineBroken { report: String },
    /// The user stopped the simulation.
    Interrupted { time: Time },
    /// The limit on instructions was reached.
    InstructionLimit { instructions: u64 },
    /// The limit on simulated time was reached.
    TimeLimit { time: Time },
}

impl End {
    /// The exit code of the command, following the convention of shells.
    pub fn exit_code(&self) -> u8 {
        const SIGINT: u8 = 2;
        const SIGKILL: u8 = 9;
        const SIGXCPU: u8 = 24;
        match self {
            End::Exited { code } => *code,
            End::Killed { signal, .. } => 128 + signal,
            End::OutOfMemory { .. } => 128 + SIGKILL,
            End::InstructionLimit { .. } | End::TimeLimit { .. } => 128 + SIGXCPU,
            End::Interrupted { .. } => 128 + SIGINT,
            End::Deadlock { .. } | End::MachineBroken { .. } => 125,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited { code } => write!(f, "exited with code {code}"),
            End::Killed { report, .. } => write!(f, "{report}"),
            End::Deadlock { threads } => {
                write!(f, "deadlock: every thread waits, and nothing can wake one")?;
                threads.iter().try_for_each(|(tid, what)| write!(f, "\n  {tid} waits for {what}"))
            }
            End::OutOfMemory { limit } => {
                write!(f, "out of memory: the program touched more than its limit of {limit} (raise it with --memory)")
            }
            End::MachineBroken { report } => write!(f, "the machine stopped: {report}"),
            End::Interrupted { time } => write!(f, "interrupted after {time} of simulated time"),
            End::InstructionLimit { instructions } => {
                write!(f, "stopped after {instructions} instructions (--max-instructions)")
            }
            End::TimeLimit { time } => write!(f, "stopped after {time} of simulated time (--max-time)"),
        }
    }
}
