//! Exact arithmetic on floating-point numbers of any IEEE format, with all four rounding modes.
//!
//! The host's arithmetic rounds to nearest. This module is used for kernels that set another rounding mode in MODE, and
//! for the few instructions whose intermediate result does not fit a wider host type. Numbers are unpacked to a sign, a
//! 128-bit integer and a power of two. Bits that are shifted out set a sticky bit, so that one final rounding is
//! correct.

/// The rounding modes, numbered as in MODE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    NearestEven,
    Up,
    Down,
    Zero,
}

impl Round {
    /// From a two-bit field of MODE.
    pub const fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::NearestEven,
            1 => Self::Up,
            2 => Self::Down,
            _ => Self::Zero,
        }
    }
}

/// A binary interchange format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the fraction field.
    fraction: i32,
    /// The exponent bias, also the largest exponent.
    bias: i32,
}

pub const F16: Format = Format { fraction: 10, bias: 15 };
pub const F32: Format = Format { fraction: 23, bias: 127 };
pub const F64: Format = Format { fraction: 52, bias: 1023 };

impl Format {
    fn sign_bit(self) -> u64 {
        (2 * self.bias as u64 + 2) << self.fraction
    }

    fn infinity(self) -> u64 {
        (2 * self.bias as u64 + 1) << self.fraction
    }

    fn quiet_bit(self) -> u64 {
        1 << (self.fraction - 1)
    }

    fn quiet_nan(self) -> u64 {
        self.infinity() | self.quiet_bit()
    }
}

/// An unpacked number. A finite one is `mantissa * 2^exponent` with a non-zero mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Nan,
    Infinity { negative: bool },
    Zero { negative: bool },
    Finite { negative: bool, mantissa: u128, exponent: i32 },
}
use Number::{Finite, Infinity, Nan, Zero};

fn unpack(format: Format, bits: u64) -> Number {
    let negative = bits & format.sign_bit() != 0;
    let magnitude = bits & (format.sign_bit() - 1);
    let fraction = u128::from(magnitude & ((1 << format.fraction) - 1));
    let biased = (magnitude >> format.fraction) as i32;
    if magnitude > format.infinity() {
        Nan
    } else if magnitude == format.infinity() {
        Infinity { negative }
    } else if magnitude == 0 {
        Zero { negative }
    } else if biased == 0 {
        Finite { negative, mantissa: fraction, exponent: 1 - format.bias - format.fraction }
    } else {
        let exponent = biased - format.bias - format.fraction;
        Finite { negative, mantissa: fraction | 1 << format.fraction, exponent }
    }
}

fn pack(format: Format, number: Number, round: Round) -> u64 {
    let sign = |negative: bool| if negative { format.sign_bit() } else { 0 };
    let (negative, mantissa, exponent) = match number {
        Nan => return format.quiet_nan(),
        Infinity { negative } => return sign(negative) | format.infinity(),
        Zero { negative } => return sign(negative),
        Finite { negative, mantissa, exponent } => (negative, mantissa, exponent),
    };
    let top = exponent + 127 - mantissa.leading_zeros() as i32;
    let mut last = (top - format.fraction).max(1 - format.bias - format.fraction);
    let shift = last - exponent;
    let mut kept = if shift <= 0 { mantissa << -shift } else { mantissa.checked_shr(shift as u32).unwrap_or(0) };
    if shift > 0 {
        let lost = if shift < 128 { mantissa & ((1 << shift) - 1) } else { mantissa };
        let half = if shift <= 128 { 1u128 << (shift - 1) } else { u128::MAX };
        let away = match round {
            Round::NearestEven => lost > half || lost == half && kept & 1 == 1,
            Round::Up => lost != 0 && !negative,
            Round::Down => lost != 0 && negative,
            Round::Zero => false,
        };
        kept += u128::from(away);
    }
    if kept >> (format.fraction + 1) != 0 {
        kept >>= 1;
        last += 1;
    }
    if kept >> format.fraction == 0 {
        return sign(negative) | kept as u64;
    }
    let biased = last + format.fraction + format.bias;
    if biased > 2 * format.bias {
        let to_infinity = match round {
            Round::NearestEven => true,
            Round::Up => !negative,
            Round::Down => negative,
            Round::Zero => false,
        };
        return sign(negative) | (format.infinity() - u64::from(!to_infinity));
    }
    sign(negative) | (biased as u64) << format.fraction | (kept as u64 & ((1 << format.fraction) - 1))
}

fn product(a: Number, b: Number) -> Number {
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinity { .. }, Zero { .. }) | (Zero { .. }, Infinity { .. }) => Nan,
        (Infinity { negative: x }, Infinity { negative: y } | Finite { negative: y, .. })
        | (Finite { negative: x, .. }, Infinity { negative: y }) => Infinity { negative: x != y },
        (Zero { negative: x }, Zero { negative: y } | Finite { negative: y, .. })
        | (Finite { negative: x, .. }, Zero { negative: y }) => Zero { negative: x != y },
        (Finite { negative: x, mantissa: m, exponent: e }, Finite { negative: y, mantissa: n, exponent: f }) => {
            Finite { negative: x != y, mantissa: m * n, exponent: e + f }
        }
    }
}

/// The sum, exact except for a sticky lowest bit far below the precision of any format.
fn sum(a: Number, b: Number, round: Round) -> Number {
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinity { negative: x }, Infinity { negative: y }) => {
            if x == y {
                a
            } else {
                Nan
            }
        }
        (Infinity { .. }, _) => a,
        (_, Infinity { .. }) => b,
        (Zero { negative: x }, Zero { negative: y }) => {
            Zero { negative: if x == y { x } else { round == Round::Down } }
        }
        (Zero { .. }, _) => b,
        (_, Zero { .. }) => a,
        (Finite { negative: x, mantissa: m, exponent: e }, Finite { negative: y, mantissa: n, exponent: f }) => {
            // Both are shifted so that the top bit is 126, which leaves room for a carry.
            let normal = |m: u128, e: i32| (m << (m.leading_zeros() - 1), e - (m.leading_zeros() as i32 - 1));
            let ((m, e), (n, f)) = (normal(m, e), normal(n, f));
            let ((x, m, e), (y, n, f)) = if e >= f { ((x, m, e), (y, n, f)) } else { ((y, n, f), (x, m, e)) };
            let distance = (e - f) as u32;
            let lost = if distance < 128 { n & ((1 << distance) - 1) } else { n };
            let n = n.checked_shr(distance).unwrap_or(0) | u128::from(lost != 0);
            let (negative, mantissa) = match (x == y, m.cmp(&n)) {
                (true, _) => (x, m + n),
                (false, std::cmp::Ordering::Equal) => return Zero { negative: round == Round::Down },
                (false, std::cmp::Ordering::Greater) => (x, m - n),
                (false, std::cmp::Ordering::Less) => (y, n - m),
            };
            Finite { negative, mantissa, exponent: e }
        }
    }
}

/// The first NaN among the operands, made quiet, as an operation returns it.
fn propagate(format: Format, operands: &[u64]) -> Option<u64> {
    let is_nan = |bits: &&u64| **bits & (format.sign_bit() - 1) > format.infinity();
    operands.iter().find(is_nan).map(|bits| bits | format.quiet_bit())
}

/// `a * b + c`, rounded once.
pub fn fma(format: Format, a: u64, b: u64, c: u64, round: Round) -> u64 {
    propagate(format, &[a, b, c]).unwrap_or_else(|| {
        let product = product(unpack(format, a), unpack(format, b));
        pack(format, sum(product, unpack(format, c), round), round)
    })
}

/// `(a * b + c) * 2^power`, rounded once.
pub fn fma_scaled(format: Format, a: u64, b: u64, c: u64, power: i32, round: Round) -> u64 {
    propagate(format, &[a, b, c]).unwrap_or_else(|| {
        let product = product(unpack(format, a), unpack(format, b));
        let scaled = match sum(product, unpack(format, c), round) {
            Finite { negative, mantissa, exponent } => Finite { negative, mantissa, exponent: exponent + power },
            other => other,
        };
        pack(format, scaled, round)
    })
}

pub fn add(format: Format, a: u64, b: u64, round: Round) -> u64 {
    propagate(format, &[a, b]).unwrap_or_else(|| pack(format, sum(unpack(format, a), unpack(format, b), round), round))
}

pub fn mul(format: Format, a: u64, b: u64, round: Round) -> u64 {
    propagate(format, &[a, b]).unwrap_or_else(|| pack(format, product(unpack(format, a), unpack(format, b)), round))
}

/// Converts a number to another format.
pub fn convert(from: Format, to: Format, bits: u64, round: Round) -> u64 {
    match unpack(from, bits) {
        Nan => {
            let payload = bits & ((1 << from.fraction) - 1);
            let moved = match to.fraction - from.fraction {
                wider if wider >= 0 => payload << wider,
                narrower => payload >> -narrower,
            };
            let sign = if bits & from.sign_bit() != 0 { to.sign_bit() } else { 0 };
            sign | to.quiet_nan() | moved
        }
        number => pack(to, number, round),
    }
}

/// Converts an integer to a floating-point number.
pub fn from_integer(to: Format, negative: bool, magnitude: u64, round: Round) -> u64 {
    match magnitude {
        0 => 0,
        magnitude => pack(to, Finite { negative, mantissa: u128::from(magnitude), exponent: 0 }, round),
    }
}

/// `x * 2^power`, rounded once.
pub fn scale(format: Format, bits: u64, power: i32, round: Round) -> u64 {
    propagate(format, &[bits]).unwrap_or_else(|| match unpack(format, bits) {
        Finite { negative, mantissa, exponent } => {
            // Beyond this range every format has only zero or infinity, and the sum can't overflow.
            let exponent = exponent + power.clamp(-10_000, 10_000);
            pack(format, Finite { negative, mantissa, exponent }, round)
        }
        other => pack(format, other, round),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit patterns around all special values, and some others.
    fn patterns32() -> Vec<u32> {
        let mut all = vec![];
        for base in [0u32, 1, 2, 0x7f_ffff, 0x80_0000, 0x80_0001, 0x3f80_0000, 0x3f80_0001, 0x3fff_ffff, 0x7f7f_ffff] {
            all.extend([base, base | 0x8000_0000]);
        }
        all.extend([0x7f80_0000, 0xff80_0000]);
        let mut state = 12345u32;
        for _ in 0..60 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            all.push(state & 0xff7f_ffff);
        }
        all
    }

    #[test]
    fn rounding_to_nearest_agrees_with_the_host() {
        let all = patterns32();
        for &a in &all {
            for &b in &all {
                let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                let check = |got: u64, want: f32, what: &str| {
                    let same = got == u64::from(want.to_bits()) || want.is_nan() && f32::from_bits(got as u32).is_nan();
                    assert!(same, "{what} {a:#x} {b:#x}: {got:#x}, the host has {:#x}", want.to_bits());
                };
                check(add(F32, a.into(), b.into(), Round::NearestEven), x + y, "add");
                check(mul(F32, a.into(), b.into(), Round::NearestEven), x * y, "mul");
                for &c in all.iter().step_by(7) {
                    let want = x.mul_add(y, f32::from_bits(c));
                    check(fma(F32, a.into(), b.into(), c.into(), Round::NearestEven), want, "fma");
                }
            }
        }
    }

    #[test]
    fn doubles_rounded_to_nearest_agree_with_the_host() {
        let spread = |a: u32| f64::from_bits(u64::from(a) << 32 | u64::from(a.wrapping_mul(0x9e37_79b9)));
        for &a in &patterns32() {
            for &b in &patterns32() {
                let (x, y) = (spread(a), spread(b));
                let (p, q) = (x.to_bits(), y.to_bits());
                for (got, want) in [
                    (add(F64, p, q, Round::NearestEven), x + y),
                    (mul(F64, p, q, Round::NearestEven), x * y),
                    (fma(F64, p, q, (-x * y).to_bits(), Round::NearestEven), x.mul_add(y, -x * y)),
                    (fma(F64, p, q, 1.0f64.to_bits(), Round::NearestEven), x.mul_add(y, 1.0)),
                ] {
                    assert!(got == want.to_bits() || want.is_nan() && f64::from_bits(got).is_nan(), "{x:e} {y:e}");
                }
            }
        }
    }

    #[test]
    fn directed_rounding_brackets_the_exact_result() {
        for &a in &patterns32() {
            for &b in &patterns32() {
                let exact = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
                if exact.is_nan() {
                    continue;
                }
                let at = |round| f64::from(f32::from_bits(mul(F32, a.into(), b.into(), round) as u32));
                let (down, up, zero) = (at(Round::Down), at(Round::Up), at(Round::Zero));
                assert!(down <= exact && exact <= up, "{a:#x} * {b:#x}");
                assert_eq!(zero, if exact > 0.0 { down } else { up }, "{a:#x} * {b:#x}");
                if down != exact {
                    let next = f64::from((down as f32).next_up());
                    assert_eq!(up, next, "{a:#x} * {b:#x}: nothing lies between the two");
                }
            }
        }
    }

    #[test]
    fn overflow_goes_to_infinity_only_in_the_direction_of_rounding() {
        let max = u64::from(f32::MAX.to_bits());
        let at = |round| f32::from_bits(add(F32, max, max, round) as u32);
        assert_eq!(at(Round::NearestEven), f32::INFINITY);
        assert_eq!(at(Round::Up), f32::INFINITY);
        assert_eq!(at(Round::Down), f32::MAX);
        assert_eq!(at(Round::Zero), f32::MAX);
    }

    #[test]
    fn narrowing_agrees_with_the_host() {
        for &a in &patterns32() {
            let x = f64::from_bits(u64::from(a) << 32 | 0x1234_5678);
            let got = convert(F64, F32, x.to_bits(), Round::NearestEven);
            assert!(got == u64::from((x as f32).to_bits()) || x.is_nan(), "{x:e}");
        }
        assert_eq!(convert(F32, F16, 1.0f32.to_bits().into(), Round::NearestEven), 0x3c00);
        assert_eq!(convert(F32, F16, 65520.0f32.to_bits().into(), Round::NearestEven), 0x7c00);
        assert_eq!(convert(F32, F16, 65520.0f32.to_bits().into(), Round::Zero), 0x7bff);
    }
}
