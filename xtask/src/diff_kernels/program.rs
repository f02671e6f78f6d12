//! A generated kernel: its variables, its buffers and its statements.
//!
//! Every variable has a buffer, loaded at the start and stored at the end, so that everything computed is compared. No
//! statement declares anything that outlives it, so any statement can be removed and the rest still compiles. Shrinking
//! a failing kernel relies on that.

use std::fmt::Write;

use super::{functions::Function, types::Ty};

/// Size of a type's read-only table, and number of a work-item's own cells.
pub const TABLE: usize = 64;
pub const CELLS: usize = 4;
/// Number of global counters that all work-items share, each with its own atomic operation: 32-bit ones, and 64-bit
/// ones.
pub const COUNTERS: usize = 8;
pub const LONG_COUNTERS: usize = 4;
/// Elements of the private array.
pub const ARRAY: usize = 8;

/// A variable of a work-item.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub ty: Ty,
    /// For a result that is only written: the function that computes it, which determines its tolerance.
    pub function: Option<Function>,
}

#[derive(Clone, Debug)]
pub enum Statement {
    Line(String),
    If {
        condition: String,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// `head` is `for (...)`.
    Loop {
        head: String,
        body: Vec<Statement>,
    },
    Switch {
        on: String,
        arms: Vec<Vec<Statement>>,
    },
}

/// A kernel `k` and everything that it needs.
#[derive(Clone, Debug)]
pub struct Program {
    pub theme: &'static str,
    pub grid: [u32; 2],
    pub group: [u32; 2],
    pub variables: Vec<Variable>,
    /// Functions that the kernel calls.
    pub helpers: Vec<String>,
    /// The type of the private array and of the local one.
    pub array: Ty,
    pub body: Vec<Statement>,
    /// The scalar arguments, equal for all work-items.
    pub uniform: (u32, f32),
    /// Further options for clang: optimisation, runtime, and whether division is exact.
    pub flags: Vec<&'static str>,
}

/// The role of a buffer argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// A variable of every work-item: random at first, compared at the end.
    Variable(usize),
    /// Random numbers that every work-item may read.
    Table,
    /// Cells that belong to one work-item: zero at first, compared at the end.
    Cells,
    /// Counters that every work-item updates atomically: zero at first, compared at the end.
    Counters,
}

/// One buffer argument.
#[derive(Clone, Debug)]
pub struct BufferArg {
    pub name: String,
    pub ty: Ty,
    pub count: usize,
    pub role: Role,
}

impl Program {
    pub fn items(&self) -> usize {
        (self.grid[0] * self.grid[1]) as usize
    }

    pub fn group_items(&self) -> usize {
        (self.group[0] * self.group[1]) as usize
    }

    /// The types of the variables, each once.
    pub fn types(&self) -> Vec<Ty> {
        let mut types: Vec<Ty> = Vec::new();
        for variable in &self.variables {
            if !types.contains(&variable.ty) {
                types.push(variable.ty);
            }
        }
        types
    }

    /// The buffer arguments, in order; the two scalars come after them.
    pub fn buffers(&self) -> Vec<BufferArg> {
        let variables = self.variables.iter().enumerate().map(|(i, v)| BufferArg {
            name: format!("{}_memory", v.name),
            ty: v.ty,
            count: self.items(),
            role: Role::Variable(i),
        });
        let of_type = self.types().into_iter().flat_map(|ty| {
            let name = ty.name();
            let table = BufferArg { name: format!("{name}_table"), ty, count: TABLE, role: Role::Table };
            let cells = BufferArg { name: format!("{name}_cells"), ty, count: CELLS * self.items(), role: Role::Cells };
            [table, cells]
        });
        let uint = Ty::scalar(super::types::Base::U32);
        let counters = BufferArg {
            name: "counters".to_owned(),
            ty: uint,
            count: COUNTERS + 2 * LONG_COUNTERS,
            role: Role::Counters,
        };
        variables.chain(of_type).chain([counters]).collect()
    }

    /// The kernel's source in OpenCL C.
    pub fn source(&self) -> String {
        let mut text = String::from("#pragma OPENCL FP_CONTRACT OFF\n");
        for extension in ["cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"] {
            let _ = writeln!(text, "#pragma OPENCL EXTENSION {extension} : enable");
        }
        text.push('\n');
        for ty in self.types().into_iter().filter(|ty| ty.base.is_float()) {
            text.push_str(&between(ty));
        }
        for helper in &self.helpers {
            text.push_str(helper);
            text.push('\n');
        }
        text.push_str("__kernel void k(\n");
        for buffer in self.buffers() {
            let space = if buffer.role == Role::Table { "__global const" } else { "__global" };
            let _ = writeln!(text, "    {space} {} *{},", buffer.ty.name(), buffer.name);
        }
        text.push_str("    uint uniform_uint, float uniform_float)\n{\n");
        text.push_str("    const uint gid = get_global_id(1) * get_global_size(0) + get_global_id(0);\n");
        text.push_str("    const uint lid = get_local_id(1) * get_local_size(0) + get_local_id(0);\n");
        let array = self.array.name();
        let _ = writeln!(text, "    __local {array} shared[{}];", self.group_items());
        let _ = writeln!(text, "    __local uint tally[4], slots[{}];", self.group_items());
        for v in &self.variables {
            let _ = writeln!(text, "    {} {} = {}_memory[gid];", v.ty.name(), v.name, v.name);
        }
        let _ = writeln!(text, "    {array} array[{ARRAY}];");
        let _ = writeln!(
            text,
            "    for (uint i = 0; i < {ARRAY}; i++) array[i] = {array}_table[(gid + i) & {}];",
            TABLE - 1
        );
        text.push_str("    uint blind = uniform_uint;\n");
        render(&mut text, &self.body, 1);
        for v in &self.variables {
            let _ = writeln!(text, "    {}_memory[gid] = {};", v.name, v.name);
        }
        text.push_str("}\n");
        text
    }

    /// Every program with one statement removed, or one moved out of its `if`.
    pub fn smaller(&self) -> Vec<Program> {
        let mut bodies = Vec::new();
        without_one(&self.body, &mut bodies);
        bodies.into_iter().map(|body| Program { body, ..self.clone() }).collect()
    }
}

/// A function that clamps a number and maps NaN to the lower bound. fmax and fmin alone would do that, but LLVM 19
/// derives the sign of fmax(fabs(x), -1) even if x is NaN.
fn between(ty: Ty) -> String {
    let (name, base) = (ty.name(), ty.base.name());
    let bounded = format!("fmin(fmax(x, ({name})(low)), ({name})(high))");
    let value = if ty.is_scalar() {
        format!("isnan(x) ? low : {bounded}")
    } else {
        format!("select({bounded}, ({name})(low), isnan(x))")
    };
    format!("static {name} {name}_between({name} x, {base} low, {base} high)\n{{\n    return {value};\n}}\n\n")
}

fn without_one(body: &[Statement], out: &mut Vec<Vec<Statement>>) {
    let replaced = |i: usize, with: Vec<Statement>| -> Vec<Statement> {
        body[..i].iter().cloned().chain(with).chain(body[i + 1..].iter().cloned()).collect()
    };
    for (i, statement) in body.iter().enumerate() {
        out.push(replaced(i, Vec::new()));
        let mut inner = Vec::new();
        match statement {
            Statement::Line(_) => {}
            Statement::If { condition, then, otherwise } => {
                out.push(replaced(i, then.clone()));
                out.push(replaced(i, otherwise.clone()));
                without_one(then, &mut inner);
                let condition = || condition.clone();
                for then in inner.drain(..) {
                    let smaller = Statement::If { condition: condition(), then, otherwise: otherwise.clone() };
                    out.push(replaced(i, vec![smaller]));
                }
                without_one(otherwise, &mut inner);
                for otherwise in inner.drain(..) {
                    let smaller = Statement::If { condition: condition(), then: then.clone(), otherwise };
                    out.push(replaced(i, vec![smaller]));
                }
            }
            Statement::Loop { head, body } => {
                without_one(body, &mut inner);
                let smaller = inner.drain(..).map(|body| Statement::Loop { head: head.clone(), body });
                out.extend(smaller.map(|statement| replaced(i, vec![statement])));
            }
            Statement::Switch { on, arms } => {
                for (a, arm) in arms.iter().enumerate() {
                    without_one(arm, &mut inner);
                    for arm in inner.drain(..) {
                        let mut arms = arms.clone();
                        arms[a] = arm;
                        out.push(replaced(i, vec![Statement::Switch { on: on.clone(), arms }]));
                    }
                }
            }
        }
    }
}

fn render(text: &mut String, body: &[Statement], depth: usize) {
    let indent = "    ".repeat(depth);
    for statement in body {
        match statement {
            Statement::Line(line) => {
                let _ = writeln!(text, "{indent}{line}");
            }
            Statement::If { condition, then, otherwise } => {
                let _ = writeln!(text, "{indent}if ({condition}) {{");
                render(text, then, depth + 1);
                if !otherwise.is_empty() {
                    let _ = writeln!(text, "{indent}}} else {{");
                    render(text, otherwise, depth + 1);
                }
                let _ = writeln!(text, "{indent}}}");
            }
            Statement::Loop { head, body } => {
                let _ = writeln!(text, "{indent}{head} {{");
                render(text, body, depth + 1);
                let _ = writeln!(text, "{indent}}}");
            }
            Statement::Switch { on, arms } => {
                let _ = writeln!(text, "{indent}switch ({on}) {{");
                for (i, arm) in arms.iter().enumerate() {
                    let label = if i + 1 == arms.len() { "default".to_owned() } else { format!("case {i}") };
                    let _ = writeln!(text, "{indent}{label}: {{");
                    render(text, arm, depth + 1);
                    let _ = writeln!(text, "{indent}    break; }}");
                }
                let _ = writeln!(text, "{indent}}}");
            }
        }
    }
}
