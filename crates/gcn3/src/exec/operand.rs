//! Operands of vector instructions: converts registers and constants to 64 lanes, and writes results.
//!
//! Features of the encodings are implemented here, once for all instructions: broadcast of constants and scalar
//! registers, absolute value and negation, the register parts selected by SDWA, the lane permutations of DPP, output
//! modifier and clamp, and EXEC.

use std::mem::MaybeUninit;

use super::{
    Step,
    float::{f16_to_f32, f32_to_f16},
    simd::{Row, lanes},
};
use crate::{
    error::Fault,
    inst::{DppControl, Extra, Inst, Omod, Sdwa, Select, Unused},
    wave::Wavefront,
};

/// A buffer for the lanes of an operand that is not in a vector register, or not in its final form.
pub type Spread = MaybeUninit<Row>;
pub type Spread64 = MaybeUninit<[Row; 2]>;

/// The width of an operand and whether it is a float, which determine the meaning of constants and modifiers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Width {
    I16,
    F16,
    I32,
    F32,
}

impl Wavefront {
    /// The lanes of source `n`, an operand of up to 32 bits. `spread` is a buffer for values that are not in a vector
    /// register.
    #[inline(always)]
    pub(super) fn source<'a>(&'a self, inst: &Inst, n: usize, width: Width, spread: &'a mut Spread) -> &'a Row {
        let plain = (inst.mods.abs | inst.mods.neg) >> n & 1 == 0;
        match (inst.src[n].as_vgpr(), inst.extra) {
            (Some(register), Extra::None) if plain => &self.vgprs[usize::from(register)],
            _ => self.prepare(inst, n, width, spread),
        }
    }

    #[inline(never)]
    fn prepare<'a>(&self, inst: &Inst, n: usize, width: Width, spread: &'a mut Spread) -> &'a Row {
        let out = match inst.src[n].as_vgpr() {
            Some(register) => spread.write(self.vgprs[usize::from(register)]),
            None => spread.write(Row::splat(self.constant_of_width(inst, n, width))),
        };
        match inst.extra {
            Extra::Sdwa(sdwa) if n < 2 => {
                let row = *out;
                let signed = sdwa.sext >> n & 1 == 1;
                let select = sdwa.src_sel[n];
                out.0 = lanes(|lane| selected(row[lane], select, signed));
            }
            Extra::Dpp(dpp) if n == 0 => {
                let row = *out;
                out.0 = std::array::from_fn(|lane| match self.dpp_lane(dpp.control, lane) {
                    Some(from) => row[from],
                    None => 0,
                });
            }
            _ => {}
        }
        let (abs, neg) = (inst.mods.abs >> n & 1 == 1, inst.mods.neg >> n & 1 == 1);
        let sign = match width {
            Width::F32 => 1 << 31,
            Width::F16 => 1 << 15,
            _ => 0,
        };
        if (abs || neg) && sign != 0 {
            let (clear, flip) = (if abs { sign } else { 0 }, if neg { sign } else { 0 });
            for value in out.iter_mut() {
                *value = (*value & !clear) ^ flip;
            }
        }
        out
    }

    fn constant_of_width(&self, inst: &Inst, n: usize, width: Width) -> u32 {
        let operand = inst.src[n];
        match (width, operand.as_inline_float()) {
            (Width::F16 | Width::I16, Some(float)) => f32_to_f16(float as f32),
            _ => self.scalar32(inst, operand),
        }
    }

    /// The lanes of source `n`, an operand of 64 bits, as rows of low and high halves.
    #[inline(always)]
    pub(super) fn source64<'a>(
        &'a self,
        inst: &Inst,
        n: usize,
        float: bool,
        spread: &'a mut Spread64,
    ) -> (&'a Row, &'a Row) {
        let plain = (inst.mods.abs | inst.mods.neg) >> n & 1 == 0;
        match inst.src[n].as_vgpr() {
            Some(register) if plain => (self.vgpr(usize::from(register)), self.vgpr(usize::from(register) + 1)),
            _ => {
                let [low, high] = self.prepare64(inst, n, float, spread);
                (low, high)
            }
        }
    }

    #[inline(never)]
    fn prepare64<'a>(&self, inst: &Inst, n: usize, float: bool, spread: &'a mut Spread64) -> &'a [Row; 2] {
        let out = match inst.src[n].as_vgpr() {
            Some(register) => spread.write([*self.vgpr(usize::from(register)), *self.vgpr(usize::from(register) + 1)]),
            None => {
                let value = match inst.src[n].code() {
                    // A literal is the high half of a float.
                    255 if float => u64::from(inst.imm) << 32,
                    _ => self.scalar64(inst, inst.src[n]),
                };
                spread.write([Row::splat(value as u32), Row::splat((value >> 32) as u32)])
            }
        };
        if float {
            let clear = if inst.mods.abs >> n & 1 == 1 { 1 << 31 } else { 0 };
            let flip = if inst.mods.neg >> n & 1 == 1 { 1 << 31 } else { 0 };
            for value in out[1].iter_mut() {
                *value = (*value & !clear) ^ flip;
            }
        }
        out
    }

    /// Writes a result that is not a float.
    #[inline(always)]
    pub(super) fn write(&mut self, inst: &Inst, out: &[u32; 64]) -> Result<Step, Fault> {
        let Some(register) = inst.dst.as_vgpr() else {
            return Ok(Step::Done);
        };
        match inst.extra {
            Extra::None => self.write_vgpr(usize::from(register), out, self.exec()),
            _ => self.write_special(inst, usize::from(register), out),
        }
        Ok(Step::Done)
    }

    #[inline(never)]
    fn write_special(&mut self, inst: &Inst, register: usize, out: &[u32; 64]) {
        match inst.extra {
            Extra::Sdwa(sdwa) => {
                let old = *self.vgpr(register);
                let merged = lanes(|lane| merged(old[lane], out[lane], sdwa));
                self.write_vgpr(register, &merged, self.exec());
            }
            _ => self.write_vgpr(register, out, self.exec() & self.dpp_mask(inst)),
        }
    }

    /// Writes the result of a 32-bit float operation.
    #[inline(always)]
    pub(super) fn write_f32(&mut self, inst: &Inst, out: [u32; 64]) -> Result<Step, Fault> {
        if inst.mods.omod == Omod::None && !inst.mods.clamp {
            return self.write(inst, &out);
        }
        let denormals = self.mode.denormals32();
        let factor = self.omod(inst, denormals.output_kept());
        let (clamp, zero_nan) = (inst.mods.clamp, self.mode.dx10_clamp());
        let out = lanes(|lane| {
            let mut value = f32::from_bits(out[lane]);
            if factor != 1.0 {
                // Output modifiers also turn -0 into +0.
                value = value * factor as f32 + 0.0;
            }
            if clamp {
                value = clamped(value.into(), zero_nan) as f32;
            }
            super::float::flush32(value.to_bits(), denormals.keep_out32())
        });
        self.write(inst, &out)
    }

    /// Writes the result of a 16-bit float operation.
    pub(super) fn write_f16(&mut self, inst: &Inst, out: [u32; 64]) -> Result<Step, Fault> {
        if inst.mods.omod == Omod::None && !inst.mods.clamp {
            return self.write(inst, &out);
        }
        let factor = self.omod(inst, self.mode.denormals64().output_kept()) as f32;
        let (clamp, zero_nan) = (inst.mods.clamp, self.mode.dx10_clamp());
        let out = lanes(|lane| {
            let mut value = f16_to_f32(out[lane]);
            if factor != 1.0 {
                value = value * factor + 0.0;
            }
            if clamp {
                value = clamped(value.into(), zero_nan) as f32;
            }
            f32_to_f16(value)
        });
        self.write(inst, &out)
    }

    /// Writes the result of a 64-bit integer operation.
    #[inline(always)]
    pub(super) fn write64(&mut self, inst: &Inst, out: &[u64; 64]) -> Result<Step, Fault> {
        let Some(register) = inst.dst.as_vgpr() else {
            return Ok(Step::Done);
        };
        let mask = self.exec();
        self.write_vgpr(usize::from(register), &lanes(|lane| out[lane] as u32), mask);
        self.write_vgpr(usize::from(register) + 1, &lanes(|lane| (out[lane] >> 32) as u32), mask);
        Ok(Step::Done)
    }

    /// Writes the result of a 64-bit float operation.
    #[inline(always)]
    pub(super) fn write_f64(&mut self, inst: &Inst, out: &[u64; 64]) -> Result<Step, Fault> {
        if inst.mods.omod == Omod::None && !inst.mods.clamp {
            return self.write64(inst, out);
        }
        let factor = self.omod(inst, self.mode.denormals64().output_kept());
        let (clamp, zero_nan) = (inst.mods.clamp, self.mode.dx10_clamp());
        let out = lanes(|lane| {
            let mut value = f64::from_bits(out[lane]);
            if factor != 1.0 {
                value = value * factor + 0.0;
            }
            if clamp {
                value = clamped(value, zero_nan);
            }
            value.to_bits()
        });
        self.write64(inst, &out)
    }

    /// The output modifier; there is none in IEEE mode or if results may be denormal.
    fn omod(&self, inst: &Inst, denormal_results: bool) -> f64 {
        match inst.mods.omod {
            _ if denormal_results || self.mode.ieee() => 1.0,
            Omod::None => 1.0,
            Omod::Mul2 => 2.0,
            Omod::Mul4 => 4.0,
            Omod::Div2 => 0.5,
        }
    }

    /// Writes a lane mask (a carry, or the result of a compare); inactive lanes get 0.
    #[inline(always)]
    pub(super) fn write_mask(&mut self, inst: &Inst, mask: u64) {
        let mask = mask & self.exec();
        self.set_scalar64(inst.sdst, mask);
    }

    /// The lane that a DPP instruction reads for `lane`; none if it is out of range or inactive.
    fn dpp_lane(&self, control: DppControl, lane: usize) -> Option<usize> {
        let (row, place) = (lane & !15, lane & 15);
        let from = match control {
            DppControl::QuadPerm(selects) => Some((lane & !3) + usize::from(selects >> (2 * (lane & 3)) & 3)),
            DppControl::RowShl(n) => (place + usize::from(n) < 16).then(|| lane + usize::from(n)),
            DppControl::RowShr(n) => (place >= usize::from(n)).then(|| lane - usize::from(n)),
            DppControl::RowRor(n) => Some(row + ((place + 16 - usize::from(n)) & 15)),
            DppControl::WaveShl => (lane < 63).then_some(lane + 1),
            DppControl::WaveRol => Some((lane + 1) & 63),
            DppControl::WaveShr => lane.checked_sub(1),
            DppControl::WaveRor => Some((lane + 63) & 63),
            DppControl::RowMirror => Some(row + 15 - place),
            DppControl::RowHalfMirror => Some((lane & !7) + 7 - (lane & 7)),
            DppControl::RowBcast15 => (row > 0).then(|| row - 1),
            DppControl::RowBcast31 => (lane >= 32).then_some(31),
        };
        from.filter(|from| self.exec() >> from & 1 == 1)
    }

    /// The lanes that a DPP instruction may write.
    pub(super) fn dpp_mask(&self, inst: &Inst) -> u64 {
        let Extra::Dpp(dpp) = inst.extra else { return !0 };
        (0..64).fold(0, |mask, lane| {
            let row = dpp.row_mask >> (lane / 16) & 1 == 1;
            let bank = dpp.bank_mask >> (lane / 4 % 4) & 1 == 1;
            let source = dpp.bound_ctrl || self.dpp_lane(dpp.control, lane).is_some();
            mask | u64::from(row && bank && source) << lane
        })
    }
}

/// Clamps a float to 0..=1; NaN becomes 0 or is kept.
#[inline(always)]
fn clamped(value: f64, zero_nan: bool) -> f64 {
    if value.is_nan() {
        if zero_nan { 0.0 } else { value }
    } else if value > 1.0 {
        1.0
    } else if value > 0.0 {
        value
    } else {
        0.0
    }
}

/// The part of a register that an SDWA source selects.
#[inline(always)]
fn selected(value: u32, select: Select, signed: bool) -> u32 {
    let (shift, bits) = place(select);
    let part = value >> shift;
    let unused = 32 - bits;
    if signed { ((part << unused) as i32 >> unused) as u32 } else { part << unused >> unused }
}

/// Merges an SDWA result into the old value of a register.
#[inline(always)]
fn merged(old: u32, value: u32, sdwa: Sdwa) -> u32 {
    let (shift, bits) = place(sdwa.dst_sel);
    let ones = u32::MAX >> (32 - bits);
    let part = (value & ones) << shift;
    match sdwa.dst_unused {
        Unused::Pad => part,
        Unused::Preserve => old & !(ones << shift) | part,
        Unused::Sext => {
            let unused = 32 - bits - shift;
            ((part << unused) as i32 >> unused) as u32
        }
    }
}

/// The first bit and the number of bits of a register part.
#[inline(always)]
fn place(select: Select) -> (u32, u32) {
    match select {
        Select::Byte0 => (0, 8),
        Select::Byte1 => (8, 8),
        Select::Byte2 => (16, 8),
        Select::Byte3 => (24, 8),
        Select::Word0 => (0, 16),
        Select::Word1 => (16, 16),
        Select::Dword => (0, 32),
    }
}
