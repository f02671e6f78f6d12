//! The statistics of one partition, as its elements hold them.

use super::{order, path::Path, rate::Rate, series::Series, value::Value};
use crate::{
    core::Core,
    energy::{self, Energy},
    name::{Name, Names},
    time::Time,
};
use std::{borrow::Cow, cell::Cell, rc::Rc};

/// A counter.
#[derive(Clone)]
pub struct Counter(Rc<Cell<u64>>);

impl Counter {
    /// Counts one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Counts `n`.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.set(self.0.get() + n);
    }

    /// The count in this region.
    pub fn get(&self) -> u64 {
        self.0.get()
    }
}

/// The distribution of values: bucket 0 counts zeros, bucket n values of n bits.
#[derive(Clone)]
pub struct Histogram(Rc<HistogramCells>);

struct HistogramCells {
    buckets: [Cell<u64>; 65],
    sum: Cell<u64>,
    min: Cell<u64>,
    max: Cell<u64>,
}

impl Histogram {
    fn new() -> Histogram {
        let cells = HistogramCells {
            buckets: [const { Cell::new(0) }; 65],
            sum: Cell::new(0),
            min: Cell::new(u64::MAX),
            max: Cell::new(0),
        };
        Histogram(Rc::new(cells))
    }

    /// Counts one value.
    #[inline]
    pub fn record(&self, value: u64) {
        let bucket = &self.0.buckets[(u64::BITS - value.leading_zeros()) as usize];
        bucket.set(bucket.get() + 1);
        self.0.sum.set(self.0.sum.get().saturating_add(value));
        self.0.min.set(self.0.min.get().min(value));
        self.0.max.set(self.0.max.get().max(value));
    }

    /// Records `n` zeros.
    pub(super) fn record_zeros(&self, n: u64) {
        if n > 0 {
            self.record(0);
            self.0.buckets[0].set(self.0.buckets[0].get() + n - 1);
        }
    }

    fn read(&self) -> Value {
        let used = if self.is_empty() { 0 } else { (u64::BITS - self.0.max.get().leading_zeros()) as usize + 1 };
        let buckets: Vec<u64> = self.0.buckets[..used].iter().map(Cell::get).collect();
        let count = buckets.iter().sum();
        let min = if count == 0 { 0 } else { self.0.min.get() };
        Value::Histogram { count, sum: self.0.sum.get(), min, max: self.0.max.get(), buckets }
    }

    /// Whether no value has been recorded: a value is 0, or raises the maximum.
    fn is_empty(&self) -> bool {
        self.0.max.get() == 0 && self.0.buckets[0].get() == 0
    }

    fn reset(&self) {
        if self.is_empty() {
            return;
        }
        self.0.buckets.iter().for_each(|bucket| bucket.set(0));
        self.0.sum.set(0);
        self.0.min.set(u64::MAX);
        self.0.max.set(0);
    }
}

/// A level that rises and falls over time.
#[derive(Clone)]
pub struct Level(Rc<LevelCells>);

struct LevelCells {
    core: Rc<Core>,
    level: Cell<u64>,
    max: Cell<u64>,
    /// The sum of the level over the cycles of this region, up to cycle `since`.
    area: Cell<u64>,
    since: Cell<u64>,
    /// The cycle in which this region began.
    start: Cell<u64>,
}

impl Level {
    fn new(core: Rc<Core>) -> Level {
        let zero = || Cell::new(0);
        Level(Rc::new(LevelCells { core, level: zero(), max: zero(), area: zero(), since: zero(), start: zero() }))
    }

    /// Sets the level.
    #[inline]
    pub fn set(&self, level: u64) {
        self.account(self.0.core.cycle());
        self.0.level.set(level);
        self.0.max.set(self.0.max.get().max(level));
    }

    /// Raises the level by one.
    #[inline]
    pub fn rise(&self) {
        self.set(self.0.level.get() + 1);
    }

    /// Lowers the level by one.
    #[inline]
    pub fn fall(&self) {
        self.set(self.0.level.get() - 1);
    }

    /// The level now.
    pub fn get(&self) -> u64 {
        self.0.level.get()
    }

    #[inline]
    fn account(&self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.0.since.get());
        self.0.area.set(self.0.area.get() + cycles * self.0.level.get());
        self.0.since.set(self.0.since.get() + cycles);
    }

    fn read(&self, end: Time) -> Value {
        let cycle = self.0.core.clock.first_at(end);
        self.account(cycle);
        let cycles = cycle.saturating_sub(self.0.start.get());
        Value::Level { cycles, area: self.0.area.get(), max: self.0.max.get() }
    }

    fn reset(&self, end: Time) {
        let cycle = self.0.core.clock.first_at(end);
        self.0.area.set(0);
        self.0.since.set(cycle);
        self.0.start.set(cycle);
        self.0.max.set(self.0.level.get());
    }
}

/// Where time goes: an element is in exactly one of several phases at any time, so their cycles add up to the region's.
#[derive(Clone)]
pub struct Phases(Rc<PhasesCells>);

struct PhasesCells {
    core: Rc<Core>,
    /// Cycles of this region spent in each phase, up to cycle `since`.
    cycles: Box<[Cell<u64>]>,
    since: Cell<u64>,
    phase: Cell<usize>,
}

impl Phases {
    fn new(core: Rc<Core>, phases: usize) -> Phases {
        let cycles = (0..phases).map(|_| Cell::new(0)).collect();
        Phases(Rc::new(PhasesCells { core, cycles, since: Cell::new(0), phase: Cell::new(0) }))
    }

    /// Enters phase `phase` in this cycle. A phase that is entered and left in one cycle gets no cycle.
    #[inline]
    pub fn enter(&self, phase: usize) {
        self.account(self.0.core.cycle());
        self.0.phase.set(phase);
    }

    /// The current phase.
    pub fn phase(&self) -> usize {
        self.0.phase.get()
    }

    #[inline]
    fn account(&self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.0.since.get());
        let spent = &self.0.cycles[self.0.phase.get()];
        spent.set(spent.get() + cycles);
        self.0.since.set(self.0.since.get() + cycles);
    }

    /// The cycles of each phase in the region that ends at `end`; resets them.
    fn take(&self, end: Time) -> impl Iterator<Item = u64> {
        self.account(self.0.core.clock.first_at(end));
        self.0.cycles.iter().map(|cycles| cycles.replace(0))
    }
}

/// Counts of pairs, such as states by events.
#[derive(Clone)]
pub struct Matrix {
    cells: Rc<[Cell<u64>]>,
    rows: &'static [&'static str],
    columns: &'static [&'static str],
}

impl Matrix {
    /// Counts one in `row` and `column`.
    #[inline]
    pub fn count(&self, row: usize, column: usize) {
        self.add(row, column, 1);
    }

    /// Counts `n` in `row` and `column`.
    #[inline]
    pub fn add(&self, row: usize, column: usize, n: u64) {
        assert!(column < self.columns.len(), "column {column} of a matrix of {} columns", self.columns.len());
        let cell = &self.cells[row * self.columns.len() + column];
        cell.set(cell.get() + n);
    }

    fn read(&self) -> Value {
        Value::Matrix {
            rows: self.rows.iter().map(|name| Cow::Borrowed(*name)).collect(),
            columns: self.columns.iter().map(|name| Cow::Borrowed(*name)).collect(),
            counts: self.cells.iter().map(Cell::get).collect(),
        }
    }
}

enum Stat {
    Counter(Counter),
    Histogram(Histogram),
    Level(Level),
    Matrix(Matrix),
    Series(Series),
    /// Closes its spans at the end of a region. Its histogram and its squares are the entries after it.
    Rate(Rate),
    Phases(Phases, PhaseNames),
    Energy(Rc<energy::Account>),
}

/// The names of an account's phases.
struct PhaseNames {
    names: Box<[Name]>,
    /// Once they have been read: their paths in order, each with the number of its phase.
    paths: Vec<(Path, usize)>,
}

impl PhaseNames {
    fn in_order(&mut self, names: &Names) {
        if self.paths.is_empty() {
            let phases = self.names.iter().enumerate();
            self.paths = phases.map(|(phase, name)| (names.path(*name).into(), phase)).collect();
            self.paths.sort_unstable();
        }
    }
}

/// Every statistic of a partition.
pub(crate) struct Registry {
    stats: Vec<(Name, Stat)>,
    /// Their paths, as far as they have been read.
    paths: Vec<Path>,
}

impl Registry {
    pub(crate) fn new() -> Registry {
        Registry { stats: Vec::new(), paths: Vec::new() }
    }

    fn add(&mut self, name: Name, stat: Stat) {
        self.stats.push((name, stat));
    }

    pub(crate) fn counter(&mut self, name: Name) -> Counter {
        let counter = Counter(Rc::default());
        self.add(name, Stat::Counter(counter.clone()));
        counter
    }

    pub(crate) fn histogram(&mut self, name: Name) -> Histogram {
        let histogram = Histogram::new();
        self.add(name, Stat::Histogram(histogram.clone()));
        histogram
    }

    pub(crate) fn level(&mut self, name: Name, core: Rc<Core>) -> Level {
        let level = Level::new(core);
        self.add(name, Stat::Level(level.clone()));
        level
    }

    pub(crate) fn matrix(
        &mut self,
        name: Name,
        rows: &'static [&'static str],
        columns: &'static [&'static str],
    ) -> Matrix {
        let cells = (0..rows.len() * columns.len()).map(|_| Cell::new(0)).collect();
        let matrix = Matrix { cells, rows, columns };
        self.add(name, Stat::Matrix(matrix.clone()));
        matrix
    }

    pub(crate) fn series(&mut self, name: Name, core: Rc<Core>) -> Series {
        let series = Series::new(core);
        self.add(name, Stat::Series(series.clone()));
        series
    }

    /// A rate with its counts at `name` and the sum of their squares at `squares`.
    pub(crate) fn rate(&mut self, name: Name, squares: Name, core: Rc<Core>, span: Time) -> Rate {
        let (counts, sum) = (Histogram::new(), Counter(Rc::default()));
        let rate = Rate::new(core, span, counts.clone(), sum.clone());
        self.stats.push((name, Stat::Rate(rate.clone())));
        self.add(name, Stat::Histogram(counts));
        self.add(squares, Stat::Counter(sum));
        rate
    }

    /// An account at `name` with one phase for each of `phases`.
    pub(crate) fn phases(&mut self, name: Name, phases: Box<[Name]>, core: Rc<Core>) -> Phases {
        let account = Phases::new(core, phases.len());
        let phases = PhaseNames { names: phases, paths: Vec::new() };
        self.add(name, Stat::Phases(account.clone(), phases));
        account
    }

    pub(crate) fn energy(&mut self, name: Name, core: Rc<Core>, passive: u64) -> Energy {
        let account = Rc::new(energy::Account::new(core, passive));
        self.add(name, Stat::Energy(Rc::clone(&account)));
        Energy(account)
    }

    /// Reads every statistic at `end`, the end of a region, into `values`, and resets it. The first region of a run has
    /// every path; later regions leave out values that are [nothing](Value::is_nothing). The values come nearly in the
    /// order of their paths, which makes sorting them cheap.
    pub(crate) fn read(&mut self, names: &Names, end: Time, first: bool, values: &mut Vec<(Path, Value)>) {
        if first {
            // A rate stays before its histogram.
            let by_path = order::by_path(names, self.stats.iter().map(|(name, _)| *name));
            let mut stats: Vec<_> = std::mem::take(&mut self.stats).into_iter().map(Some).collect();
            self.stats.extend(by_path.iter().filter_map(|(_, number)| stats[*number].take()));
            self.paths = by_path.into_iter().map(|(path, _)| path).collect();
            values.reserve(self.stats.len() + self.stats.len() / 4);
        }
        // Statistics made since the last region.
        self.paths.extend(self.stats[self.paths.len()..].iter().map(|(name, _)| names.path(*name).into()));
        for ((_, stat), path) in self.stats.iter_mut().zip(&self.paths) {
            // In most regions most values are nothing: that is found out before anything is made of them.
            let value = match stat {
                Stat::Counter(counter) => match counter.0.replace(0) {
                    0 if !first => continue,
                    count => Value::Count(count),
                },
                Stat::Histogram(histogram) if !first && histogram.is_empty() => continue,
                Stat::Histogram(histogram) => {
                    let value = histogram.read();
                    histogram.reset();
                    value
                }
                Stat::Level(level) => {
                    let value = level.read(end);
                    level.reset(end);
                    value
                }
                Stat::Matrix(matrix) if !first && matrix.cells.iter().all(|cell| cell.get() == 0) => continue,
                Stat::Matrix(matrix) => {
                    let value = matrix.read();
                    matrix.cells.iter().for_each(|cell| cell.set(0));
                    value
                }
                Stat::Series(series) => {
                    let value = Value::Series(series.read(end));
                    series.reset(end);
                    value
                }
                Stat::Energy(account) => {
                    let value = account.read(end);
                    account.reset(end);
                    value
                }
                Stat::Rate(rate) => {
                    rate.close_region(end);
                    continue;
                }
                Stat::Phases(account, phases) => {
                    phases.in_order(names);
                    let cycles: Vec<u64> = account.take(end).collect();
                    let paths = phases.paths.iter().map(|(path, phase)| (path, cycles[*phase]));
                    let paths = paths.filter(|(_, cycles)| first || *cycles > 0);
                    values.extend(paths.map(|(path, cycles)| (path.clone(), Value::Count(cycles))));
                    continue;
                }
            };
            if first || !value.is_nothing() {
                values.push((path.clone(), value));
            }
        }
    }

    /// Adds the levels that are above zero now.
    pub(crate) fn levels(&self, names: &Names, levels: &mut Vec<(String, u64)>) {
        for (name, stat) in &self.stats {
            if let Stat::Level(level) = stat
                && level.get() > 0
            {
                levels.push((names.path(*name), level.get()));
            }
        }
    }

    /// A name that two statistics share, the first that was made twice: an error in the model.
    pub(crate) fn duplicate(&self) -> Option<Name> {
        // A rate shares its name with its histogram.
        let named = self.stats.iter().filter(|(_, stat)| !matches!(stat, Stat::Rate(_)));
        let mut names: Vec<(Name, usize)> = named.enumerate().map(|(number, (name, _))| (*name, number)).collect();
        names.sort_unstable();
        let twice = names.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1]);
        twice.min_by_key(|(_, number)| *number).map(|(name, _)| name)
    }
}
