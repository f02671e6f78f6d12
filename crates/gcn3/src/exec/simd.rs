//! The loops over 64 lanes, in which vector instructions spend their time.
//!
//! A vector instruction is a closure from a lane number to that lane's result; [`lanes`] evaluates it for all 64. The
//! compiler vectorises the loop, but only for features that it may assume. For a distributed program that is SSE2,
//! where a fused multiply-add is a call into the C library. So the loop is also compiled for AVX2 + FMA and for
//! AVX-512, and the best version for the host is selected at run time. All versions compute the same bits: nothing here
//! allows the compiler to contract or reorder floating-point arithmetic.
//!
//! This is the only file of the crate with `unsafe`: it calls functions compiled for features that the host was found
//! to have.
#![allow(unsafe_code)]

use std::{
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU8, Ordering},
};

/// One register: a value per lane, aligned for the host's vector loads.
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

/// A version of the lane loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Available on every computer.
    Baseline = 1,
    /// AVX2 and fused multiply-add.
    Avx2,
    /// AVX-512.
    Avx512,
}

/// The level in use; 0 before it has been determined.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The levels that this host can run, the widest last. The widest is used unless [`use_level`] says otherwise.
pub fn levels() -> Vec<Level> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut levels = vec![Level::Baseline];
    #[cfg(target_arch = "x86_64")]
    {
        let bits = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        if bits && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            levels.push(Level::Avx2);
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            levels.extend(avx512.then_some(Level::Avx512));
        }
    }
    levels
}

/// Uses `level` from now on, for comparisons: it affects only speed, not results. Returns whether the host supports it;
/// otherwise nothing changes.
pub fn use_level(level: Level) -> bool {
    let can = levels().contains(&level);
    if can {
        LEVEL.store(level as u8, Ordering::Relaxed);
    }
    can
}

#[cold]
fn detect() -> u8 {
    let widest = *levels().last().expect("every host has the baseline") as u8;
    LEVEL.store(widest, Ordering::Relaxed);
    widest
}

#[inline(always)]
fn level() -> u8 {
    match LEVEL.load(Ordering::Relaxed) {
        0 => detect(),
        level => level,
    }
}

/// A result per lane that is being filled in: every lane is written before any is read.
type Filling<R> = [MaybeUninit<R>; 64];

/// Compiles a loop over the lanes three times, and selects a version at run time.
macro_rules! dispatched {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident$(<$($generic:ident: $bound:path),*>)?($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[inline(always)]
        $visibility fn $name$(<$($generic: $bound),*>)?($($argument: $type),*) {
            #[inline(always)]
            fn anywhere$(<$($generic: $bound),*>)?($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2$(<$($generic: $bound),*>)?($($argument: $type),*) {
                anywhere($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512$(<$($generic: $bound),*>)?($($argument: $type),*) {
                anywhere($($argument),*)
            }

            match level() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: only a level that `levels` found here is ever in use; this one needs AVX2, FMA and bit
                // manipulation.
                l if l == Level::Avx2 as u8 => unsafe { avx2($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: only a level that `levels` found here is ever in use; this one also needs the AVX-512 sets
                // named above.
                l if l == Level::Avx512 as u8 => unsafe { avx512($($argument),*) },
                _ => anywhere($($argument),*),
            }
        }
    };
}

dispatched! {
    fn fill<R: Copy, F: LaneFn<R>>(out: &mut Filling<R>, f: F) {
        for (lane, out) in out.iter_mut().enumerate() {
            out.write(f.at(lane));
        }
    }
}

/// A closure from a lane to its result, as a trait that the macro can name.
trait LaneFn<R> {
    fn at(&self, lane: usize) -> R;
}

impl<R, F: Fn(usize) -> R> LaneFn<R> for F {
    #[inline(always)]
    fn at(&self, lane: usize) -> R {
        self(lane)
    }
}

/// Evaluates `f` for every lane.
#[inline(always)]
pub fn lanes<R: Copy>(f: impl Fn(usize) -> R) -> [R; 64] {
    let mut out = MaybeUninit::<[R; 64]>::uninit();
    // SAFETY: a possibly uninitialised array has the layout of an array of possibly uninitialised values.
    fill(unsafe { &mut *out.as_mut_ptr().cast::<Filling<R>>() }, f);
    // SAFETY: `fill` has written every lane.
    unsafe { out.assume_init() }
}

/// Evaluates `f` for every lane into `out`.
#[inline(always)]
pub fn lanes_into<R: Copy>(out: &mut [R; 64], f: impl Fn(usize) -> R) {
    // SAFETY: an array of values is also an array of possibly uninitialised values, and `fill` writes only values.
    fill(unsafe { &mut *std::ptr::from_mut(out).cast::<Filling<R>>() }, f);
}

/// Copies the lanes of `mask`.
#[inline(always)]
pub fn blend(row: &mut Row, values: &[u32; 64], mask: u64) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 as u8 {
        // SAFETY: `detect` found AVX-512 here.
        return unsafe { blend_avx512(row, values, mask) };
    }
    blend_anywhere(row, values, mask);
}

dispatched! {
    fn blend_anywhere(row: &mut Row, values: &[u32; 64], mask: u64) {
        if mask == !0 {
            for (to, from) in row.iter_mut().zip(values) {
                *to = *from;
            }
        } else {
            for (lane, (to, from)) in row.iter_mut().zip(values).enumerate() {
                *to = if mask >> lane & 1 == 1 { *from } else { *to };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn blend_avx512(row: &mut Row, values: &[u32; 64], mask: u64) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_mask_storeu_epi32};
    for quarter in 0..4 {
        // SAFETY: there are sixteen lanes at each of these places.
        unsafe {
            let new = _mm512_loadu_si512(values.as_ptr().add(16 * quarter).cast());
            let to = row.0.as_mut_ptr().add(16 * quarter).cast();
            _mm512_mask_storeu_epi32(to, (mask >> (16 * quarter)) as u16, new);
        }
    }
}

dispatched! {
    fn distances(out: &mut Distances, addresses: &[u64; 64], mask: u64, base: u64, last: u64) {
        let first = addresses[0].wrapping_sub(base);
        let (mut wrong, mut gaps) = (0, 0);
        for (lane, (of, address)) in out.of.iter_mut().zip(addresses).enumerate() {
            let active = 0u64.wrapping_sub(mask >> lane & 1);
            let distance = address.wrapping_sub(base) & active;
            wrong |= u64::from(distance > last);
            gaps |= distance ^ first.wrapping_add(4 * lane as u64);
            *of = distance as u32;
        }
        out.wrong = wrong != 0;
        out.consecutive = gaps == 0 && mask == !0;
    }
}

/// The distances of active lanes' addresses from a base; 0 for inactive lanes.
pub struct Distances {
    pub of: [u32; 64],
    wrong: bool,
    /// Whether all 64 lanes are active, with consecutive words.
    pub consecutive: bool,
}

/// The distances of the lanes of `mask` from `base`; none if one exceeds `last`.
#[inline(always)]
pub fn distances_within(addresses: &[u64; 64], mask: u64, base: u64, last: u64) -> Option<Distances> {
    let mut out = Distances { of: [0; 64], wrong: false, consecutive: false };
    distances(&mut out, addresses, mask, base, last.min(u64::from(u32::MAX)));
    (!out.wrong).then_some(out)
}

/// Reads the words at the lanes' byte addresses (the low two bits are ignored); 0 beyond the end.
#[inline(always)]
pub fn gather(words: &[u32], addresses: &[u32; 64], offset: u32, out: &mut [u32; 64]) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 as u8 {
        // SAFETY: `detect` found AVX-512 here.
        return unsafe { gather_avx512(words, addresses, offset, out) };
    }
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx2 as u8 {
        // SAFETY: `detect` found AVX2 here.
        return unsafe { gather_avx2(words, addresses, offset, out) };
    }
    gather_anywhere(words, addresses, offset, out);
}

fn gather_anywhere(words: &[u32], addresses: &[u32; 64], offset: u32, out: &mut [u32; 64]) {
    for (out, address) in out.iter_mut().zip(addresses) {
        *out = words.get(address.wrapping_add(offset) as usize / 4).copied().unwrap_or(0);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn gather_avx512(words: &[u32], addresses: &[u32; 64], offset: u32, out: &mut [u32; 64]) {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_cmplt_epu32_mask, _mm512_loadu_si512, _mm512_mask_i32gather_epi32, _mm512_set1_epi32,
        _mm512_setzero_si512, _mm512_srli_epi32, _mm512_storeu_si512,
    };
    // An index has 30 bits, so a longer slice makes no difference.
    let end = _mm512_set1_epi32(words.len().min(1 << 30) as i32);
    let offset = _mm512_set1_epi32(offset as i32);
    for quarter in 0..4 {
        // SAFETY: there are sixteen addresses at this place.
        let address = unsafe { _mm512_loadu_si512(addresses.as_ptr().add(16 * quarter).cast()) };
        let index = _mm512_srli_epi32::<2>(_mm512_add_epi32(address, offset));
        let inside = _mm512_cmplt_epu32_mask(index, end);
        // SAFETY: only words with an index below the length are read.
        let values =
            unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, index, words.as_ptr().cast()) };
        // SAFETY: there are sixteen lanes of the result at this place.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(16 * quarter).cast(), values) };
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn gather_avx2(words: &[u32], addresses: &[u32; 64], offset: u32, out: &mut [u32; 64]) {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_mask_i32gather_epi32, _mm256_set1_epi32,
        _mm256_setzero_si256, _mm256_srli_epi32, _mm256_storeu_si256,
    };
    // An index has 30 bits, so a longer slice makes no difference, and signs play no part.
    let end = _mm256_set1_epi32(words.len().min(1 << 30) as i32);
    let offset = _mm256_set1_epi32(offset as i32);
    for eighth in 0..8 {
        // SAFETY: there are eight addresses at this place.
        let address = unsafe { _mm256_loadu_si256(addresses.as_ptr().add(8 * eighth).cast()) };
        let index = _mm256_srli_epi32::<2>(_mm256_add_epi32(address, offset));
        let inside = _mm256_cmpgt_epi32(end, index);
        // SAFETY: only words with an index below the length are read.
        let values =
            unsafe { _mm256_mask_i32gather_epi32::<4>(_mm256_setzero_si256(), words.as_ptr().cast(), index, inside) };
        // SAFETY: there are eight lanes of the result at this place.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(8 * eighth).cast(), values) };
    }
}

/// The lanes for which `f` holds, as a mask like EXEC and VCC.
#[inline]
pub fn mask(f: impl Fn(usize) -> bool) -> u64 {
    let bytes: [u8; 64] = lanes(|lane| f(lane) as u8);
    let mut mask = 0;
    for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        // The multiplication collects the low bits of eight bytes in the top byte, the first lane lowest.
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
    fn blending_changes_the_lanes_of_the_mask_only() {
        let mut row = Row::splat(7);
        let values: [u32; 64] = std::array::from_fn(|lane| 100 + lane as u32);
        let mask = 0x8000_0001_f00f_0002;
        let mut anywhere = row;
        blend(&mut row, &values, mask);
        blend_anywhere(&mut anywhere, &values, mask);
        assert_eq!(row, anywhere);
        for lane in 0..64 {
            assert_eq!(row[lane], if mask >> lane & 1 == 1 { values[lane] } else { 7 }, "lane {lane}");
        }
    }

    #[test]
    fn distances_are_those_of_active_lanes() {
        let mut addresses: [u64; 64] = std::array::from_fn(|lane| 0x1000 + 8 * lane as u64);
        addresses[5] = 1;
        assert!(distances_within(&addresses, !0, 0x1000, 4096).is_none());
        let got = distances_within(&addresses, !(1 << 5), 0x1000, 4096).unwrap();
        assert_eq!((got.of[4], got.of[5], got.of[6], got.of[63]), (32, 0, 48, 504));
        assert!(distances_within(&addresses, 1 << 63, 0x1000, 503).is_none());
        assert!(distances_within(&[1 << 40; 64], !0, 0, u64::MAX).is_none());
    }

    #[test]
    fn consecutive_words_are_noticed() {
        let mut addresses: [u64; 64] = std::array::from_fn(|lane| 0x2000 + 4 * lane as u64);
        fn consecutive(addresses: &[u64; 64], mask: u64) -> bool {
            distances_within(addresses, mask, 0x1000, 1 << 20).is_some_and(|distances| distances.consecutive)
        }
        assert!(consecutive(&addresses, !0));
        assert!(!consecutive(&addresses, !1));
        let at_base: [u64; 64] = std::array::from_fn(|lane| 0x1000 + 4 * lane as u64);
        assert!(!consecutive(&at_base, !1), "a lane that is off never counts");
        addresses[63] += 4;
        assert!(!consecutive(&addresses, !0));
    }

    #[test]
    fn gathering_reads_zero_beyond_the_end() {
        let words: Vec<u32> = (100..150).collect();
        let addresses: [u32; 64] = std::array::from_fn(|lane| if lane == 7 { u32::MAX - 3 } else { 4 * lane as u32 });
        let [mut got, mut anywhere] = [[1; 64]; 2];
        gather(&words, &addresses, 8, &mut got);
        gather_anywhere(&words, &addresses, 8, &mut anywhere);
        assert_eq!(got, anywhere);
        #[cfg(target_arch = "x86_64")]
        if levels().contains(&Level::Avx2) {
            let mut of_eights = [1; 64];
            // SAFETY: this host has AVX2.
            unsafe { gather_avx2(&words, &addresses, 8, &mut of_eights) };
            assert_eq!(of_eights, anywhere);
        }
        for (lane, value) in got.into_iter().enumerate() {
            let want = match lane {
                7 => 101,
                lane if lane + 2 < 50 => 102 + lane as u32,
                _ => 0,
            };
            assert_eq!(value, want, "lane {lane}");
        }
    }

    #[test]
    fn every_version_of_the_loop_computes_the_same_bits() {
        let a: [f32; 64] = std::array::from_fn(|i| 1.0 + (i as f32) * 1e-3);
        let f = |lane: usize| a[lane].mul_add(a[63 - lane], -1.0).to_bits();
        let one_by_one: [u32; 64] = std::array::from_fn(f);
        assert_eq!(lanes(f), one_by_one);
    }
}
