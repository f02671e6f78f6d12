//! Sixty-four lanes at once: the loops in which vector instructions spend their time.
//!
//! A vector instruction is a closure from a lane number to that lane's result; [`lanes`] runs it for all 64. The
//! compiler turns the loop into vector code, but only for the features it may assume, which for a distributed
//! program is SSE2, where a fused multiply-add is a call into the C library. So the same loop is compiled for
//! AVX2 + FMA and for AVX-512 too, and the best version the host has is picked at run time. The versions compute
//! the same bits: nothing here allows the compiler to contract or reorder floating-point arithmetic.
//!
//! This is the only file of the crate with `unsafe`: calling a function compiled for features that the host was
//! just found to have.
#![allow(unsafe_code)]

use std::{
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU8, Ordering},
};

/// One register: a value per lane, where a vector load of the host likes to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 64]);

impl Row {
    /// The same value in every lane.
    #[inline(always)]
    pub fn splat(value: u32) -> Self {
        Self([value; 64])
    }
}

impl Default for Row {
    fn default() -> Self {
        Self::splat(0)
    }
}

impl Deref for Row {
    type Target = [u32; 64];

    #[inline(always)]
    fn deref(&self) -> &[u32; 64] {
        &self.0
    }
}

impl DerefMut for Row {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u32; 64] {
        &mut self.0
    }
}

/// The lane loops that this host can run, the widest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Level {
    Unknown,
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Unknown as u8);

#[cold]
fn detect() -> u8 {
    #[cfg(target_arch = "x86_64")]
    let level = {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (avx2, avx512) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            _ => Level::Baseline,
        }
    };
    #[cfg(not(target_arch = "x86_64"))]
    let level = Level::Baseline;
    LEVEL.store(level as u8, Ordering::Relaxed);
    level as u8
}

#[inline(always)]
fn level() -> u8 {
    match LEVEL.load(Ordering::Relaxed) {
        0 => detect(),
        level => level,
    }
}

#[inline(always)]
fn each_lane<R: Copy + Default>(out: &mut [R; 64], f: impl Fn(usize) -> R) {
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(lane);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn each_lane_avx2<R: Copy + Default>(out: &mut [R; 64], f: impl Fn(usize) -> R) {
    each_lane(out, f);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn each_lane_avx512<R: Copy + Default>(out: &mut [R; 64], f: impl Fn(usize) -> R) {
    each_lane(out, f);
}

/// The results of `f` for every lane.
#[inline]
pub fn lanes<R: Copy + Default>(f: impl Fn(usize) -> R) -> [R; 64] {
    let mut out = [R::default(); 64];
    match level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found AVX2 and FMA on this processor (every such processor has the bit-manipulation sets).
        l if l == Level::Avx2 as u8 => unsafe { each_lane_avx2(&mut out, f) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found these AVX-512 sets, AVX2 and FMA on this processor.
        l if l == Level::Avx512 as u8 => unsafe { each_lane_avx512(&mut out, f) },
        _ => each_lane(&mut out, f),
    }
    out
}

/// The lanes for which `f` holds, as a mask like EXEC and VCC.
#[inline]
pub fn mask(f: impl Fn(usize) -> bool) -> u64 {
    let bytes: [u8; 64] = lanes(|lane| f(lane) as u8);
    let mut mask = 0;
    for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        // The multiplication gathers the low bits of eight bytes in the top byte, the first lane lowest.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= gathered << (8 * i);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_the_bit_of_every_lane_for_which_the_condition_holds() {
        for wanted in [0, 1, !0, 0x8000_0000_0000_0000, 0x0123_4567_89ab_cdef] {
            assert_eq!(mask(|lane| wanted >> lane & 1 == 1), wanted);
        }
    }

    #[test]
    fn every_version_of_the_loop_computes_the_same_bits() {
        let a: [f32; 64] = std::array::from_fn(|i| 1.0 + (i as f32) * 1e-3);
        let f = |lane: usize| a[lane].mul_add(a[63 - lane], -1.0).to_bits();
        let mut baseline = [0; 64];
        each_lane(&mut baseline, f);
        assert_eq!(lanes(f), baseline);
    }
}
