//! A wavefront: 64 lanes, their registers and one program counter.
//!
//! It holds only the state that a program can see. Counters of outstanding accesses, for example, belong to the
//! component that drives the wavefront. Scalar registers are in one array, indexed by their operand numbers, so that
//! VCC, M0 and EXEC are accessed like any other. Vector registers are rows of 64 lanes, so that the lanes of one
//! register are adjacent in the host's memory.

use crate::{
    dispatch::WaveInit,
    error::Fault,
    exec::{
        float::Mode,
        simd::{Row, blend, lanes},
    },
    inst::{Inst, Operand},
    memop::{Destination, Extension, MemOp, ScalarOp},
};

/// Numbers of named scalar registers.
pub mod scalar {
    pub const FLAT_SCRATCH_LO: usize = 102;
    pub const FLAT_SCRATCH_HI: usize = 103;
    pub const VCC: usize = 106;
    pub const M0: usize = 124;
    pub const EXEC: usize = 126;
}

/// The flat addresses of the local data share and of scratch, and the actual location of scratch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apertures {
    /// The high half of flat addresses in the local data share.
    pub shared_hi: u32,
    /// The high half of flat addresses in the work-item's own scratch memory.
    pub private_hi: u32,
    /// The base of the wave's scratch offset in FLAT_SCRATCH.
    pub scratch_base: u64,
}

/// The registers of a wavefront.
#[derive(Clone, Debug)]
pub struct Wavefront {
    /// Address of the next instruction.
    pub pc: u64,
    /// Scalar condition code.
    pub scc: bool,
    /// How floating-point instructions round and treat denormals and NaNs.
    pub mode: Mode,
    /// Scalar registers by operand number: general ones to 101, then special ones (see [`scalar`]).
    pub scalars: [u32; 128],
    /// Vector registers: all that the encoding can name, or those that the code can reach.
    pub vgprs: Vec<Row>,
    pub apertures: Apertures,
    /// Whether vector registers are indexed by M0, between `s_set_gpr_idx_on` and `s_set_gpr_idx_off`.
    pub gpr_index: bool,
    /// The number of this wavefront in its workgroup.
    pub id: u32,
    /// Wavefront instructions executed so far.
    pub executed: u64,
}

impl Default for Wavefront {
    fn default() -> Self {
        Self::new()
    }
}

impl Wavefront {
    /// A wavefront with all registers zero, all lanes active, and the MODE that compilers use.
    pub fn new() -> Self {
        Self::with_vgprs(256)
    }

    /// Variant of [`Wavefront::new`] with only the vector registers that its code can reach (see
    /// [`Code::vgprs`](crate::code::Code::vgprs)); each takes 256 bytes.
    pub fn with_vgprs(vgprs: usize) -> Self {
        let mut wave = Self {
            pc: 0,
            scc: false,
            mode: Mode(0x3c0),
            scalars: [0; 128],
            vgprs: vec![Row::default(); vgprs],
            apertures: Apertures::default(),
            gpr_index: false,
            id: 0,
            executed: 0,
        };
        wave.set_exec(!0);
        wave
    }

    /// Resets to the state of a new wavefront, with the first `vgprs` vector registers allocated and cleared.
    pub fn reset(&mut self, vgprs: usize) {
        if self.vgprs.len() < vgprs {
            self.vgprs.resize(vgprs, Row::default());
        }
        for row in self.vgprs.iter_mut().take(vgprs) {
            *row = Row::default();
        }
        self.pc = 0;
        self.scc = false;
        self.mode = Mode(0x3c0);
        self.scalars = [0; 128];
        self.gpr_index = false;
        self.id = 0;
        self.executed = 0;
        self.set_exec(!0);
    }

    /// Sets the initial registers of this wavefront, after a reset, as number `id` of its workgroup.
    pub fn begin(&mut self, id: u32, init: &WaveInit) {
        self.id = id;
        self.pc = init.pc.0;
        self.mode = Mode(init.mode);
        self.apertures = Apertures {
            shared_hi: (init.apertures.lds.0 >> 32) as u32,
            private_hi: (init.apertures.scratch.0 >> 32) as u32,
            scratch_base: init.apertures.hidden_private_base.0,
        };
        self.set_exec(init.exec);
        let count = init.sgpr_count.min(init.sgprs.len());
        self.scalars[..count].copy_from_slice(&init.sgprs[..count]);
        for (row, ids) in self.vgprs.iter_mut().zip(&init.vgprs) {
            row.0 = *ids;
        }
    }

    #[inline(always)]
    pub fn exec(&self) -> u64 {
        self.pair(scalar::EXEC)
    }

    #[inline(always)]
    pub fn set_exec(&mut self, mask: u64) {
        self.set_pair(scalar::EXEC, mask);
    }

    #[inline(always)]
    pub fn vcc(&self) -> u64 {
        self.pair(scalar::VCC)
    }

    #[inline(always)]
    pub fn set_vcc(&mut self, mask: u64) {
        self.set_pair(scalar::VCC, mask);
    }

    #[inline(always)]
    pub fn m0(&self) -> u32 {
        self.scalars[scalar::M0]
    }

    /// Two scalar registers as one number, the first as the low half.
    #[inline(always)]
    pub fn pair(&self, first: usize) -> u64 {
        u64::from(self.scalars[first & 127]) | u64::from(self.scalars[(first + 1) & 127]) << 32
    }

    #[inline(always)]
    pub fn set_pair(&mut self, first: usize, value: u64) {
        self.scalars[first & 127] = value as u32;
        self.scalars[(first + 1) & 127] = (value >> 32) as u32;
    }

    /// The lanes of vector register `n`, modulo 256.
    #[inline(always)]
    pub fn vgpr(&self, n: usize) -> &Row {
        &self.vgprs[n & 255]
    }

    /// Writes the lanes of `mask` of a vector register.
    #[inline(always)]
    pub fn write_vgpr(&mut self, n: usize, values: &[u32; 64], mask: u64) {
        blend(&mut self.vgprs[n & 255], values, mask);
    }

    /// A scalar operand of 32 bits: a register or any constant.
    #[inline(always)]
    pub fn scalar32(&self, inst: &Inst, operand: Operand) -> u32 {
        match operand.code() {
            code @ 0..=127 => self.scalars[usize::from(code)],
            _ => self.constant32(inst, operand),
        }
    }

    fn constant32(&self, inst: &Inst, operand: Operand) -> u32 {
        match operand.code() {
            255 => inst.imm,
            code @ 128..=192 => u32::from(code) - 128,
            code @ 193..=208 => (192 - i32::from(code)) as u32,
            240..=247 => (operand.as_inline_float().unwrap_or(0.0) as f32).to_bits(),
            248 => 0x3e22_f983,
            251 => u32::from(self.vcc() == 0),
            252 => u32::from(self.exec() == 0),
            253 => u32::from(self.scc),
            _ => 0,
        }
    }

    /// A scalar operand of 64 bits.
    #[inline(always)]
    pub fn scalar64(&self, inst: &Inst, operand: Operand) -> u64 {
        match operand.code() {
            code @ 0..=127 => self.pair(usize::from(code)),
            _ => self.constant64(inst, operand),
        }
    }

    fn constant64(&self, inst: &Inst, operand: Operand) -> u64 {
        match operand.code() {
            // The instruction's operand type determines the extension of a literal.
            255 if inst.op.mnemonic().ends_with("_i64") => i64::from(inst.imm as i32) as u64,
            255 => u64::from(inst.imm),
            code @ 193..=208 => (192 - i64::from(code)) as u64,
            240..=247 => operand.as_inline_float().unwrap_or(0.0).to_bits(),
            248 => 0x3fc4_5f30_6dc9_c882,
            _ => u64::from(self.constant32(inst, operand)),
        }
    }

    #[inline(always)]
    pub fn set_scalar32(&mut self, operand: Operand, value: u32) {
        if let code @ 0..=127 = operand.code() {
            self.scalars[usize::from(code)] = value;
        }
    }

    #[inline(always)]
    pub fn set_scalar64(&mut self, operand: Operand, value: u64) {
        if let code @ 0..=127 = operand.code() {
            self.set_pair(usize::from(code), value);
        }
    }

    /// Writes the registers of a completed vector access. Accesses may complete in any order.
    pub fn complete(&mut self, op: &MemOp) -> Result<(), Fault> {
        match &op.destination {
            Destination::None => {}
            Destination::Vgprs { first, extension } => {
                let first = usize::from(*first);
                match extension {
                    Extension::Zero => {
                        let words = match op.kind {
                            crate::memop::Kind::Atomic { .. } => usize::from(op.element_bytes / 4),
                            _ => op.data.len(),
                        };
                        for (n, row) in op.data.iter().take(words).enumerate() {
                            self.write_vgpr(first + n, row, op.mask);
                        }
                    }
                    Extension::SignByte => {
                        if let Some(row) = op.data.first() {
                            self.write_vgpr(first, &lanes(|lane| row[lane] as i8 as u32), op.mask);
                        }
                    }
                    Extension::SignShort => {
                        if let Some(row) = op.data.first() {
                            self.write_vgpr(first, &lanes(|lane| row[lane] as i16 as u32), op.mask);
                        }
                    }
                }
            }
            Destination::Texels { first, sampled } => sampled.write(self, usize::from(*first), op)?,
        }
        Ok(())
    }

    /// Writes the registers of a completed scalar load.
    pub fn complete_scalar(&mut self, op: &ScalarOp) {
        if op.store {
            return;
        }
        for word in 0..usize::from(op.words) {
            let inside = op.out_of_range >> word & 1 == 0;
            self.scalars[(usize::from(op.destination) + word) & 127] = if inside { op.data[word] } else { 0 };
        }
    }
}
