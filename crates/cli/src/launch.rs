//! `cohesim launch`: runs one kernel of a code object, without a host program.

mod argument;
mod dump;
mod gpu;
mod scalar;
mod timed;

use crate::{
    files::{read, read_code_object, write},
    progress::Progress,
    ui::Ui,
};
use argument::Given;
use dump::{Dump, Dumped};
use engine::{Headway, Monitor};
use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::Options,
    object::{Argument, CodeObject, Kernel},
};
use gpu::{Buffer, Gpu};
use miette::{Context, IntoDiagnostic, bail, miette};
use report::{Program, Summary};
use serde::Serialize;
use std::{fmt::Write, num::NonZeroUsize, path::PathBuf, time::Instant};
use timed::{Simulated, Timed};

/// Run one kernel of a code object.
#[derive(clap::Args)]
pub struct Launch {
    /// Code object for gfx803, from `cohesim cc` or any other compiler.
    file: PathBuf,
    /// The kernel to run; needed if the object holds several.
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// Work-items along x, y and z.
    #[arg(short, long, value_name = "X[,Y,Z]", value_parser = size)]
    grid: Size,
    /// Work-items of a work-group along x, y and z.
    #[arg(long, value_name = "X[,Y,Z]", value_parser = size)]
    group: Size,
    /// The global id of the first work-item along x, y and z.
    #[arg(long, value_name = "X[,Y,Z]", value_parser = offset, default_value = "0")]
    offset: Offset,
    /// The arguments in order: i32:7, f32:1.5, u64:.. (all widths; vectors with commas), hex:BYTES, in:FILE,
    /// out:FILE:BYTES, inout:FILE, zero:BYTES, rand-f32:COUNT:SEED, rand-u32:COUNT:SEED, local:BYTES.
    #[arg(short, long = "arg", value_name = "KIND:VALUE", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Local memory in addition to that of kernel and arguments, as HIP's `extern __shared__` needs.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    lds: u32,
    /// Print elements of argument N afterwards: 2:f32:0..8.
    #[arg(short, long = "dump", value_name = "N:TYPE:RANGE")]
    dumps: Vec<Dump>,
    /// Number of launches, one after the other, on the same buffers.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Threads that run work-groups [default: all cores]; results do not depend on their number.
    #[arg(short, long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Give up when a wavefront has executed this many instructions [default: never].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    timed: Timed,
}

/// Sizes along x, y and z, and the number of sizes given.
#[derive(Clone, Copy, Debug)]
struct Size {
    along: [u32; 3],
    dims: u16,
}

#[derive(Clone, Copy, Debug)]
struct Offset([u64; 3]);

#[derive(Serialize)]
struct LaunchReport<'a> {
    kernel: &'a str,
    grid: [u32; 3],
    group: [u32; 3],
    repeat: u32,
    /// Total over all launches.
    wave_instructions: u64,
    dumps: Vec<Dumped>,
    /// Present if the launch was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<Summary>,
    #[serde(skip)]
    text: String,
    /// Wall times on this computer, not simulated times.
    host: Host,
}

#[derive(Serialize)]
struct Host {
    seconds: f64,
    threads: usize,
}

impl Launch {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let object = read_code_object(&self.file)?;
        let kernel = self.pick(&object)?;
        let mut dispatch = Dispatch::new(kernel, self.grid.along, self.group.along, self.offset.0).into_diagnostic()?;
        dispatch = dispatch.with_dims(self.grid.dims.max(self.group.dims));
        if dispatch.has_partial_groups() && kernel.uniform_groups {
            ui.note(
                "the grid is not a multiple of the group, and the kernel was compiled for groups of one size \
                 (get_local_size answers the full size in the last ones); --std CL2.0 compiles for any",
            );
        }
        dispatch.warning().inspect(|warning| ui.note(warning));
        let given = self.given(kernel)?;
        let threads = self.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let mut gpu = Gpu::new(&object)?;
        if gpu.prints() {
            ui.note("the code calls printf; what it prints is not shown");
        }
        let buffers = place(&mut gpu, &mut dispatch, &given)?;
        dispatch.allocate_lds(self.lds, 16).into_diagnostic()?;
        self.check_dumps(&buffers)?;

        let start = Instant::now();
        let (mut simulated, mut wave_instructions) = (None, 0);
        if let Some(system) = &self.timed.system {
            let program = self.program(&kernel.name, &given)?;
            let told = (&program, self.args.as_slice());
            simulated =
                Some(self.timed.run(system, told, &mut gpu, (&dispatch, self.repeat), (threads, self.limit), ui)?);
            wave_instructions = simulated.as_ref().map_or(0, |simulated| simulated.summary.wave_instructions);
        } else {
            let monitor = Monitor::default();
            let _progress = Progress::start(&format!("launch of {}", kernel.name), &monitor, None, ui);
            for _ in 0..self.repeat {
                monitor.add(Headway { kernels: 1, ..Headway::default() });
                wave_instructions += gpu.launch(&dispatch, Options { threads, limit: self.limit })?;
            }
        }
        let seconds = start.elapsed().as_secs_f64();

        let dumps = self.dump(&gpu, &buffers)?;
        for (given, buffer) in given.iter().zip(&buffers) {
            if let (Given::Buffer(source), Some(buffer)) = (given, buffer)
                && let Some(path) = &source.output
            {
                write(path, &gpu.read(*buffer)?)?;
            }
        }
        let report = LaunchReport {
            kernel: &kernel.name,
            grid: self.grid.along,
            group: self.group.along,
            repeat: self.repeat,
            wave_instructions,
            dumps,
            text: simulated.as_ref().map(Simulated::text).unwrap_or_default(),
            simulated: simulated.map(|simulated| simulated.summary),
            host: Host { seconds, threads },
        };
        ui.print(&report.text(kernel))?;
        ui.report(&report)
    }

    /// The part of the launch's identity that does not come from its arguments: code, shape and the contents of
    /// buffers.
    fn program(&self, kernel: &str, given: &[Given]) -> miette::Result<Program> {
        let mut program = Program::new(kernel, read(&self.file)?);
        let shape = format!("{:?} {:?} {:?} {} {}", self.grid, self.group, self.offset, self.lds, self.repeat);
        program = program.with_input("shape", shape.as_bytes());
        for (index, given) in given.iter().enumerate() {
            if let Given::Buffer(source) = given {
                let contents = source.contents().map_err(|error| miette!("argument {index}: {error}"))?;
                program = program.with_input(format!("argument {index}"), &contents);
            }
        }
        Ok(program)
    }

    /// The named kernel, or the only one.
    fn pick<'a>(&self, object: &'a CodeObject) -> miette::Result<&'a Kernel> {
        match (&self.kernel, object.kernels()) {
            (Some(name), _) => object.kernel(name).into_diagnostic(),
            (None, [only]) => Ok(only),
            (None, []) => bail!("'{}' holds no kernel", self.file.display()),
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|kernel| kernel.name.as_str()).collect();
                bail!("'{}' holds several kernels; choose one with --kernel: {}", self.file.display(), names.join(", "))
            }
        }
    }

    /// Parses the arguments and checks them against the kernel's.
    fn given(&self, kernel: &Kernel) -> miette::Result<Vec<Given>> {
        let declared: Vec<&Argument> = kernel.explicit_arguments().collect();
        if kernel.described && declared.len() != self.args.len() {
            let list: Vec<String> = declared.iter().map(|argument| format!("--arg {}", example(argument))).collect();
            return Err(miette!(
                help = format!("it takes: {}", if list.is_empty() { "none".into() } else { list.join("  ") }),
                "kernel '{}' takes {} arguments, but {} were given",
                kernel.name,
                declared.len(),
                self.args.len()
            ));
        }
        let mut given = Vec::new();
        for (index, text) in self.args.iter().enumerate() {
            let place = || format!("argument {index} ('{text}')");
            let mut argument: Given = text.parse().map_err(|error: String| miette!("{}: {error}", place()))?;
            if let Some(declared) = declared.get(index) {
                let name = describe(declared);
                let value = argument.check(declared).map_err(|error| {
                    miette!("{} does not fit '{name}' of kernel '{}': {error}", place(), kernel.name)
                })?;
                if let Some(bytes) = value {
                    argument = Given::Bytes(bytes);
                }
            }
            given.push(argument);
        }
        Ok(given)
    }

    fn check_dumps(&self, buffers: &[Option<Buffer>]) -> miette::Result<()> {
        for dump in &self.dumps {
            match buffers.get(dump.argument) {
                Some(Some(buffer)) => {
                    dump.elements(buffer.size).map_err(|error| miette!("--dump {}: {error}", dump.argument))?;
                }
                Some(None) => bail!("--dump {}: argument {} is not a buffer", dump.argument, dump.argument),
                None => bail!("--dump {}: there are {} arguments, counted from 0", dump.argument, buffers.len()),
            }
        }
        Ok(())
    }

    fn dump(&self, gpu: &Gpu, buffers: &[Option<Buffer>]) -> miette::Result<Vec<Dumped>> {
        let mut dumps = Vec::new();
        for dump in &self.dumps {
            let buffer = buffers.get(dump.argument).copied().flatten().expect("dumps were checked before the launch");
            let taken = dump.take(&gpu.read(buffer)?);
            dumps.push(taken.map_err(|error| miette!("--dump {}: {error}", dump.argument))?);
        }
        Ok(dumps)
    }
}

/// Allocates buffers and packs the arguments. Returns the buffer of each buffer argument.
fn place(gpu: &mut Gpu, dispatch: &mut Dispatch, given: &[Given]) -> miette::Result<Vec<Option<Buffer>>> {
    let mut buffers = Vec::new();
    let mut values = Vec::new();
    for (index, given) in given.iter().enumerate() {
        let (value, buffer) = match given {
            Given::Bytes(bytes) | Given::Numbers { bytes, .. } => (ArgumentValue::Bytes(bytes.clone()), None),
            Given::Local(size) => (ArgumentValue::Local(*size), None),
            Given::Buffer(source) => {
                let contents = source.contents().map_err(|error| miette!("argument {index}: {error}"))?;
                let buffer = gpu.allocate(&contents)?;
                (ArgumentValue::Pointer(buffer.address), Some(buffer))
            }
        };
        values.push(value);
        buffers.push(buffer);
    }
    if dispatch.kernel().described {
        dispatch.set_arguments(&values).into_diagnostic()?;
    } else {
        let bytes = pack(dispatch, &values)?;
        dispatch.set_raw_arguments(&bytes).into_diagnostic().context("the object does not describe its arguments")?;
    }
    Ok(buffers)
}

/// Lays arguments out as a compiler would: each aligned to its size, pointers 8 bytes, local memory 4.
fn pack(dispatch: &mut Dispatch, values: &[ArgumentValue]) -> miette::Result<Vec<u8>> {
    let mut segment = Vec::new();
    for value in values {
        let bytes = match value {
            ArgumentValue::Bytes(bytes) => bytes.clone(),
            ArgumentValue::Pointer(address) => address.0.to_le_bytes().to_vec(),
            ArgumentValue::Local(size) => dispatch.allocate_lds(*size, 16).into_diagnostic()?.to_le_bytes().to_vec(),
        };
        let align = bytes.len().next_power_of_two().min(16);
        segment.resize(segment.len().next_multiple_of(align.max(1)), 0);
        segment.extend(bytes);
    }
    Ok(segment)
}

fn describe(argument: &Argument) -> String {
    let words = [argument.type_name.as_deref(), argument.name.as_deref()];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    if words.is_empty() { argument.kind.to_string() } else { words.join(" ") }
}

/// An example of what to write for an argument.
fn example(argument: &Argument) -> String {
    use gcn3::object::ArgumentKind;
    let form = match argument.kind {
        ArgumentKind::Buffer => "in:|out:|inout:|zero:|rand-f32:..".to_string(),
        ArgumentKind::DynamicLds => "local:BYTES".to_string(),
        ArgumentKind::Value => match argument::element(argument).0 {
            Some(scalar) => format!("{scalar}:.."),
            None => format!("hex:({} bytes)", argument.size),
        },
        other => format!("({other})"),
    };
    format!("{form} ({})", describe(argument))
}

impl LaunchReport<'_> {
    fn text(&self, kernel: &Kernel) -> String {
        let mut text = String::new();
        let by = |size: [u32; 3]| match size {
            [x, 1, 1] => x.to_string(),
            [x, y, 1] => format!("{x} x {y}"),
            [x, y, z] => format!("{x} x {y} x {z}"),
        };
        let times = if self.repeat == 1 { String::new() } else { format!(", {} times", self.repeat) };
        writeln!(
            text,
            "{}: {} work-items in groups of {}{times}: {} wavefront instructions",
            self.kernel,
            by(self.grid),
            by(self.group),
            self.wave_instructions
        )
        .expect("writing to a string can't fail");
        text.push_str(&self.text);
        let declared: Vec<&Argument> = kernel.explicit_arguments().collect();
        for dump in &self.dumps {
            let name = declared.get(dump.argument).map(|argument| format!(" ({})", describe(argument)));
            let end = dump.start + dump.values.len();
            writeln!(
                text,
                "argument {}{}, {} {}..{end}: {}",
                dump.argument,
                name.unwrap_or_default(),
                dump.scalar,
                dump.start,
                dump.text
            )
            .expect("writing to a string can't fail");
        }
        text
    }
}

fn numbers<T: std::str::FromStr + Copy>(text: &str, default: T) -> Result<([T; 3], u16), String> {
    let parts: Result<Vec<T>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let parts = parts.map_err(|_| format!("'{text}' is not X, X,Y or X,Y,Z"))?;
    match parts[..] {
        [x] => Ok(([x, default, default], 1)),
        [x, y] => Ok(([x, y, default], 2)),
        [x, y, z] => Ok(([x, y, z], 3)),
        _ => Err(format!("'{text}' is not X, X,Y or X,Y,Z")),
    }
}

fn size(text: &str) -> Result<Size, String> {
    numbers(text, 1).map(|(along, dims)| Size { along, dims })
}

fn offset(text: &str) -> Result<Offset, String> {
    numbers(text, 0).map(|(along, _)| Offset(along))
}
