//! Functions whose last bits OpenCL leaves open, with the error that it allows.
//!
//! A generated kernel calls them only for results that nothing else depends on, so that errors do not accumulate. Each
//! side may be off by the limit of the OpenCL 1.2 specification (7.4), so two right answers differ by at most twice the
//! limit.

use super::types::Base;

/// A call with a limit on its error.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The call, with `{x}` and `{y}` for its arguments and `{f}` for the suffix of a constant.
    pub call: &'static str,
    /// The limit for floats in units in the last place.
    pub ulps_f32: f64,
    /// The limit for doubles.
    pub ulps_f64: f64,
}

impl Function {
    /// The maximum distance of two right answers.
    pub fn ulps_apart(&self, base: Base) -> f64 {
        2.0 * if base == Base::F32 { self.ulps_f32 } else { self.ulps_f64 }
    }
}

const fn function(call: &'static str, ulps_f32: f64, ulps_f64: f64) -> Function {
    Function { call, ulps_f32, ulps_f64 }
}

/// Arguments are first mapped to a range in which the function is defined and its result neither overflows nor is
/// denormal.
pub const FUNCTIONS: &[Function] = &[
    function("{x} / (fabs({y}) + 0.5{f})", 2.5, 0.5),
    function("1.0{f} / (fabs({x}) + 0.25{f})", 2.5, 0.5),
    function("sqrt(fabs({x}))", 3.0, 0.5),
    function("rsqrt(fabs({x}) + 0.125{f})", 2.0, 2.0),
    function("cbrt({x})", 2.0, 2.0),
    function("hypot({x}, {y})", 4.0, 4.0),
    function("exp(fmin(fmax({x}, -20.0{f}), 20.0{f}))", 3.0, 3.0),
    function("exp2(fmin(fmax({x}, -20.0{f}), 20.0{f}))", 3.0, 3.0),
    function("exp10(fmin(fmax({x}, -10.0{f}), 10.0{f}))", 3.0, 3.0),
    function("expm1(fmin(fmax({x}, -10.0{f}), 10.0{f}))", 3.0, 3.0),
    function("log(fabs({x}) + 0.001{f})", 3.0, 3.0),
    function("log2(fabs({x}) + 0.001{f})", 3.0, 3.0),
    function("log10(fabs({x}) + 0.001{f})", 3.0, 3.0),
    function("log1p(fabs({x}))", 2.0, 2.0),
    function("sin(fmin(fmax({x}, -1000.0{f}), 1000.0{f}))", 4.0, 4.0),
    function("cos(fmin(fmax({x}, -1000.0{f}), 1000.0{f}))", 4.0, 4.0),
    function("tan(fmin(fmax({x}, -1.5{f}), 1.5{f}))", 5.0, 5.0),
    function("sinpi(fmin(fmax({x}, -100.0{f}), 100.0{f}))", 4.0, 4.0),
    function("asin(fmin(fmax({x}, -1.0{f}), 1.0{f}))", 4.0, 4.0),
    function("acos(fmin(fmax({x}, -1.0{f}), 1.0{f}))", 4.0, 4.0),
    function("atan({x})", 5.0, 5.0),
    function("atan2({x}, fabs({y}) + 0.5{f})", 6.0, 6.0),
    function("sinh(fmin(fmax({x}, -10.0{f}), 10.0{f}))", 4.0, 4.0),
    function("cosh(fmin(fmax({x}, -10.0{f}), 10.0{f}))", 4.0, 4.0),
    function("tanh({x})", 5.0, 5.0),
    function("erf({x})", 16.0, 16.0),
    function("pow(fmin(fabs({x}) + 0.5{f}, 8.0{f}), fmin(fmax({y}, -8.0{f}), 8.0{f}))", 16.0, 16.0),
];
