//! A CPU core, section `[cpu.core]` of a machine file, and its functional units, `[cpu.core.units]`.

use crate::{
    file::{Because, File, MachineError, join},
    values::{Choice, Number, OneOf, Positive, PowerOfTwo, SHORT, USUAL, WIDE},
};
use cpu::{Class, CoreSpec, Direction, Jitter, PredictorSpec, Prefetch, PrefetchSpec, Registers, Timing, Unit};
use serde::Deserialize;

const PATH: &str = "cpu.core";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CoreFile {
    fetch_width: Positive<WIDE>,
    decode_width: Positive<WIDE>,
    dispatch_width: Positive<WIDE>,
    issue_width: Positive<WIDE>,
    commit_width: Positive<WIDE>,
    fetch_queue: Positive<SHORT>,
    micro_op_queue: Positive<SHORT>,
    rob: Positive<SHORT>,
    issue_queue: Positive<SHORT>,
    load_queue: Positive<SHORT>,
    store_queue: Positive<SHORT>,
    integer_registers: Positive<SHORT>,
    x87_registers: Positive<SHORT>,
    xmm_registers: Positive<SHORT>,
    predictor: OneOf<Predictor>,
    counters: PowerOfTwo<USUAL>,
    history: Positive<30>,
    btb_sets: PowerOfTwo<SHORT>,
    btb_ways: Positive<WIDE>,
    return_stack: Number<SHORT>,
    penalty: Number,
    line_buffers: Positive<WIDE>,
    next_line: bool,
    prefetch: OneOf<Prefetch>,
    prefetch_degree: Positive<8>,
    wrong_path: bool,
    wait_for_addresses: bool,
    store_prefetch: bool,
    forwarding: Positive<SHORT>,
    jitter: Number<SHORT>,
    jitter_seed: Number<{ u64::MAX }>,
}

/// How the direction of branches is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Predictor {
    Never,
    Perfect,
    Bimodal,
    TwoLevel,
    Combined,
}

impl Choice for Predictor {
    fn words() -> Vec<(&'static str, Self)> {
        use Predictor::{Bimodal, Combined, Never, Perfect, TwoLevel};
        let simple = [("never", Never), ("perfect", Perfect), ("bimodal", Bimodal)];
        simple.into_iter().chain([("two-level", TwoLevel), ("combined", Combined)]).collect()
    }
}

impl Choice for Prefetch {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("none", Self::None), ("next-line", Self::NextLine), ("stride", Self::Stride)]
    }
}

impl Predictor {
    /// Keys of `[cpu.core]` that this predictor uses.
    fn uses(self) -> &'static [&'static str] {
        match self {
            Self::Perfect => &[],
            Self::Never => &["btb_sets", "btb_ways", "return_stack", "penalty"],
            Self::Bimodal => &["btb_sets", "btb_ways", "return_stack", "penalty", "counters"],
            Self::TwoLevel | Self::Combined => {
                &["btb_sets", "btb_ways", "return_stack", "penalty", "counters", "history"]
            }
        }
    }

    fn direction(self, counters: usize, bits: u32) -> Direction {
        match self {
            Self::Never => Direction::Never,
            Self::Perfect => Direction::Perfect,
            Self::Bimodal => Direction::Bimodal { counters },
            Self::TwoLevel => Direction::TwoLevel { histories: 1, bits, counters },
            Self::Combined => {
                Direction::Combined { bimodal: counters, histories: 1, bits, counters, choices: counters }
            }
        }
    }
}

/// Functional units of one kind: a section of `[cpu.core.units]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitFile {
    count: Positive<WIDE>,
    latency: Positive<SHORT>,
    interval: Positive<SHORT>,
}

/// `[cpu.core.units]` has no keys of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitsFile {}

/// The kinds of functional units, and the classes of work that each executes.
const UNITS: [(&str, &[Class]); 14] = [
    ("integer", &[Class::Integer, Class::Shift]),
    ("multiply", &[Class::Multiply]),
    ("divide", &[Class::Divide]),
    ("vector", &[Class::Vector, Class::Transfer]),
    ("vector_multiply", &[Class::VectorMultiply]),
    ("float_add", &[Class::FloatAdd]),
    ("float_multiply", &[Class::FloatMultiply]),
    ("float_divide", &[Class::FloatDivide]),
    ("float_root", &[Class::FloatRoot]),
    ("float_convert", &[Class::FloatConvert]),
    ("x87_add", &[Class::X87Add]),
    ("x87_multiply", &[Class::X87Multiply]),
    ("x87_divide", &[Class::X87Divide]),
    ("x87_slow", &[Class::X87Slow]),
];

/// Reads the functional units of a core, and its address generation units.
fn units(file: &mut File) -> Result<(Vec<Unit>, Timing), MachineError> {
    let UnitsFile {} = file.section(&join(PATH, "units"))?;
    let mut read = |name: &str| -> Result<Timing, MachineError> {
        let UnitFile { count, latency, interval } = file.section(&join(&join(PATH, "units"), name))?;
        Ok(Timing { count: count.count(), latency: latency.cycles(), interval: interval.cycles() })
    };
    let units = UNITS.iter().map(|(name, does)| Ok(Unit::new(does, read(name)?))).collect::<Result<_, _>>()?;
    Ok((units, read("address")?))
}

/// Reads the section of a core.
pub fn core(file: &mut File) -> Result<CoreSpec, MachineError> {
    idle_keys(file)?;
    let of: CoreFile = file.section(PATH)?;
    let (units, address) = units(file)?;
    Ok(CoreSpec {
        fetch_width: of.fetch_width.count(),
        decode_width: of.decode_width.count(),
        dispatch_width: of.dispatch_width.count(),
        issue_width: of.issue_width.count(),
        commit_width: of.commit_width.count(),
        fetch_queue: of.fetch_queue.count(),
        micro_op_queue: of.micro_op_queue.count(),
        rob: of.rob.count(),
        issue_queue: of.issue_queue.count(),
        load_queue: of.load_queue.count(),
        store_queue: of.store_queue.count(),
        registers: Registers {
            integer: of.integer_registers.count(),
            x87: of.x87_registers.count(),
            xmm: of.xmm_registers.count(),
        },
        predictor: PredictorSpec {
            direction: of.predictor.0.direction(of.counters.count(), of.history.get() as u32),
            btb_sets: of.btb_sets.count(),
            btb_ways: of.btb_ways.count(),
            return_stack: of.return_stack.count(),
            penalty: of.penalty.cycles(),
        },
        line_buffers: of.line_buffers.count(),
        next_line: of.next_line,
        prefetch: PrefetchSpec { kind: of.prefetch.0, degree: of.prefetch_degree.count() },
        wrong_path: of.wrong_path,
        wait_for_addresses: of.wait_for_addresses,
        store_prefetch: of.store_prefetch,
        forwarding: of.forwarding.cycles(),
        units,
        address,
        jitter: (of.jitter.get() > 0).then_some(Jitter { seed: of.jitter_seed.get(), most: of.jitter.cycles() }),
    })
}

fn idle_keys(file: &mut File) -> Result<(), MachineError> {
    if !file.has(PATH) {
        return Ok(());
    }
    let OneOf(predictor) = file.key::<OneOf<Predictor>>(PATH, "predictor")?;
    let words = Predictor::words();
    let word = words.iter().find(|(_, other)| *other == predictor).map_or("", |(word, _)| *word);
    for key in Predictor::TwoLevel.uses().iter().filter(|key| !predictor.uses().contains(key)) {
        let others: Vec<&str> = words.iter().filter(|it| it.1.uses().contains(key)).map(|it| it.0).collect();
        file.idle(&join(PATH, key), &Because::value("cpu.core.predictor", word, &others));
    }
    if file.key::<OneOf<Prefetch>>(PATH, "prefetch")?.0 == Prefetch::None {
        let why = Because::value("cpu.core.prefetch", "none", &["next-line", "stride"]);
        file.idle("cpu.core.prefetch_degree", &why);
    }
    if predictor == Predictor::Perfect {
        let why = Because::value("cpu.core.predictor", "perfect", &["never", "bimodal", "two-level", "combined"]);
        file.idle("cpu.core.wrong_path", &why);
    }
    if file.key::<Number<SHORT>>(PATH, "jitter")?.get() == 0 {
        let why =
            Because::new("cpu.core.jitter", "cpu.core.jitter is 0; set it to the longest random delay, in cycles");
        file.idle("cpu.core.jitter_seed", &why);
    }
    Ok(())
}
