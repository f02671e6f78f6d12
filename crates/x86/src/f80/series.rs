//! Elementary functions of [`Exact`] numbers to about 120 bits, far more than rounding to 64 needs, by argument
//! reduction and power series in Horner's form. Each series has as many terms as its largest argument needs; speed is
//! not a goal here.

use super::Exact;

const fn constant(exponent: i32, significand: u128) -> Exact {
    Exact { negative: false, exponent, significand }
}

pub(super) const PI: Exact = constant(1, 0xc90fdaa22168c234c4c6628b80dc1cd1);
const LN_2: Exact = constant(-1, 0xb17217f7d1cf79abc9e3b39803f2f6af);
const LOG2_E: Exact = constant(0, 0xb8aa3b295c17f0bbbe87fed0691d3e89);
const SQRT_HALF: Exact = constant(-1, 0xb504f333f9de6484597d89b3754abe9f);

/// Arc tangents of 1/8, 2/8 to 8/8.
const ATAN_EIGHTHS: [Exact; 8] = [
    constant(-4, 0xfeadd4d5617b6e32c897989f3e888ef8),
    constant(-3, 0xfadbafc96406eb156dc79ef5f7a217e6),
    constant(-2, 0xb7b0ca0f26f784738aa32122dcfe4483),
    constant(-2, 0xed63382b0dda7b456fe445ecbc3a8d03),
    constant(-1, 0x8f005d5ef7f59f9b5c835e1665c43748),
    constant(-1, 0xa4bc7d1934f7092419a87f2a457dac9f),
    constant(-1, 0xb8053e2bc2319e73cb2da55210a4443d),
    constant(-1, 0xc90fdaa22168c234c4c6628b80dc1cd1),
];

impl Exact {
    /// Divides by a small integer.
    fn over_small(self, divisor: u32) -> Exact {
        let divisor = u128::from(divisor);
        let (whole, rest) = (self.significand / divisor, self.significand % divisor);
        // The quotient lost as many leading bits as the divisor has: they are filled from the remainder.
        let places = whole.leading_zeros();
        let significand = (whole << places) | ((rest << places) / divisor);
        Exact { exponent: self.exponent - places as i32, significand, ..self }
    }

    fn small(value: u32) -> Exact {
        Exact::new(false, u128::from(value), 0).expect("not zero")
    }

    /// The sum of two numbers that can't cancel.
    fn add(self, other: Exact) -> Exact {
        self.plus(other).expect("the terms do not cancel")
    }
}

/// 1 + f(1) * (1 + f(2) * (... f(terms))), where f(k) is `argument` over the divisor of term k.
fn horner(argument: Exact, terms: u32, divisor: impl Fn(u32) -> u32) -> Exact {
    (1..=terms).rev().fold(Exact::ONE, |sum, k| Exact::ONE.add(argument.times(sum).over_small(divisor(k))))
}

/// 2^x - 1 for |x| <= 1.
pub(super) fn exp2_minus_one(x: Exact) -> Exact {
    let z = x.times(LN_2);
    z.times(horner(z, 32, |k| k + 1))
}

/// log2 of a positive number, which is not 1.
pub(super) fn log2(x: Exact) -> Exact {
    // x = mantissa * 2^exponent with the mantissa between the square roots of 1/2 and 2.
    let mut exponent = x.exponent + 1;
    let mut mantissa = Exact { exponent: -1, ..x };
    if mantissa.significand < SQRT_HALF.significand {
        mantissa.exponent += 1;
        exponent -= 1;
    }
    let whole = Exact::new(exponent < 0, u128::from(exponent.unsigned_abs()), 0);
    match (mantissa.plus(Exact::ONE.negated()), whole) {
        (Some(above_one), Some(whole)) => whole.add(log2_one_plus(above_one)),
        (Some(above_one), None) => log2_one_plus(above_one),
        (None, Some(whole)) => whole,
        (None, None) => unreachable!("the logarithm of 1 is left to the caller"),
    }
}

/// log2(1 + x) for x above -1, not zero.
pub(super) fn log2_one_plus(x: Exact) -> Exact {
    if x.exponent >= -1 {
        // |x| is at least 1/2: the sum is accurate, and `log2` handles it by its mantissa.
        return log2(Exact::ONE.add(x));
    }
    // ln(1 + x) = 2 artanh(x / (2 + x)) = 2 t (1 + t^2/3 + t^4/5 + ...)
    let t = x.over(Exact::small(2).add(x));
    let square = t.times(t);
    let terms = 30;
    let mut sum = Exact::ONE.over_small(2 * terms + 1);
    for k in (0..terms).rev() {
        sum = Exact::ONE.over_small(2 * k + 1).add(square.times(sum));
    }
    t.scaled(1).times(sum).times(LOG2_E)
}

/// sin x for |x| <= pi/4.
pub(super) fn sin(x: Exact) -> Exact {
    x.times(horner(x.times(x).negated(), 18, |k| 2 * k * (2 * k + 1)))
}

/// cos x for |x| <= pi/4.
pub(super) fn cos(x: Exact) -> Exact {
    horner(x.times(x).negated(), 18, |k| (2 * k - 1) * 2 * k)
}

/// The angle of the point (x, y) for positive x and y.
pub(super) fn angle(y: Exact, x: Exact) -> Exact {
    if (y.exponent, y.significand) > (x.exponent, x.significand) {
        return PI.scaled(-1).add(atan(x.over(y)).negated());
    }
    atan(y.over(x))
}

/// atan t for 0 < t <= 1.
fn atan(t: Exact) -> Exact {
    let eighths = t.scaled(3).to_integer(super::Rounding::Nearest).map_or(0, |(eighths, _)| eighths as u32);
    if eighths == 0 {
        return atan_small(t);
    }
    // atan t = atan c + atan((t - c) / (1 + t c))
    let near = ATAN_EIGHTHS[eighths as usize - 1];
    let c = Exact::small(eighths).scaled(-3);
    match t.plus(c.negated()) {
        Some(distance) => near.add(atan_small(distance.over(Exact::ONE.add(t.times(c))))),
        None => near,
    }
}

/// atan t for |t| <= 1/16.
fn atan_small(t: Exact) -> Exact {
    let square = t.times(t).negated();
    let terms = 18;
    let mut sum = Exact::ONE.over_small(2 * terms + 1);
    for k in (0..terms).rev() {
        sum = Exact::ONE.over_small(2 * k + 1).add(square.times(sum));
    }
    t.times(sum)
}
