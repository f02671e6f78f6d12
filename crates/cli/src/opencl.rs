//! How `cohesim run` sets the OpenCL driver up.

use machine::Machine;
use os::{
    compiler,
    opencl::{Costs, Driver, PolicyKind, Settings, Usage, gpu::Gpus},
};
use serde::Serialize;

/// What the program finds when it asks for OpenCL devices.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "OpenCL")]
pub struct OpenCl {
    /// How many GPUs without time there are; a machine has its own. The program sees one device whose work-groups are dealt to
    /// all of them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: Option<u32>,
    /// Show each GPU as a device of its own.
    #[arg(long)]
    device_per_gpu: bool,
    /// Where buffers lie, and what map, unmap, read and write do [default: as the machine's host and GPU do it, else memcpy].
    #[arg(long, value_name = "POLICY", value_enum)]
    memory_policy: Option<Policy>,
    /// Stop a kernel of which one wavefront has executed so many instructions [default: never].
    #[arg(long, value_name = "N")]
    max_kernel_instructions: Option<u64>,
    /// Run clang for clBuildProgram even where nothing can confine it: the program's source can then read your files.
    #[arg(long)]
    unconfined_compiler: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Policy {
    /// Devices have memory of their own; what the host sees of it is copied.
    Memcpy,
    /// Host and devices use the same bytes.
    Shared,
}

impl OpenCl {
    /// An option that was given and that means nothing to a machine in time.
    pub fn functional_only(&self) -> Option<&'static str> {
        let instructions = self.max_kernel_instructions.map(|_| "--max-kernel-instructions");
        self.gpus.map(|_| "--gpus").or(instructions)
    }

    /// A driver for a process that will be started with these options; its kernels run on these GPUs, or without time, and are
    /// then looked at for `races`.
    pub fn driver(&self, process: &os::Options, on: Option<(Facts, Box<dyn Gpus>)>, races: bool) -> Driver {
        let compiler = compiler::Settings { allow_unconfined: self.unconfined_compiler, ..Default::default() };
        let usual = on.as_ref().map_or(PolicyKind::Memcpy, |(facts, _)| facts.policy);
        let mut settings = Settings {
            gpus: self.gpus.unwrap_or(1),
            device_per_gpu: self.device_per_gpu,
            policy: match self.memory_policy {
                None => usual,
                Some(Policy::Memcpy) => PolicyKind::Memcpy,
                Some(Policy::Shared) => PolicyKind::Shared,
            },
            compiler,
            kernel_limit: self.max_kernel_instructions,
            races,
            say: Box::new(|text| eprintln!("cohesim: OpenCL: {text}")),
            monitor: process.monitor.clone(),
            ..Settings::default()
        };
        let Some((facts, gpus)) = on else { return Driver::new(settings) };
        settings.gpus = facts.gpus;
        settings.compute_units = facts.compute_units;
        settings.costs = facts.costs;
        Driver::with_gpus(settings, gpus)
    }
}

/// What the driver must know of a machine.
#[derive(Clone, Copy)]
pub struct Facts {
    gpus: u32,
    compute_units: u32,
    costs: Costs,
    policy: PolicyKind,
}

impl From<&Machine> for Facts {
    fn from(machine: &Machine) -> Self {
        let shared = machine.cpu.as_ref().is_some_and(|complex| complex.shared);
        Self {
            gpus: machine.gpus as u32,
            compute_units: machine.compute_units() as u32,
            // Cores execute the driver's library: its time is theirs.
            costs: if machine.cpu.is_some() { Costs::default() } else { machine.host },
            policy: if shared { PolicyKind::Shared } else { PolicyKind::Memcpy },
        }
    }
}

/// What the GPUs did, for programs.
#[derive(Default, Serialize)]
pub struct GpuReport {
    kernels: u64,
    wave_instructions: u64,
    /// Work-groups that each GPU got.
    work_groups: Vec<u64>,
    /// Accesses that race with an earlier one, and the first few of them, if they were looked for.
    #[serde(skip_serializing_if = "is_zero")]
    data_races: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    first_races: Vec<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<&Usage> for GpuReport {
    fn from(usage: &Usage) -> Self {
        Self {
            kernels: usage.kernels,
            wave_instructions: usage.instructions,
            work_groups: usage.groups.clone(),
            data_races: usage.races.count,
            first_races: usage.races.first.clone(),
        }
    }
}

/// The same for people.
pub fn summary(usage: &Usage) -> String {
    let groups: Vec<String> = usage.groups.iter().map(u64::to_string).collect();
    format!(
        "{} kernels, {} wavefront instructions, work-groups by GPU: {}",
        usage.kernels,
        usage.instructions,
        groups.join(", ")
    )
}
