//! A wavefront for testing instructions.

use gcn3::{
    error::Fault,
    exec::{Group, Step, handler, lds::Lds},
    inst::{Extra, Format, Inst, Mods, Operand},
    ops::Op,
    wave::Wavefront,
};

pub fn v(n: u8) -> Operand {
    Operand::vgpr(n)
}

pub fn s(n: u8) -> Operand {
    Operand::sgpr(n)
}

/// The inline constant of a small integer.
pub fn int(value: i32) -> Operand {
    Operand::from_field(if value >= 0 { 128 + value as u16 } else { (192 - value) as u16 })
}

/// An instruction with plain operands.
pub fn inst(op: Op, dst: Operand, src: &[Operand]) -> Inst {
    let mut all = [Operand::NONE; 3];
    all[..src.len()].copy_from_slice(src);
    Inst {
        op,
        format: Format::Vop3a,
        size: 8,
        dst,
        sdst: Operand::VCC,
        src: all,
        imm: 0,
        mods: Mods::default(),
        extra: Extra::None,
    }
}

/// A wavefront and an LDS of 1 KiB.
pub struct Bench {
    pub wave: Wavefront,
    pub group: Group,
}

impl Bench {
    pub fn new() -> Self {
        let mut wave = Wavefront::new();
        wave.scalars[124] = !0; // M0: no limit on the local data share
        Self { wave, group: Group { lds: Lds::new(1024), ..Group::default() } }
    }

    pub fn try_run(&mut self, inst: &Inst) -> Result<Step, Fault> {
        let handler = handler(inst.op).unwrap_or_else(|| panic!("{} has no handler", inst.op.mnemonic()));
        handler(&mut self.wave, inst, &mut self.group)
    }

    pub fn run(&mut self, inst: &Inst) -> Step {
        self.try_run(inst).unwrap_or_else(|fault| panic!("{}: {fault}", inst.op.mnemonic()))
    }

    pub fn set(&mut self, register: u8, f: impl Fn(usize) -> u32) {
        self.wave.vgprs[usize::from(register)].0 = std::array::from_fn(f);
    }

    /// Sets a register pair.
    pub fn set64(&mut self, register: u8, f: impl Fn(usize) -> u64) {
        self.set(register, |lane| f(lane) as u32);
        self.set(register + 1, |lane| (f(lane) >> 32) as u32);
    }

    pub fn get(&self, register: u8, lane: usize) -> u32 {
        self.wave.vgprs[usize::from(register)][lane]
    }

    pub fn get64(&self, register: u8, lane: usize) -> u64 {
        u64::from(self.get(register, lane)) | u64::from(self.get(register + 1, lane)) << 32
    }
}

/// The result of a vector instruction on 32-bit operands, which are equal in every lane.
pub fn vector(op: Op, operands: &[u32]) -> u32 {
    vector_in_mode(op, operands, 0x3c0)
}

pub fn vector_in_mode(op: Op, operands: &[u32], mode: u32) -> u32 {
    let mut bench = Bench::new();
    bench.wave.mode.0 = mode;
    let sources: Vec<Operand> = (0..operands.len() as u8).map(|n| v(n + 1)).collect();
    for (n, value) in operands.iter().enumerate() {
        bench.set(n as u8 + 1, |_| *value);
    }
    bench.set(0, |_| 0xdead_beef);
    bench.run(&inst(op, v(0), &sources));
    bench.get(0, 17)
}

/// Variant of `vector` for floats.
pub fn float(op: Op, operands: &[f32]) -> f32 {
    let bits: Vec<u32> = operands.iter().map(|x| x.to_bits()).collect();
    f32::from_bits(vector(op, &bits))
}

/// The result of a vector instruction on 64-bit operands, which are equal in every lane.
pub fn double(op: Op, operands: &[f64]) -> f64 {
    double_in_mode(op, operands, 0x3c0)
}

pub fn double_in_mode(op: Op, operands: &[f64], mode: u32) -> f64 {
    let mut bench = Bench::new();
    bench.wave.mode.0 = mode;
    let sources: Vec<Operand> = (0..operands.len() as u8).map(|n| v(2 * n + 2)).collect();
    for (n, value) in operands.iter().enumerate() {
        bench.set64(2 * n as u8 + 2, |_| value.to_bits());
    }
    bench.run(&inst(op, v(0), &sources));
    f64::from_bits(bench.get64(0, 41))
}

/// A deterministic generator of pseudo-random numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 >> 33) ^ self.0;
        mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ mixed >> 29
    }
}
