//! The OpenCL driver's settings on the command line of `cohesim run`.

use machine::DriverFacts;
use mem::Bytes;
use os::{
    compiler,
    opencl::{Blocks, Driver, Forgotten, Paged, PolicyKind, Settings, Spread, Usage, gpu::Gpus},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The OpenCL devices that the program sees.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "OpenCL")]
pub struct OpenCl {
    /// Number of GPUs of a functional run; a machine has its own number. The program sees one device, whose work-groups
    /// are distributed over all GPUs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: Option<u32>,
    /// The devices that the program sees: `gang`, one device whose work-groups are distributed over all GPUs, or
    /// `each`, one device per GPU [default: the machine's, or gang].
    #[arg(long, value_name = "gang|each")]
    devices: Option<Devices>,
    /// Short for `--devices each`.
    #[arg(long)]
    device_per_gpu: bool,
    /// Where data that host and GPUs share lies, and when it moves [default: the machine's own policy, else memcpy].
    ///
    /// - memcpy: buffers lie in memory of the GPUs; reads, writes and maps copy.
    /// - zero-copy: buffers lie in the host's memory; GPUs access them there.
    /// - managed-eager: before a kernel, all its data moves to the GPUs; an object moves back when the host accesses it.
    /// - managed-fault: a page moves to the processor that accesses it; a full GPU memory evicts pages.
    /// - adsm-batch, adsm-lazy, adsm-rolling: host and GPU each have a copy. Around kernels the host updates the other
    ///   copy: of all data (batch), of objects that were changed (lazy), or of blocks while they are changed (rolling).
    /// - shared: host and GPUs use one copy in one memory.
    #[arg(long, value_name = "POLICY", verbatim_doc_comment)]
    memory_policy: Option<PolicyKind>,
    /// How a buffer is spread over the memories of GPUs: ranges (one per GPU), pages (distributed round-robin),
    /// first-touch (a page lies in the memory of the GPU that accesses it first), shared (in a memory that all GPUs
    /// share), or 'device N' [default: ranges; with --devices each, the first device of the buffer's context].
    #[arg(long, value_name = "HOW")]
    spread: Option<Spread>,
    /// Size of each GPU's own memory in a functional run, such as 64MiB [default: none with memcpy, zero-copy and
    /// shared, where the GPU uses the program's memory; otherwise 16GiB].
    #[arg(long, value_name = "SIZE", value_parser = crate::guest::size)]
    gpu_memory: Option<Bytes>,
    /// For adsm-rolling: size of a block, the unit of transfers.
    #[arg(long, value_name = "SIZE", value_parser = crate::guest::size)]
    adsm_block: Option<Bytes>,
    /// For adsm-rolling: maximum number of modified blocks; one more and the oldest is sent [default: two per object].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    adsm_rolling: Option<u64>,
    /// For debugging functional runs: overwrite copies of pages that are not valid.
    #[arg(long, hide = true)]
    poison: bool,
    /// Leave out transfer N or shootdown N of the driver, such as transfer:3, to test that checks notice it.
    #[arg(long, hide = true, value_name = "WHAT:N", value_parser = forgotten)]
    forget: Option<(Forgotten, u64)>,
    /// Stop a kernel when one of its wavefronts has executed this many instructions [default: never].
    #[arg(long, value_name = "N")]
    max_kernel_instructions: Option<u64>,
    /// Run clang for clBuildProgram even if this computer has no means to confine it. The program's source can then
    /// read your files.
    #[arg(long)]
    unconfined_compiler: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Devices {
    Gang,
    Each,
}

/// Parses the operation that the driver omits, for tests: its kind and its number.
fn forgotten(text: &str) -> Result<(Forgotten, u64), String> {
    let wrong = || format!("'{text}' is not transfer:N or shootdown:N");
    let (what, n) = text.split_once(':').ok_or_else(wrong)?;
    let what = match what {
        "transfer" => Forgotten::Transfer,
        "shootdown" => Forgotten::Shootdown,
        _ => return Err(wrong()),
    };
    Ok((what, n.parse().map_err(|_| wrong())?))
}

impl OpenCl {
    /// An option that was given but has no meaning for a timed machine.
    pub fn functional_only(&self) -> Option<&'static str> {
        let instructions = self.max_kernel_instructions.map(|_| "--max-kernel-instructions");
        let memory = self.gpu_memory.map(|_| "--gpu-memory");
        self.gpus.map(|_| "--gpus").or(instructions).or(memory).or(self.poison.then_some("--poison"))
    }

    /// The driver of a process to be started with these options. Its kernels run on these GPUs, or functionally, and
    /// then with race detection if `races`.
    ///
    /// # Errors
    /// If the GPUs lack what a memory policy needs.
    pub fn driver(
        &self,
        process: &os::Options,
        on: Option<(DriverFacts, Box<dyn Gpus>)>,
        races: bool,
    ) -> Result<Driver, String> {
        let compiler = compiler::Settings { allow_unconfined: self.unconfined_compiler, ..Default::default() };
        let (known, gpus) = on.map_or((None, None), |(facts, gpus)| (Some(facts.settings()), Some(gpus)));
        let known = known.unwrap_or_else(|| Settings { gpus: self.gpus.unwrap_or(1), ..Settings::default() });
        let blocks = Blocks {
            size: self.adsm_block.unwrap_or(known.blocks.size),
            rolling: self.adsm_rolling.or(known.blocks.rolling),
        };
        let settings = Settings {
            device_per_gpu: self.device_per_gpu
                || self.devices.map_or(known.device_per_gpu, |devices| devices == Devices::Each),
            policy: self.memory_policy.unwrap_or(known.policy),
            spread: self.spread.or(known.spread),
            gpu_memory: self.gpu_memory,
            blocks,
            poison: self.poison,
            forget: self.forget,
            compiler,
            kernel_limit: self.max_kernel_instructions,
            races,
            say: Box::new(|text| eprintln!("cohesim: OpenCL: {text}")),
            monitor: process.monitor.clone(),
            ..known
        };
        match gpus {
            None => Driver::without_time(settings),
            Some(gpus) => Driver::on(settings, gpus),
        }
    }
}

/// Activity of the GPUs, as JSON.
#[derive(Default, Serialize)]
pub struct GpuReport {
    kernels: u64,
    wave_instructions: u64,
    /// Workgroups of each GPU.
    work_groups: Vec<u64>,
    /// Accesses that race with an earlier one, and the first few of them, if races were detected.
    #[serde(skip_serializing_if = "is_zero")]
    data_races: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    first_races: Vec<String>,
    /// Bytes moved between memories, by cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    moved: BTreeMap<&'static str, u64>,
    /// Faults of the host and of GPUs that the driver served.
    #[serde(skip_serializing_if = "is_zero")]
    host_faults: u64,
    #[serde(skip_serializing_if = "is_zero")]
    device_faults: u64,
    /// Pages that moved to another memory, that moved back and forth, and that were evicted because a memory was full.
    #[serde(skip_serializing_if = "is_zero")]
    migrations: u64,
    #[serde(skip_serializing_if = "is_zero")]
    thrashed_pages: u64,
    #[serde(skip_serializing_if = "is_zero")]
    evictions: u64,
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
            moved: usage.paged.by_cause().collect(),
            host_faults: usage.paged.host_faults,
            device_faults: usage.paged.device_faults,
            migrations: usage.paged.migrations,
            thrashed_pages: usage.paged.thrashed,
            evictions: usage.paged.evictions,
        }
    }
}

/// Activity of the GPUs, as text.
pub fn summary(usage: &Usage) -> String {
    let groups: Vec<String> = usage.groups.iter().map(u64::to_string).collect();
    let mut text = format!(
        "{} kernels, {} wavefront instructions, work-groups by GPU: {}",
        usage.kernels,
        usage.instructions,
        groups.join(", ")
    );
    let moved: Vec<String> = usage.paged.by_cause().map(|(cause, bytes)| format!("{cause} {bytes}")).collect();
    if !moved.is_empty() {
        text += &format!("; bytes moved: {}", moved.join(", "));
    }
    let Paged { host_faults, device_faults, migrations, thrashed, evictions, .. } = usage.paged;
    let counts = [
        (host_faults, "faults of the host"),
        (device_faults, "faults of GPUs"),
        (migrations, "pages migrated"),
        (thrashed, "pages thrashed"),
        (evictions, "pages evicted"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!("; {count} {what}");
    }
    text
}
