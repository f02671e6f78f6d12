//! The state of a CPU.

use crate::exit::Trouble;
use crate::sse::Mxcsr;
use crate::x87::X87;
use crate::{Features, Flags, Gprs};

/// The registers of a CPU: plain data, which the caller may save, change and copy.
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
    /// The features that `cpuid` announces.
    pub features: Features,
    /// The number of instructions executed.
    pub instructions: u64,
    /// `rdtsc` reads this plus the number of instructions executed. A caller that models time sets it.
    pub tsc_offset: u64,
    /// The processor number that `rdtscp` returns.
    pub processor: u32,
    /// When the program last passed the begin and the end marker of its region of interest, as values of `rdtsc`. The
    /// markers are `nop`s with a displacement that does not occur by chance ([`MARKS`]).
    pub marks: [Option<u64>; 2],
    /// Whether [`Cpu::run`] returns before the begin marker of a region of interest
    /// ([`Exit::Mark`](crate::Exit::Mark)).
    pub stops_at_mark: bool,
    /// Why the last instruction did not complete.
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
    /// The state in which Linux starts a process, except for `rip` and `rsp`.
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
            processor: 0,
            marks: [None; 2],
            stops_at_mark: false,
            trouble: Trouble::Wait,
        }
    }

    /// The image that `fxsave64` stores, as used in signal frames.
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

    /// Restores an image of [`Cpu::fxsave`]. Reserved bits of MXCSR are cleared.
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
