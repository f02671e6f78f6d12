//! Generates kernels: a theme chooses types and statements, a seed the rest.

use workloads::Rng;

use super::{
    expression::Scope,
    functions::FUNCTIONS,
    program::{ARRAY, CELLS, COUNTERS, LONG_COUNTERS, Program, Statement, TABLE, Variable},
    types::{
        Base::{self, *},
        Ty,
    },
};

/// The theme of a kernel.
struct Theme {
    name: &'static str,
    bases: &'static [Base],
    lanes: &'static [usize],
    /// The favoured kind, chosen for one statement in three on average.
    favour: Kind,
}

/// The kinds of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Assign,
    Branch,
    Loop,
    Switch,
    Local,
    Atomic,
    Array,
    Memory,
    Call,
    /// A result of an inexact function.
    Inexact,
}

/// Statements that need no agreement of the work-items.
const ANYWHERE: &[Kind] =
    &[Kind::Assign, Kind::Assign, Kind::Branch, Kind::Loop, Kind::Switch, Kind::Array, Kind::Memory, Kind::Call];

const THEMES: &[Theme] = &[
    Theme { name: "integers", bases: &[I32, U32], lanes: &[1], favour: Kind::Assign },
    Theme { name: "long integers", bases: &[I64, U64, I32], lanes: &[1], favour: Kind::Assign },
    Theme { name: "narrow integers", bases: &[I8, U8, I16, U16, I32], lanes: &[1], favour: Kind::Assign },
    Theme { name: "floats", bases: &[F32, I32], lanes: &[1], favour: Kind::Inexact },
    Theme { name: "doubles", bases: &[F64, I64], lanes: &[1], favour: Kind::Inexact },
    Theme { name: "control flow", bases: &[I32, U32, F32], lanes: &[1], favour: Kind::Branch },
    Theme { name: "loops", bases: &[U32, I64, F32], lanes: &[1], favour: Kind::Loop },
    Theme { name: "local memory", bases: &[I32, F32, U8], lanes: &[1], favour: Kind::Local },
    Theme { name: "atomics", bases: &[U32, I32], lanes: &[1], favour: Kind::Atomic },
    Theme { name: "integer vectors", bases: &[I32, U32, I16, U8], lanes: &[2, 4], favour: Kind::Assign },
    Theme { name: "float vectors", bases: &[F32, I32, F64], lanes: &[1, 2, 4], favour: Kind::Assign },
    Theme { name: "conversions", bases: &[I8, U16, I32, U32, I64, U64, F32, F64], lanes: &[1], favour: Kind::Assign },
    Theme { name: "private arrays", bases: &[I32, F32, I16], lanes: &[1, 2], favour: Kind::Array },
    Theme { name: "wide vectors", bases: &[U8, I16, I32], lanes: &[8, 16], favour: Kind::Assign },
    Theme { name: "calls", bases: &[I32, U64, F32], lanes: &[1, 4], favour: Kind::Call },
];

/// Kernel number `index` of the series of `seed`.
pub fn program(seed: u64, index: usize) -> Program {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index as u64));
    let theme = &THEMES[index % THEMES.len()];
    let mut variables = Vec::new();
    for &base in theme.bases {
        let lanes = theme.lanes[rng.below(theme.lanes.len() as u32) as usize];
        for _ in 0..2 {
            let name = format!("v{}", variables.len());
            variables.push(Variable { name, ty: Ty { base, lanes }, function: None });
        }
    }
    for &base in theme.bases.iter().filter(|base| base.is_float()) {
        let function = FUNCTIONS[rng.below(FUNCTIONS.len() as u32) as usize];
        let name = format!("r{}", variables.len());
        variables.push(Variable { name, ty: Ty::scalar(base), function: Some(function) });
    }
    let array = variables[rng.below(variables.len() as u32) as usize].ty;
    let shapes = [[64, 1], [32, 1], [128, 1], [16, 8], [8, 4], [256, 1]];
    let group: [u32; 2] = shapes[rng.below(shapes.len() as u32) as usize];
    let grid = [group[0] * (1 + rng.below(3)), group[1] * (1 + rng.below(2))];
    let uniform = (rng.u32(), rng.f32(-4.0, 4.0));
    let exact_division = rng.below(2) == 0;
    let mut flags = vec!["-ffp-contract=off"];
    flags.push(["-O2", "-O2", "-O2", "-O1", "-O3", "-O0"][rng.below(6) as usize]);
    flags.push(["-mcode-object-version=5", "-mcode-object-version=4"][usize::from(rng.below(4) == 0)]);
    if exact_division {
        flags.push("-cl-fp32-correctly-rounded-divide-sqrt");
    }

    let mut writer = Writer {
        scope: Scope {
            rng: &mut rng,
            variables: &variables,
            array,
            counters: Vec::new(),
            exact_division,
            in_kernel: true,
        },
        helpers: Vec::new(),
        atomics: [None; COUNTERS + LONG_COUNTERS],
        group_items: (group[0] * group[1]) as usize,
    };
    let mut body = Vec::new();
    for _ in 0..6 + writer.scope.rng.below(6) {
        let kind = if writer.scope.rng.below(3) == 0 { theme.favour } else { writer.anything() };
        body.extend(writer.top_level(kind));
    }
    // Every inexact result is computed at least once.
    for (i, variable) in variables.iter().enumerate() {
        if variable.function.is_some() {
            body.push(writer.inexact(i));
        }
    }
    let helpers = writer.helpers;
    Program { theme: theme.name, grid, group, variables, helpers, array, body, uniform, flags }
}

struct Writer<'a> {
    scope: Scope<'a>,
    helpers: Vec<String>,
    /// The operation of each global counter: one for all work-items, so that their order does not matter.
    atomics: [Option<Atomic>; COUNTERS + LONG_COUNTERS],
    group_items: usize,
}

/// Atomic operations whose result does not depend on their order: `atomic_NAME` on 32 bits, `atom_NAME` on 64.
const ATOMICS: &[&str] = &["add", "sub", "min", "max", "and", "or", "xor"];

/// An atomic operation, and whether its operands are signed.
type Atomic = (&'static str, bool);

impl Writer<'_> {
    fn anything(&mut self) -> Kind {
        match self.scope.rng.below(8) {
            0 => Kind::Local,
            1 => Kind::Atomic,
            _ => self.scope.pick(ANYWHERE),
        }
    }

    /// Statements that every work-item reaches: barriers are allowed.
    fn top_level(&mut self, kind: Kind) -> Vec<Statement> {
        match kind {
            Kind::Local if self.scope.rng.below(4) == 0 => {
                // Barriers in a loop are allowed if every work-item makes the same number of iterations.
                let counter = format!("i{}", self.scope.counters.len());
                let head = format!("for (uint {counter} = 0; {counter} < (uniform_uint & 3u); {counter}++)");
                self.scope.counters.push(counter);
                let body = self.local().into_iter().chain([self.assign()]).collect();
                self.scope.counters.pop();
                vec![Statement::Loop { head, body }]
            }
            Kind::Local => self.local(),
            Kind::Atomic if self.scope.rng.below(2) == 0 => self.tally(),
            _ => vec![self.statement(kind, 2)],
        }
    }

    fn block(&mut self, depth: u32) -> Vec<Statement> {
        (0..1 + self.scope.rng.below(3))
            .map(|_| {
                let kind = self.scope.pick(ANYWHERE);
                self.statement(kind, depth)
            })
            .collect()
    }

    /// A statement that any subset of the work-items may run; `depth` limits the nesting.
    fn statement(&mut self, kind: Kind, depth: u32) -> Statement {
        let nested = matches!(kind, Kind::Branch | Kind::Loop | Kind::Switch);
        match kind {
            _ if nested && depth == 0 => self.assign(),
            Kind::Assign | Kind::Local => self.assign(),
            Kind::Branch => {
                let condition = self.scope.condition(1);
                let then = self.block(depth - 1);
                let otherwise = if self.scope.rng.below(2) == 0 { self.block(depth - 1) } else { Vec::new() };
                Statement::If { condition, then, otherwise }
            }
            Kind::Loop => self.counted_loop(depth),
            Kind::Switch => {
                let on = self.scope.index(4, 1);
                let arms = (0..3).map(|_| self.block(depth - 1)).collect();
                Statement::Switch { on, arms }
            }
            Kind::Array => self.array(),
            Kind::Memory => self.memory(),
            Kind::Call => self.call(),
            Kind::Atomic => self.atomic(),
            Kind::Inexact => match self.scope.variables.iter().position(|v| v.function.is_some()) {
                Some(i) => self.inexact(i),
                None => self.assign(),
            },
        }
    }

    fn target(&mut self) -> (String, Ty) {
        let able: Vec<_> = self.scope.variables.iter().filter(|v| v.function.is_none()).collect();
        let v = able[self.scope.rng.below(able.len() as u32) as usize];
        (v.name.clone(), v.ty)
    }

    fn assign(&mut self) -> Statement {
        let (name, ty) = self.target();
        if !ty.is_scalar() && self.scope.rng.below(4) == 0 {
            let lane = self.scope.rng.below(ty.lanes as u32);
            let value = self.scope.expression(Ty::scalar(ty.base), 3);
            return Statement::Line(format!("{name}.s{lane:x} = {value};"));
        }
        Statement::Line(format!("{name} = {};", self.scope.expression(ty, 3)))
    }

    fn counted_loop(&mut self, depth: u32) -> Statement {
        let counter = format!("i{}", self.scope.counters.len());
        let (uniform, varying) = ("(uniform_uint & 7u)".to_owned(), self.scope.index(8, 1));
        let bound = if self.scope.rng.below(3) == 0 { uniform } else { varying };
        // The bound is read once, so that assignments in the body can't prolong the loop.
        let head = format!("for (uint {counter} = 0, end = {bound}; {counter} < end; {counter}++)");
        self.scope.counters.push(counter);
        let mut body = self.block(depth - 1);
        if self.scope.rng.below(3) == 0 {
            let leave = self.scope.pick(&["break", "continue"]);
            let place = self.scope.rng.below(body.len() as u32 + 1) as usize;
            body.insert(place, Statement::Line(format!("if ({}) {leave};", self.scope.condition(1))));
        }
        self.scope.counters.pop();
        Statement::Loop { head, body }
    }

    /// An exchange through local memory.
    fn local(&mut self) -> Vec<Statement> {
        let ty = self.scope.array;
        let targets: Vec<String> = (self.scope.variables.iter())
            .filter(|v| v.function.is_none() && v.ty == ty)
            .map(|v| v.name.clone())
            .collect();
        let [first, second, ..] = &targets[..] else {
            return vec![self.assign()];
        };
        let put = format!("shared[lid] = {};", self.scope.expression(ty, 2));
        let from = self.scope.index(self.group_items / 2, 1);
        let barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
        let far = self.scope.pick(&[1, self.group_items / 2]);
        let get = format!("{{ uint from = {from}; {first} = shared[from]; {second} = shared[from + {far}]; }}");
        // One statement, so that shrinking the kernel can't introduce a race.
        vec![Statement::Line(format!("{put} {barrier} {get} {barrier}"))]
    }

    /// Atomic operations on local memory, all of one kind.
    fn tally(&mut self) -> Vec<Statement> {
        let uint = Ty::scalar(U32);
        let operation = self.scope.pick(ATOMICS);
        let (place, value) = (self.scope.index(4, 1), self.scope.expression(uint, 2));
        let start = self.scope.rng.u32();
        let barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
        let update = format!("atomic_{operation}(&tally[{place}], {value});");
        let update =
            if self.scope.rng.below(2) == 0 { format!("if ({}) {update}", self.scope.condition(1)) } else { update };
        let get = match self.scope.variables.iter().find(|v| v.function.is_none() && v.ty == uint) {
            Some(v) => format!("{} = tally[lid & 3u];", v.name),
            None => "atomic_add(&counters[7], tally[lid & 3u]);".to_owned(),
        };
        self.atomics[7].get_or_insert(("add", false));
        vec![Statement::Line(format!(
            "if (lid < 4) tally[lid] = {start}u; {barrier} {update} {barrier} {get} {barrier}"
        ))]
    }

    /// An atomic operation on a shared counter, in any order; or on the work-item's own cell, with its result used.
    fn atomic(&mut self) -> Statement {
        let uint = Ty::scalar(U32);
        let value = self.scope.expression(uint, 2);
        let own = self.scope.variables.iter().find(|v| v.function.is_none() && v.ty == uint).map(|v| v.name.clone());
        match (self.scope.rng.below(2), own) {
            (0, Some(name)) => self.atomic_with_result(&name, &value),
            _ => {
                let i = self.scope.rng.below((COUNTERS + LONG_COUNTERS) as u32) as usize;
                let chosen = (self.scope.pick(ATOMICS), self.scope.rng.below(2) == 0);
                // Counter 7 is only added to: see `tally`.
                let (operation, signed) = *self.atomics[i].get_or_insert(if i == 7 { ("add", false) } else { chosen });
                Statement::Line(if i < COUNTERS {
                    let ty = if signed { "int" } else { "uint" };
                    format!("atomic_{operation}((volatile __global {ty} *)&counters[{i}], ({ty})({value}));")
                } else {
                    let (ty, place) = (if signed { "long" } else { "ulong" }, COUNTERS + 2 * (i - COUNTERS));
                    let value = format!("({ty})(({value}) * 0x123456789abUL)");
                    format!("atom_{operation}((volatile __global {ty} *)&counters[{place}], {value});")
                })
            }
        }
    }

    fn atomic_with_result(&mut self, name: &str, value: &str) -> Statement {
        let uint = Ty::scalar(U32);
        let (setup, cell) = if self.scope.rng.below(3) == 0 {
            (format!("slots[lid] = {}; ", self.scope.expression(uint, 1)), "&slots[lid]".to_owned())
        } else {
            let place = self.scope.index(CELLS, 1);
            (String::new(), format!("(volatile __global uint *)&uint_cells[gid * {CELLS} + {place}]"))
        };
        let update = match self.scope.rng.below(4) {
            0 => format!("atomic_xchg({cell}, {value})"),
            1 => format!("atomic_cmpxchg({cell}, {}, {value})", self.scope.expression(uint, 1)),
            2 => format!("{}({cell})", self.scope.pick(&["atomic_inc", "atomic_dec"])),
            _ => format!("atomic_{}({cell}, {value})", self.scope.pick(ATOMICS)),
        };
        Statement::Line(format!("{setup}{name} = {update};"))
    }

    /// An access to a private array with an index unknown to the compiler.
    fn array(&mut self) -> Statement {
        let ty = self.scope.array;
        let place = self.scope.index(ARRAY, 1);
        let reader = self.scope.variables.iter().find(|v| v.function.is_none() && v.ty == ty).map(|v| v.name.clone());
        match (self.scope.rng.below(2), reader) {
            (0, Some(name)) => Statement::Line(format!("{name} = array[{place}];")),
            _ => Statement::Line(format!("array[{place}] = {};", self.scope.expression(ty, 2))),
        }
    }

    /// A gather from a table, or a store to the work-item's own cells and a load from them.
    fn memory(&mut self) -> Statement {
        let (name, ty) = self.target();
        let type_name = ty.name();
        if ty == Ty::scalar(F32) && self.scope.rng.below(3) == 0 {
            // To half precision and back, through private memory. NaNs are excluded because their payloads could
            // differ.
            let rounding = self.scope.pick(&["", "_rte", "_rtz", "_rtp", "_rtn"]);
            let value = format!("float_between({}, -1.0e6f, 1.0e6f)", self.scope.expression(ty, 2));
            let store = format!("ushort h; vstore_half{rounding}({value}, 0, (half *)&h);");
            return Statement::Line(format!("{{ {store} {name} = vload_half(0, (const half *)&h); }}"));
        }
        Statement::Line(match self.scope.rng.below(3) {
            0 => format!("{name} = {type_name}_table[{}];", self.scope.index(TABLE, 1)),
            1 => format!("{name} = {type_name}_cells[gid * {CELLS} + {}];", self.scope.index(CELLS, 1)),
            _ => {
                let place = self.scope.index(CELLS, 1);
                format!("{type_name}_cells[gid * {CELLS} + {place}] = {};", self.scope.expression(ty, 2))
            }
        })
    }

    /// A call of a generated function, which the compiler may not inline.
    fn call(&mut self) -> Statement {
        if self.helpers.len() >= 2 {
            return self.assign();
        }
        let (name, ty) = self.target();
        let helper = format!("helper{}", self.helpers.len());
        let parameters: Vec<Variable> =
            (0..2).map(|i| Variable { name: format!("p{i}"), ty, function: None }).collect();
        // The function sees only its parameters.
        let exact_division = self.scope.exact_division;
        let mut inner = Scope {
            rng: self.scope.rng,
            variables: &parameters,
            array: ty,
            counters: Vec::new(),
            exact_division,
            in_kernel: false,
        };
        let value = inner.expression(ty, 3);
        let t = ty.name();
        let text = format!(
            "__attribute__((noinline)) static {t} {helper}({t} p0, {t} p1, const uint *blind)\n{{\n    return {value};\n}}\n"
        );
        self.helpers.push(text);
        let (a, b) = (self.scope.expression(ty, 1), self.scope.expression(ty, 1));
        Statement::Line(format!("{name} = {helper}({a}, {b}, &blind);"))
    }

    /// Computes the result `variables[i]` by its function.
    fn inexact(&mut self, i: usize) -> Statement {
        let Variable { name, ty, function } = self.scope.variables[i].clone();
        let call = function.expect("is a result").call;
        let f = if ty.base == F32 { "f" } else { "" };
        let t = ty.name();
        let argument =
            |name: &str, value: String| format!("{t} {name} = {value}; {name} = isnan({name}) ? 0.25{f} : {name};");
        // See `program::between` for why even fmax and fmin must not get a NaN.
        let x = argument("x", self.scope.expression(ty, 1));
        let y = argument("y", self.scope.expression(ty, 1));
        let call = call.replace("{f}", f).replace("{x}", "x").replace("{y}", "y");
        Statement::Line(format!("{{ {x} {y} {name} = {call}; }}"))
    }
}
