//! `cohesim show workload NAME`: what a built-in workload computes, and its kernels.

use gcn3::object::{Argument, CodeObject, Kernel};
use miette::{IntoDiagnostic, bail, miette};
use serde::Serialize;
use workloads::{CpuProgram, Size, Workload};

use crate::ui::Ui;

/// Show a built-in workload: what it computes, its sizes and its kernels.
#[derive(clap::Args)]
pub struct ShowWorkload {
    /// The workload (see `cohesim list workloads`).
    name: String,
    /// Print the kernels' source in OpenCL C.
    #[arg(long, conflicts_with = "host")]
    source: bool,
    /// Print the host program's source in C.
    #[arg(long)]
    host: bool,
}

#[derive(Serialize)]
struct Shown {
    name: &'static str,
    about: &'static str,
    tiny: String,
    default: String,
    kernels: Vec<ShownKernel>,
    source: &'static str,
    host: &'static str,
}

#[derive(Serialize)]
struct ShownCpuProgram {
    name: &'static str,
    about: &'static str,
    cpu_only: bool,
    host: &'static str,
}

#[derive(Serialize)]
struct ShownKernel {
    name: String,
    arguments: Vec<String>,
    sgprs: u16,
    vgprs: u16,
    lds_bytes: u32,
}

impl ShowWorkload {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        if let Some(program) = workloads::find_cpu_program(&self.name) {
            return self.show_cpu_program(program, ui);
        }
        let workload = workloads::find(&self.name)
            .ok_or_else(|| miette!("there is no workload '{}': `cohesim list workloads` lists them", self.name))?;
        let shown = Shown::new(workload)?;
        ui.print(&match (self.source, self.host) {
            (true, _) => workload.source.to_owned(),
            (_, true) => workload.host.to_owned(),
            _ => shown.text(),
        })?;
        ui.report(&shown)
    }

    fn show_cpu_program(&self, program: &CpuProgram, ui: &Ui) -> miette::Result<()> {
        let CpuProgram { name, about, source, .. } = *program;
        if self.source {
            bail!("{name} has no kernels: --host prints its source in C");
        }
        let run = format!("cohesim run {name} --functional (-- --help lists its options)");
        let text = format!("{name}: CPU only: {about}\n  run      {run}\n");
        ui.print(if self.host { source } else { &text })?;
        ui.report(&ShownCpuProgram { name, about, cpu_only: true, host: source })
    }
}

impl Shown {
    fn new(workload: &Workload) -> miette::Result<Self> {
        let object = CodeObject::parse(workload.object).into_diagnostic()?;
        Ok(Self {
            name: workload.name,
            about: workload.about,
            tiny: (workload.sizes)(Size::Tiny),
            default: (workload.sizes)(Size::Default),
            kernels: object.kernels().iter().map(ShownKernel::new).collect(),
            source: workload.source,
            host: workload.host,
        })
    }

    fn text(&self) -> String {
        let Shown { name, about, tiny, default, kernels, .. } = self;
        let kernels = kernels.iter().map(|k| {
            let ShownKernel { name, arguments, sgprs, vgprs, lds_bytes } = k;
            let arguments = arguments.join(", ");
            format!("kernel {name}({arguments})\n  {sgprs} SGPRs, {vgprs} VGPRs, {lds_bytes} bytes of LDS\n")
        });
        let run = format!("cohesim run {name} --functional [-- --size N] (-- --help lists its options)");
        let kernels = kernels.collect::<String>();
        format!("{name}: {about}\n  tiny     {tiny}\n  default  {default}\n  run      {run}\n{kernels}")
    }
}

impl ShownKernel {
    fn new(kernel: &Kernel) -> Self {
        Self {
            name: kernel.name.clone(),
            arguments: kernel.explicit_arguments().map(describe).collect(),
            sgprs: kernel.sgprs,
            vgprs: kernel.vgprs,
            lds_bytes: kernel.lds_size,
        }
    }
}

/// An argument's type and, if the compiler kept it, its name.
fn describe(argument: &Argument) -> String {
    let type_name = argument.type_name.clone().unwrap_or_else(|| format!("{} bytes", argument.size));
    argument.name.iter().fold(type_name, |type_name, name| format!("{type_name} {name}"))
}
