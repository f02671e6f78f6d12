//! The parameters of a core.
//!
//! Width and reorder buffer are the paper's (`[giles Table 4.1]`). The paper does not state the others; machine files
//! have those of the author's code and of Multi2Sim, on whose core the paper's is based, with two exceptions.
//! Multi2Sim has one load-store queue; here loads and stores each have a queue of that size. Multi2Sim's additions and
//! its logic have units of their own; here they are one class.

use engine::Cycles;
use thiserror::Error;
use x86::trace::Class;

/// A core, as a machine file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreSpec {
    /// Instructions fetched and decoded per cycle.
    pub fetch_width: usize,
    pub decode_width: usize,
    /// Micro-operations dispatched, issued and committed per cycle.
    pub dispatch_width: usize,
    pub issue_width: usize,
    pub commit_width: usize,
    /// Instructions fetched and not decoded; micro-operations decoded and not dispatched. The hardware threads divide
    /// these queues, those below, and the registers among themselves.
    pub fetch_queue: usize,
    pub micro_op_queue: usize,
    pub rob: usize,
    pub issue_queue: usize,
    /// Lines of loads from dispatch until commit; lines of stores from dispatch until they are performed.
    pub load_queue: usize,
    pub store_queue: usize,
    pub registers: Registers,
    /// The functional units. A class without a unit takes one cycle and no unit.
    pub units: Vec<Unit>,
    /// The address generation units.
    pub address: Timing,
    pub predictor: PredictorSpec,
    /// Number of code lines that a thread buffers, so that they are not requested again. At least one.
    pub line_buffers: usize,
    /// Prefetches the next code line.
    pub next_line: bool,
    /// If set, loads wait until the addresses of all older stores are known. Otherwise they wait only for older stores
    /// to the same bytes.
    pub wait_for_addresses: bool,
    /// The prefetcher of the data cache.
    pub prefetch: PrefetchSpec,
    /// Whether code is fetched behind a mispredicted branch until the branch is known to be wrong: lines of code are
    /// requested in order from the path not taken, and execute nothing.
    pub wrong_path: bool,
    /// Requests the line of a store as soon as its address is known (3.2.2), so that it is present when the store
    /// commits.
    pub store_prefetch: bool,
    /// From the cycle in which a load's address and an older store's value are known until the load has that value.
    pub forwarding: Cycles,
    /// Random delays, for tests that need other orders of accesses.
    pub jitter: Option<Jitter>,
}

/// Physical registers. Each thread needs as many as there are architectural registers; the others hold uncommitted
/// results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// General registers, flags, and temporaries between micro-operations of one instruction.
    pub integer: usize,
    /// The x87 stack as a whole is one register.
    pub x87: usize,
    pub xmm: usize,
}

/// Functional units of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub count: usize,
    /// From issue until the result can be used.
    pub latency: Cycles,
    /// From issue until the unit can accept the next micro-operation.
    pub interval: Cycles,
}

impl Timing {
    pub const fn new(count: usize, latency: u64, interval: u64) -> Self {
        Self { count, latency: Cycles(latency), interval: Cycles(interval) }
    }
}

/// Functional units, and the classes of work they execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub does: Vec<Class>,
    pub timing: Timing,
}

impl Unit {
    pub fn new(does: &[Class], timing: Timing) -> Self {
        Self { does: does.to_vec(), timing }
    }
}

/// The parameters of branch prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictorSpec {
    pub direction: Direction,
    /// The branch target buffer: sets (a power of two) and ways.
    pub btb_sets: usize,
    pub btb_ways: usize,
    /// Size of the return address stack.
    pub return_stack: usize,
    /// From the resolution of a mispredicted branch until fetch continues.
    pub penalty: Cycles,
}

/// How the direction of a conditional branch is predicted. Sizes are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Always predicts "not taken".
    Never,
    /// Predicts directions and targets perfectly: an upper bound.
    Perfect,
    /// A two-bit counter for each address.
    Bimodal { counters: usize },
    /// A counter for each pattern of recent branches: `histories` histories (1: one for all branches) of `bits` bits.
    TwoLevel { histories: usize, bits: u32, counters: usize },
    /// Both predictors, and a counter for each address that selects one.
    Combined { bimodal: usize, histories: usize, bits: u32, counters: usize, choices: usize },
}

/// The lines that a core prefetches into its data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    None,
    /// The lines behind each line that is loaded from.
    NextLine,
    /// The addresses ahead of load instructions that advance by a constant distance.
    Stride,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchSpec {
    pub kind: Prefetch,
    /// Lines or strides ahead.
    pub degree: usize,
}

/// Random delays, determined by their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    pub seed: u64,
    /// The longest delay of a store before it is sent, and of an instruction before it is fetched. One in four is
    /// delayed.
    pub most: Cycles,
}

impl Default for CoreSpec {
    fn default() -> Self {
        use Class::*;
        let unit = |does: &[Class], count, latency, interval| Unit::new(does, Timing::new(count, latency, interval));
        Self {
            fetch_width: 4,
            decode_width: 4,
            dispatch_width: 4,
            issue_width: 4,
            commit_width: 4,
            // 64 bytes.
            fetch_queue: 16,
            micro_op_queue: 32,
            rob: 64,
            issue_queue: 40,
            load_queue: 20,
            store_queue: 20,
            registers: Registers { integer: 80, x87: 40, xmm: 40 },
            units: vec![
                unit(&[Integer, Shift], 4, 1, 1),
                unit(&[Multiply], 1, 3, 3),
                unit(&[Divide], 1, 20, 20),
                unit(&[Vector, Transfer], 1, 1, 1),
                unit(&[VectorMultiply], 1, 2, 2),
                unit(&[FloatAdd], 1, 5, 5),
                unit(&[FloatMultiply], 1, 10, 10),
                unit(&[FloatDivide], 1, 15, 15),
                unit(&[FloatRoot], 1, 20, 20),
                unit(&[FloatConvert], 1, 5, 5),
                unit(&[X87Add], 2, 5, 5),
                unit(&[X87Multiply], 1, 10, 10),
                unit(&[X87Divide], 1, 15, 15),
                unit(&[X87Slow], 1, 20, 20),
            ],
            address: Timing::new(4, 2, 1),
            predictor: PredictorSpec {
                // 1024 rows of 2^8 counters.
                direction: Direction::TwoLevel { histories: 1, bits: 8, counters: 1024 << 8 },
                btb_sets: 256,
                btb_ways: 4,
                return_stack: 32,
                penalty: Cycles(0),
            },
            line_buffers: 4,
            next_line: false,
            wait_for_addresses: false,
            prefetch: PrefetchSpec { kind: Prefetch::None, degree: 1 },
            wrong_path: false,
            store_prefetch: true,
            forwarding: Cycles(1),
            jitter: None,
        }
    }
}

/// A core that can't be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    #[error("`{what}` of a core is 0: it must be at least 1, or nothing gets through")]
    Zero { what: &'static str },
    #[error("`{what}` of a core is {size}: it must be a power of two")]
    NotPowerOfTwo { what: &'static str, size: usize },
    #[error(
        "a core has {count} physical {kind} registers for {threads} hardware threads: at least {needed} are needed"
    )]
    FewRegisters { kind: &'static str, count: usize, threads: usize, needed: usize },
    #[error("`{what}` of a core is {size}: {threads} hardware threads share it, and each needs at least 1")]
    TooSmall { what: &'static str, size: usize, threads: usize },
    #[error("two functional units of a core execute {class:?}: a class of operations belongs to one unit")]
    TwoUnits { class: Class },
    #[error("a core has {kinds} kinds of functional units: {most} are possible")]
    ManyUnits { kinds: usize, most: usize },
    #[error("a core has {threads} hardware threads: 1 to {most} are possible")]
    Threads { threads: usize, most: usize },
    #[error("a history of {bits} branches: 1 to 30 are possible")]
    History { bits: u32 },
}

/// Maximum number of hardware threads of a core.
pub(crate) const MOST_THREADS: usize = 8;

/// Maximum number of kinds of functional units.
const MOST_UNITS: usize = 60;

/// Number of architectural registers: general registers and flags, the x87 stack, xmm registers.
pub(crate) const NAMED: [usize; 3] = [17, 1, 16];

impl CoreSpec {
    /// Checks whether such a core with `threads` hardware threads can be built.
    pub fn check(&self, threads: usize) -> Result<(), SpecError> {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(SpecError::Threads { threads, most: MOST_THREADS });
        }
        let shared = [
            ("fetch_queue", self.fetch_queue),
            ("micro_op_queue", self.micro_op_queue),
            ("rob", self.rob),
            ("issue_queue", self.issue_queue),
            ("load_queue", self.load_queue),
            ("store_queue", self.store_queue),
        ];
        let widths = [
            ("fetch_width", self.fetch_width),
            ("decode_width", self.decode_width),
            ("dispatch_width", self.dispatch_width),
            ("issue_width", self.issue_width),
            ("commit_width", self.commit_width),
            ("line_buffers", self.line_buffers),
            ("forwarding", self.forwarding.0 as usize),
            ("btb_ways", self.predictor.btb_ways),
        ];
        if let Some((what, _)) = shared.iter().chain(&widths).find(|(_, size)| *size == 0) {
            return Err(SpecError::Zero { what });
        }
        if let Some((what, size)) = shared.into_iter().find(|(_, size)| *size < threads) {
            return Err(SpecError::TooSmall { what, size, threads });
        }
        self.check_registers(threads)?;
        self.check_units()?;
        self.predictor.check()
    }

    fn check_registers(&self, threads: usize) -> Result<(), SpecError> {
        let Registers { integer, x87, xmm } = self.registers;
        for ((kind, count), named) in [("integer", integer), ("x87", x87), ("xmm", xmm)].into_iter().zip(NAMED) {
            let needed = (named + 1) * threads;
            if count < needed {
                return Err(SpecError::FewRegisters { kind, count, threads, needed });
            }
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), SpecError> {
        let mut seen = Vec::new();
        if self.units.len() > MOST_UNITS {
            return Err(SpecError::ManyUnits { kinds: self.units.len(), most: MOST_UNITS });
        }
        let timings = self.units.iter().map(|unit| unit.timing).chain([self.address]);
        for timing in timings {
            for (what, value) in [
                ("count of a unit", timing.count as u64),
                ("latency of a unit", timing.latency.0),
                ("interval of a unit", timing.interval.0),
            ] {
                if value == 0 {
                    return Err(SpecError::Zero { what });
                }
            }
        }
        for class in self.units.iter().flat_map(|unit| &unit.does) {
            if seen.contains(class) {
                return Err(SpecError::TwoUnits { class: *class });
            }
            seen.push(*class);
        }
        Ok(())
    }
}

impl PredictorSpec {
    fn check(&self) -> Result<(), SpecError> {
        let power = |what, size: usize| match size.is_power_of_two() {
            true => Ok(()),
            false => Err(SpecError::NotPowerOfTwo { what, size }),
        };
        let two_level = |histories, bits, counters| {
            power("histories", histories)?;
            power("counters", counters)?;
            if (1..=30).contains(&bits) { Ok(()) } else { Err(SpecError::History { bits }) }
        };
        power("btb_sets", self.btb_sets)?;
        match self.direction {
            Direction::Never | Direction::Perfect => Ok(()),
            Direction::Bimodal { counters } => power("counters", counters),
            Direction::TwoLevel { histories, bits, counters } => two_level(histories, bits, counters),
            Direction::Combined { bimodal, histories, bits, counters, choices } => {
                power("bimodal", bimodal)?;
                power("choices", choices)?;
                two_level(histories, bits, counters)
            }
        }
    }
}
