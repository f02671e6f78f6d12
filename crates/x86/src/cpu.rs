//! The state of a CPU.

use crate::exit::Trouble;
use crate::sse::Mxcsr;
use crate::x87::X87;
use crate::{Features, Flags, Gprs};

/// The registers of a CPU: plain data, which whoever drives it may save, change and copy.
#[derive(Clone, Debug)]
pub struct Cpu {
    pub gpr: Gprs,
    /// The address of the next instruction.
    pub rip: u64,
    pub flags: Flags,
    pub xmm: [u128; 16],
    pub mxcsr: Mxcsr,
    pub x87: X87,
    pub fs_base: u64,
    pub gs_base: u64,
    /// What `cpuid` announces.
    pub features: Features,
    /// How many instructions have been executed.
    pub instructions: u64,
    /// What `rdtsc` reads is this plus the number of instructions executed: a driver that knows the time sets it.
    pub tsc_offset: u64,
    /// When the program passed the begin and the end of its region of interest last, as `rdtsc` would have read it. The marks
    /// are `nop`s with a displacement that nobody uses by chance ([`MARKS`]).
    pub marks: [Option<u64>; 2],
    /// Whether [`Cpu::run`] comes back before it passes the mark of a region's begin ([`Exit::Mark`](crate::Exit::Mark)).
    pub stops_at_mark: bool,
    /// Why the last instruction did not finish.
    pub(crate) trouble: Trouble,
}

/// The displacements of the `nop`s that mark begin and end of a region of interest.
pub const MARKS: [u64; 2] = [0x0c0e_51b0, 0x0c0e_51b1];

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Cpu {
    /// A CPU as Linux starts a process on it, but for `rip` and `rsp`.
    pub fn new() -> Self {
        Cpu {
            gpr: Gprs::default(),
            rip: 0,
            flags: Flags::default(),
            xmm: [0; 16],
            mxcsr: Mxcsr::default(),
            x87: X87::default(),
            fs_base: 0,
            gs_base: 0,
            features: Features::default(),
            instructions: 0,
            tsc_offset: 0,
            marks: [None; 2],
            stops_at_mark: false,
            trouble: Trouble::Wait,
        }
    }

    /// The image that `fxsave64` stores, as a signal frame has it.
    pub fn fxsave(&self) -> [u8; 512] {
        let mut image = [0; 512];
        let (x87, sse) = image.split_at_mut(160);
        self.x87.fxsave(x87.try_into().expect("160 bytes"));
        x87[24..28].copy_from_slice(&self.mxcsr.0.to_le_bytes());
        x87[28..32].copy_from_slice(&Mxcsr::MASK.to_le_bytes());
        for (register, bytes) in self.xmm.iter().zip(sse.chunks_exact_mut(16)) {
            bytes.copy_from_slice(&register.to_le_bytes());
        }
        image
    }

    /// Takes over what [`Cpu::fxsave`] gave. Reserved bits of MXCSR are cleared.
    pub fn fxrstor(&mut self, image: &[u8; 512]) {
        let (x87, sse) = image.split_at(160);
        self.x87.fxrstor(x87.try_into().expect("160 bytes"));
        let mxcsr = x87[24..28].try_into().expect("four bytes");
        self.mxcsr = Mxcsr(u32::from_le_bytes(mxcsr) & Mxcsr::MASK);
        for (register, bytes) in self.xmm.iter_mut().zip(sse.chunks_exact(16)) {
            *register = u128::from_le_bytes(bytes.try_into().expect("sixteen bytes"));
        }
    }
}
