//! `cohesim disasm`: the contents of a code object, instruction by instruction.

use crate::{files::read_code_object, ui::Ui};
use gcn3::{
    decode::decode,
    object::{Argument, ArgumentKind, CodeObject, Image, ImplicitLayout, Kernel, Setup},
};
use mem::{Bytes, VirtAddr};
use miette::IntoDiagnostic;
use serde::Serialize;
use std::{
    fmt::{self, Write},
    path::PathBuf,
};

/// Show a code object: kernels, their set-up and arguments, and their code.
#[derive(clap::Args)]
pub struct Disasm {
    /// Code object for gfx803.
    file: PathBuf,
    /// Show this kernel only.
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
}

#[derive(Serialize)]
struct ObjectListing {
    code_object_version: u32,
    kernels: Vec<KernelReport>,
    functions: Vec<CodeReport>,
    variables: Vec<VariableReport>,
}

#[derive(Serialize)]
struct KernelReport {
    name: String,
    vgprs: u16,
    sgprs: u16,
    lds_bytes: u32,
    scratch_bytes_per_work_item: u32,
    kernarg_bytes: u32,
    required_group: Option<[u32; 3]>,
    max_group: Option<u32>,
    mode: u32,
    described: bool,
    /// The convention of the implicit arguments, which follow those of the source.
    implicit_arguments: &'static str,
    registers: Vec<RegisterReport>,
    arguments: Vec<ArgumentReport>,
    code: Vec<InstructionReport>,
}

#[derive(Serialize)]
struct RegisterReport {
    registers: String,
    holds: &'static str,
}

#[derive(Serialize)]
struct ArgumentReport {
    offset: u32,
    bytes: u32,
    kind: String,
    #[serde(rename = "type")]
    type_name: Option<String>,
    name: Option<String>,
    hidden: bool,
}

#[derive(Serialize)]
struct CodeReport {
    name: String,
    code: Vec<InstructionReport>,
}

#[derive(Serialize)]
struct VariableReport {
    name: String,
    address: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct InstructionReport {
    address: u64,
    words: Vec<u32>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl Disasm {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let object = read_code_object(&self.file)?;
        let report = self.report(&object)?;
        let mut text = String::new();
        report.write(&mut text).expect("writing to a string can't fail");
        ui.print(&text)?;
        ui.report(&report)
    }

    fn report(&self, object: &CodeObject) -> miette::Result<ObjectListing> {
        let image = object.load(VirtAddr(0)).into_diagnostic()?;
        let kernels = match &self.kernel {
            Some(name) => vec![object.kernel(name).into_diagnostic()?],
            None => object.kernels().iter().collect(),
        };
        let names = Names::of(object);
        let all = self.kernel.is_none();
        let functions = if all { object.functions() } else { Vec::new() };
        let variables = if all { object.variables() } else { Vec::new() };
        Ok(ObjectListing {
            code_object_version: object.version().number(),
            kernels: kernels.into_iter().map(|kernel| kernel_report(object, &image, &names, kernel)).collect(),
            functions: functions
                .into_iter()
                .map(|function| CodeReport {
                    code: instructions(&image, &names, function.address, function.size),
                    name: function.name,
                })
                .collect(),
            variables: variables
                .into_iter()
                .map(|variable| VariableReport {
                    name: variable.name,
                    address: variable.address.0,
                    bytes: variable.size,
                })
                .collect(),
        })
    }
}

fn kernel_report(object: &CodeObject, image: &Image, names: &Names, kernel: &Kernel) -> KernelReport {
    let entry = image.kernel_entry(kernel);
    let size = if kernel.code_size > 0 { kernel.code_size } else { code_until_next(object, image, entry) };
    KernelReport {
        name: kernel.name.clone(),
        vgprs: kernel.vgprs,
        sgprs: kernel.sgprs,
        lds_bytes: kernel.lds_size,
        scratch_bytes_per_work_item: kernel.private_size,
        kernarg_bytes: kernel.kernarg_size,
        required_group: kernel.required_group,
        max_group: kernel.max_group,
        mode: kernel.descriptor.float_mode.mode_register(),
        described: kernel.described,
        implicit_arguments: match kernel.implicit {
            ImplicitLayout::Hsa => "HSA",
            ImplicitLayout::Mesa { .. } => "Mesa (libclc)",
            ImplicitLayout::Unlisted { .. } => "not listed",
        },
        registers: registers(&kernel.descriptor.setup, kernel.descriptor.user_sgprs),
        arguments: kernel.arguments.iter().map(argument_report).collect(),
        code: instructions(image, names, entry, size),
    }
}

fn argument_report(argument: &Argument) -> ArgumentReport {
    ArgumentReport {
        offset: argument.offset,
        bytes: argument.size,
        kind: argument.kind.to_string(),
        type_name: argument.type_name.clone(),
        name: argument.name.clone(),
        hidden: matches!(argument.kind, ArgumentKind::Hidden(_)),
    }
}

/// The initial contents of registers when the kernel starts.
fn registers(setup: &Setup, user_sgprs: u32) -> Vec<RegisterReport> {
    let mut found = Vec::new();
    let mut next = 0;
    let mut scalar = |next: &mut u32, limit: u32, wanted: bool, count: u32, holds: &'static str| {
        if wanted && *next + count <= limit {
            let last = *next + count - 1;
            let registers = if count == 1 { format!("s{next}") } else { format!("s[{next}:{last}]") };
            found.push(RegisterReport { registers, holds });
            *next += count;
        }
    };
    scalar(&mut next, 16, setup.private_segment_buffer, 4, "private segment buffer");
    scalar(&mut next, 16, setup.dispatch_ptr, 2, "dispatch packet");
    scalar(&mut next, 16, setup.queue_ptr, 2, "queue");
    scalar(&mut next, 16, setup.kernarg_segment_ptr, 2, "kernarg segment");
    scalar(&mut next, 16, setup.dispatch_id, 2, "dispatch id");
    scalar(&mut next, 16, setup.flat_scratch_init, 2, "flat scratch init");
    scalar(&mut next, 16, setup.private_segment_size, 1, "private segment size");
    let counts = ["work-groups along x", "work-groups along y", "work-groups along z"];
    for (wanted, holds) in setup.grid_workgroup_count.into_iter().zip(counts) {
        scalar(&mut next, 16, wanted, 1, holds);
    }
    next = user_sgprs;
    let ids = ["work-group id x", "work-group id y", "work-group id z"];
    for (wanted, holds) in setup.workgroup_id.into_iter().zip(ids) {
        scalar(&mut next, u32::MAX, wanted, 1, holds);
    }
    scalar(&mut next, u32::MAX, setup.workgroup_info, 1, "work-group information");
    scalar(&mut next, u32::MAX, setup.scratch_wave_offset, 1, "scratch offset of the wavefront");
    let items = ["work-item id x", "work-item id y", "work-item id z"];
    for (index, holds) in items.into_iter().enumerate().take(setup.workitem_ids.into()) {
        found.push(RegisterReport { registers: format!("v{index}"), holds });
    }
    found
}

/// Size of the code of a kernel without a recorded size: up to the next kernel, or to the end of its segment.
fn code_until_next(object: &CodeObject, image: &Image, entry: VirtAddr) -> u64 {
    let starts = object.kernels().iter().flat_map(|kernel| [image.kernel_object(kernel), image.kernel_entry(kernel)]);
    let next = starts.filter(|start| *start > entry).min().unwrap_or(image.end());
    let segment = image.segments.iter().find(|segment| {
        segment.executable && segment.address <= entry && entry < segment.address + Bytes(segment.bytes.len() as u64)
    });
    let end = segment.map_or(entry, |segment| segment.address + Bytes(segment.bytes.len() as u64));
    (next.min(end) - entry).0
}

/// Names of code addresses.
struct Names(Vec<(u64, u64, String)>);

impl Names {
    fn of(object: &CodeObject) -> Names {
        let kernels =
            object.kernels().iter().map(|kernel| (kernel.descriptor.entry.0, kernel.code_size, kernel.name.clone()));
        let functions =
            object.functions().into_iter().map(|function| (function.address.0, function.size, function.name));
        Names(kernels.chain(functions).collect())
    }

    /// `name+0x10` for an address inside a kernel or function.
    fn place(&self, address: u64) -> String {
        let holder = self.0.iter().find(|(start, size, _)| (*start..=start.saturating_add(*size)).contains(&address));
        match holder {
            Some((start, _, name)) if *start == address => name.clone(),
            Some((start, _, name)) => format!("{name}+{:#x}", address - start),
            None => format!("{address:#x}"),
        }
    }
}

fn instructions(image: &Image, names: &Names, start: VirtAddr, size: u64) -> Vec<InstructionReport> {
    let code = usize::try_from(size).ok().and_then(|size| image.bytes(start, size)).unwrap_or_default();
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let address = start.0 + at as u64;
        let (text, size, target) = match decode(code, at) {
            Ok(inst) => {
                let is_branch =
                    inst.op.mnemonic().starts_with("s_branch") || inst.op.mnemonic().starts_with("s_cbranch");
                let target = is_branch.then(|| names.place(inst.branch_target(address)));
                (inst.to_string(), usize::from(inst.size), target)
            }
            Err(_) => ("(no instruction)".into(), 4, None),
        };
        let bytes = &code[at..(at + size).min(code.len())];
        let words = bytes.chunks(4).map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)));
        found.push(InstructionReport { address, words: words.collect(), text, target });
        at += size;
    }
    found
}

impl ObjectListing {
    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "code object version {} for gfx803", self.code_object_version)?;
        for kernel in &self.kernels {
            kernel.write(out)?;
        }
        for function in &self.functions {
            writeln!(out, "\nfunction {}", function.name)?;
            write_code(out, &function.code)?;
        }
        if !self.variables.is_empty() {
            writeln!(out, "\nvariables")?;
            for variable in &self.variables {
                writeln!(
                    out,
                    "  {:#8x}  {:>8}  {}",
                    variable.address,
                    Bytes(variable.bytes).to_string(),
                    variable.name
                )?;
            }
        }
        Ok(())
    }
}

impl KernelReport {
    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\nkernel {}", self.name)?;
        writeln!(out, "  registers   {} vector, {} scalar", self.vgprs, self.sgprs)?;
        let (lds, scratch) = (Bytes(self.lds_bytes.into()), Bytes(self.scratch_bytes_per_work_item.into()));
        writeln!(out, "  memory      LDS {lds}, scratch {scratch} per work-item, arguments {} B", self.kernarg_bytes)?;
        match (self.required_group, self.max_group) {
            (Some([x, y, z]), _) => writeln!(out, "  work-group  {x} x {y} x {z}, as the source requires")?,
            (None, Some(most)) => writeln!(out, "  work-group  at most {most} work-items")?,
            (None, None) => {}
        }
        writeln!(out, "  MODE        {:#x}", self.mode)?;
        writeln!(out, "  starts with")?;
        for register in &self.registers {
            writeln!(out, "    {:<9} {}", register.registers, register.holds)?;
        }
        if self.described {
            writeln!(out, "  arguments")?;
        } else {
            writeln!(out, "  arguments are not described in this object")?;
        }
        for argument in &self.arguments {
            write!(out, "    {:>4}  {:>4} B  {}", argument.offset, argument.bytes, argument.kind)?;
            for word in [&argument.type_name, &argument.name].into_iter().flatten() {
                write!(out, "  {word}")?;
            }
            writeln!(out)?;
        }
        if self.implicit_arguments != "HSA" {
            writeln!(out, "    and implicit ones, as the code shows: {}", self.implicit_arguments)?;
        }
        writeln!(out, "  code")?;
        write_code(out, &self.code)
    }
}

fn write_code(out: &mut String, code: &[InstructionReport]) -> fmt::Result {
    for instruction in code {
        let words: Vec<String> = instruction.words.iter().map(|word| format!("{word:08X}")).collect();
        write!(out, "    {:6x}:  {:<17}  {}", instruction.address, words.join(" "), instruction.text)?;
        if let Some(target) = &instruction.target {
            write!(out, "  // {target}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
