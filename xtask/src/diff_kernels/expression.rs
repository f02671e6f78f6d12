//! Random expressions whose value OpenCL C defines to the last bit.
//!
//! Nothing undefined may be generated, because then both sides could be right and still differ. So signed integers are
//! added as unsigned ones, shift counts are masked, divisors are made positive, and floats are clamped before
//! conversion to integers. Every expression of a scalar type is cast to exactly that type, so that calls of built-in
//! functions are not ambiguous. Only the sign of a zero is left open (fmin and fmax may return either zero), and no
//! expression depends on it.

use workloads::Rng;

use super::{
    program::{ARRAY, TABLE, Variable},
    types::{Base, Ty, random_integer},
};

/// The names that expressions may refer to, and the options of generation.
pub struct Scope<'a> {
    pub rng: &'a mut Rng,
    pub variables: &'a [Variable],
    /// The private array's type.
    pub array: Ty,
    /// Counters of the enclosing loops.
    pub counters: Vec<String>,
    /// Whether division and square root of floats are exact, as those of doubles always are.
    pub exact_division: bool,
    /// Whether the expression is inside a kernel, with its arguments and work-item ids.
    pub in_kernel: bool,
}

impl Scope<'_> {
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.below(from.len() as u32) as usize]
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.below(one_in) == 0
    }

    /// A random variable whose type meets the condition, if there is one.
    fn variable(&mut self, wanted: impl Fn(Ty) -> bool) -> Option<(String, Ty)> {
        let able: Vec<&Variable> = self.variables.iter().filter(|v| v.function.is_none() && wanted(v.ty)).collect();
        if able.is_empty() {
            return None;
        }
        let v = able[self.rng.below(able.len() as u32) as usize];
        Some((v.name.clone(), v.ty))
    }

    /// An expression of type `ty`, at most `depth` operations deep.
    pub fn expression(&mut self, ty: Ty, depth: u32) -> String {
        if depth == 0 || self.chance(8) {
            self.leaf(ty)
        } else if self.chance(7) {
            self.conversion(ty, depth - 1)
        } else if self.chance(8) {
            self.selection(ty, depth - 1)
        } else if !ty.is_scalar() && self.chance(4) {
            self.rearrangement(ty, depth - 1)
        } else if ty.base.is_float() {
            self.float_operation(ty, depth - 1)
        } else {
            self.integer_operation(ty, depth - 1)
        }
    }

    /// A condition.
    pub fn condition(&mut self, depth: u32) -> String {
        let (_, ty) = self.variable(Ty::is_scalar).unwrap_or((String::new(), Ty::scalar(Base::U32)));
        let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
        let relation = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        let simple = match self.rng.below(4) {
            0 if ty.base.is_float() => format!("islessgreater({a}, {b})"),
            1 if ty.base.is_float() => format!("{}({a}, {b})", self.pick(&["isordered", "isunordered"])),
            2 if ty.base.is_float() => format!("{}({a})", self.pick(&["isnan", "isinf", "isfinite", "isnormal"])),
            _ => format!("({a} {relation} {b})"),
        };
        match self.rng.below(6) {
            0 if depth > 0 => format!("({simple} && {})", self.condition(depth - 1)),
            1 if depth > 0 => format!("({simple} || {})", self.condition(depth - 1)),
            2 => format!("!{simple}"),
            _ => simple,
        }
    }

    /// A number below `bound` (a power of two), which may differ between work-items.
    pub fn index(&mut self, bound: usize, depth: u32) -> String {
        format!("({} & {}u)", self.expression(Ty::scalar(Base::U32), depth), bound - 1)
    }

    fn leaf(&mut self, ty: Ty) -> String {
        let of_type = self.variable(|other| other == ty);
        match (self.rng.below(10), of_type) {
            (0..6, Some((name, _))) => name,
            _ if !self.in_kernel => self.constant(ty),
            (6, Some(_)) => {
                let place = if self.chance(2) { "gid".to_owned() } else { "uniform_uint".to_owned() };
                let shift = self.rng.below(8);
                format!("{}_table[({place} + {shift}u) & {}u]", ty.name(), TABLE - 1)
            }
            (7, _) if ty == self.array => {
                let place = self.pick(&["gid", "lid", "uniform_uint"]);
                format!("array[{place} & {}u]", ARRAY - 1)
            }
            (8, _) if ty == Ty::scalar(Base::U32) => {
                let mut names = vec![
                    "gid".to_owned(),
                    "lid".to_owned(),
                    "uniform_uint".to_owned(),
                    "(uint)get_group_id(0)".to_owned(),
                    "(uint)get_local_id(1)".to_owned(),
                    "(uint)get_global_size(0)".to_owned(),
                    "(uint)get_local_size(0)".to_owned(),
                    "(uint)get_num_groups(1)".to_owned(),
                ];
                names.extend(self.counters.iter().cloned());
                names[self.rng.below(names.len() as u32) as usize].clone()
            }
            (8, _) if ty == Ty::scalar(Base::F32) => "uniform_float".to_owned(),
            _ => self.constant(ty),
        }
    }

    fn constant(&mut self, ty: Ty) -> String {
        let scalars: Vec<String> = (0..ty.lanes).map(|_| self.scalar_constant(ty.base)).collect();
        if ty.is_scalar() { scalars[0].clone() } else { format!("({})({})", ty.name(), scalars.join(", ")) }
    }

    fn scalar_constant(&mut self, base: Base) -> String {
        let name = base.name();
        match base {
            Base::F32 => format!("({:?}f)", f64::from(self.rng.below(129) as i32 - 64) / 8.0),
            Base::F64 => format!("({:?})", f64::from(self.rng.below(129) as i32 - 64) / 8.0),
            Base::I64 | Base::U64 => format!("(({name}){:#x}UL)", random_integer(self.rng, base)),
            _ => {
                let mask = (1u64 << base.bits()) - 1;
                format!("(({name}){:#x}u)", random_integer(self.rng, base) & mask)
            }
        }
    }

    /// A value of another type, converted in a random way.
    fn conversion(&mut self, ty: Ty, depth: u32) -> String {
        let Some((_, from)) = self.variable(|other| other.lanes == ty.lanes && other.base != ty.base) else {
            return self.expression(ty, depth);
        };
        let x = self.expression(from, depth);
        let name = ty.name();
        match (from.base.is_float(), ty.base.is_float()) {
            (false, false) => format!("convert_{name}{}({x})", self.pick(&["", "_sat"])),
            (false, true) | (true, true) => format!("convert_{name}({x})"),
            (true, false) => {
                let rounding = self.pick(&["", "_rte", "_rtz", "_rtp", "_rtn"]);
                let f = if from.base == Base::F32 { "f" } else { "" };
                // Saturating for any value except NaN; otherwise only values that fit.
                let (saturating, low, high) = match ty.base {
                    Base::I32 | Base::I64 if self.chance(2) => ("", "-100000.0", "100000.0"),
                    Base::U32 | Base::U64 if self.chance(2) => ("", "0.0", "100000.0"),
                    _ => ("_sat", "-1.0e20", "1.0e20"),
                };
                let from = from.name();
                format!("convert_{name}{saturating}{rounding}({from}_between({x}, {low}{f}, {high}{f}))")
            }
        }
    }

    fn selection(&mut self, ty: Ty, depth: u32) -> String {
        let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
        if ty.is_scalar() {
            format!("({})({} ? {a} : {b})", ty.name(), self.condition(depth.min(1)))
        } else {
            // Vector relations give signed integer vectors of equal width, as `select` requires.
            let relation = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
            let (c, d) = (self.expression(ty, depth.min(1)), self.expression(ty, depth.min(1)));
            format!("select({a}, {b}, {c} {relation} {d})")
        }
    }

    /// A vector built from another's elements, or from scalars.
    fn rearrangement(&mut self, ty: Ty, depth: u32) -> String {
        let name = ty.name();
        let mask = ty.with(ty.base.unsigned());
        match self.rng.below(5) {
            0 => format!("({name})({})", self.expression(Ty::scalar(ty.base), depth)),
            1 if ty.lanes <= 4 => {
                let scalars: Vec<_> =
                    (0..ty.lanes).map(|_| self.expression(Ty::scalar(ty.base), depth.min(1))).collect();
                format!("({name})({})", scalars.join(", "))
            }
            2 => format!("shuffle({}, {})", self.expression(ty, depth), self.expression(mask, depth)),
            3 => {
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                format!("shuffle2({a}, {b}, {})", self.expression(mask, depth))
            }
            _ => match self.variable(|other| other == ty) {
                Some((v, _)) => {
                    let digits = |scope: &mut Self| {
                        let lane = scope.rng.below(ty.lanes as u32);
                        char::from_digit(lane, 16).expect("a vector has at most 16 lanes")
                    };
                    let swizzle: String = (0..ty.lanes).map(|_| digits(self)).collect();
                    format!("{v}.s{swizzle}")
                }
                None => self.leaf(ty),
            },
        }
    }

    /// Operations whose result IEEE 754 or OpenCL defines exactly.
    fn float_operation(&mut self, ty: Ty, depth: u32) -> String {
        let a = self.expression(ty, depth);
        let f = if ty.base == Base::F32 { "f" } else { "" };
        let name = ty.name();
        let exact_division = ty.base == Base::F64 || self.exact_division;
        match self.rng.below(18) {
            0..3 => format!("({a} + {})", self.expression(ty, depth)),
            3..5 => format!("({a} - {})", self.expression(ty, depth)),
            5..8 => format!("({a} * {})", self.expression(ty, depth)),
            8..10 => format!("fma({a}, {}, {})", self.expression(ty, depth), self.expression(ty, depth)),
            10 => format!("fmin({a}, {})", self.expression(ty, depth)),
            11 => format!("fmax({a}, {})", self.expression(ty, depth)),
            12 => format!("{}({a})", self.pick(&["floor", "ceil", "trunc", "rint", "round"])),
            13 => format!("fabs({a})"),
            14 => format!("(-{a})"),
            15 => format!("copysign({a}, {})", self.constant(ty)),
            16 if exact_division => format!("({a} / (fabs({}) + ({name})(0.5{f})))", self.expression(ty, depth)),
            16 => format!("ldexp({a}, {})", self.rng.below(17) as i32 - 8),
            _ if exact_division => format!("sqrt(fabs({a}))"),
            _ => format!("fmod({a}, ({name})({}.5{f}))", self.rng.below(100)),
        }
    }

    fn integer_operation(&mut self, ty: Ty, depth: u32) -> String {
        let base = ty.base;
        let name = ty.name();
        let a = self.expression(ty, depth);
        match self.rng.below(30) {
            0..3 => self.wrapping(ty, &a, "+", depth),
            3..5 => self.wrapping(ty, &a, "-", depth),
            5..8 => self.wrapping(ty, &a, "*", depth),
            8..12 => {
                let operator = self.pick(&["&", "|", "^"]);
                format!("({name})({a} {operator} {})", self.expression(ty, depth))
            }
            12 => format!("({name})(~{a})"),
            13..16 => {
                let operator = self.pick(&["<<", ">>"]);
                let count = self.expression(ty, depth.min(1));
                format!("({name})({a} {operator} ({count} & ({name})({})))", base.bits() - 1)
            }
            16 | 17 => {
                let operator = self.pick(&["/", "%"]);
                let divisor = self.expression(ty, depth.min(1));
                // Positive and not zero: excludes division by zero and the one quotient that overflows.
                let positive = if base.is_signed() {
                    format!("{:#x}", (1u64 << (base.bits() - 1)) - 1)
                } else {
                    format!("{:#x}", u64::MAX >> (64 - base.bits()))
                };
                format!("({name})({a} {operator} (({divisor} & ({name})({positive})) | ({name})(1)))")
            }
            18 => format!("{}({a}, {})", self.pick(&["min", "max"]), self.expression(ty, depth)),
            19 => {
                let (low, high) = (self.expression(ty, depth.min(1)), self.expression(ty, depth.min(1)));
                format!("clamp({a}, min({low}, {high}), max({low}, {high}))")
            }
            20 => {
                let (a, b) = (self.unknown(ty, a), self.expression(ty, depth));
                format!("{}({a}, {})", self.pick(&["add_sat", "sub_sat"]), self.unknown(ty, b))
            }
            21 => format!("{}({a}, {})", self.pick(&["hadd", "rhadd", "mul_hi"]), self.expression(ty, depth)),
            22 => format!("rotate({a}, {})", self.expression(ty, depth)),
            23 => format!("{}({a})", self.pick(&["clz", "popcount"])),
            24 | 25 => {
                // The device library computes the absolute value, also of a difference, as if it could not overflow:
                // halve the operands.
                let half = |x: String| if base.is_signed() { format!("({name})({x} >> ({name})(1))") } else { x };
                let a = half(a);
                match self.rng.below(2) {
                    0 => format!("as_{name}(abs({a}))"),
                    _ => format!("as_{name}(abs_diff({a}, {}))", half(self.expression(ty, depth))),
                }
            }
            26 => {
                let (b, c) = (self.expression(ty, depth), self.expression(ty, depth.min(1)));
                format!("bitselect({a}, {b}, {c})")
            }
            27 => match base.half() {
                Some(half) if self.chance(2) => {
                    let low = self.expression(ty.with(half.unsigned()), depth);
                    format!("upsample({}, {low})", self.expression(ty.with(half), depth))
                }
                _ => {
                    let (b, c) = (self.expression(ty, depth), self.expression(ty, depth.min(1)));
                    format!("mad_sat({}, {}, {})", self.unknown(ty, a), self.unknown(ty, b), self.unknown(ty, c))
                }
            },
            28 if base.bits() == 32 => {
                // Only 24 bits are used, and the product of signed operands must not overflow.
                let bits = if base == Base::U32 { 24 } else { 15 };
                let narrow = |x: String| format!("({x} >> ({name})({}))", 32 - bits);
                let (a, b) = (narrow(a), narrow(self.expression(ty, depth)));
                if base == Base::U32 && self.chance(2) {
                    format!("mad24({a}, {b}, {})", self.expression(ty, depth.min(1)))
                } else {
                    format!("mul24({a}, {b})")
                }
            }
            28 => format!("mul_hi({a}, {})", self.expression(ty, depth)),
            _ => self.reinterpretation(ty, depth),
        }
    }

    /// `x`, combined with a value that the compiler can't know. LLVM 19 omits the saturation of an unsigned addition
    /// when it folds a constant into it.
    fn unknown(&mut self, ty: Ty, x: String) -> String {
        if ty.base.is_signed() {
            return x;
        }
        let blind = if self.in_kernel { "uniform_uint" } else { "(*blind)" };
        format!("({})({x} ^ ({})({})({blind}))", ty.name(), ty.name(), ty.base.name())
    }

    /// The bits of a variable of equal size, reinterpreted.
    fn reinterpretation(&mut self, ty: Ty, depth: u32) -> String {
        let able = |other: Ty| !other.base.is_float() && other.bytes() == ty.bytes() && other != ty;
        match self.variable(able) {
            Some((_, from)) => format!("as_{}({})", ty.name(), self.expression(from, depth)),
            None => self.leaf(ty),
        }
    }

    /// Arithmetic modulo a power of two, also for signed types.
    fn wrapping(&mut self, ty: Ty, a: &str, operator: &str, depth: u32) -> String {
        let b = self.expression(ty, depth);
        let name = ty.name();
        if ty.is_scalar() {
            let wide = if ty.base.bits() == 64 { "ulong" } else { "uint" };
            format!("({name})(({wide}){a} {operator} ({wide}){b})")
        } else if ty.base.is_signed() {
            let unsigned = ty.with(ty.base.unsigned()).name();
            format!("as_{name}(as_{unsigned}({a}) {operator} as_{unsigned}({b}))")
        } else {
            format!("({a} {operator} {b})")
        }
    }
}
