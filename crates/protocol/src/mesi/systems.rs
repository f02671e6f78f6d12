//! The small systems on which MESI is checked.

use super::{
    directory::{L3, MC},
    gpu_l2::GpuL2,
    l1::{L1D, L1I, L1V},
    l2::L2,
};
use crate::{
    Block, Controller, Kind, Line, Node, Roster, Sharers,
    catalogue::order,
    check::{BYTES, Member, NEWEST, Stage, System},
    memory::Memory,
    orders,
};
use mem::Scope;

/// Assembles the members of a system; each gets the next number.
struct Builder {
    lines: usize,
    members: Vec<Member>,
    tables: Vec<crate::Table>,
    cores: usize,
}

impl Builder {
    fn new(lines: usize) -> Self {
        Self { lines, members: Vec::new(), tables: Vec::new(), cores: 0 }
    }

    /// Adds a member that sends its requests to `below` and has the members from number `above` on above it.
    fn add(&mut self, name: String, controller: &'static dyn Controller<BYTES>, below: usize, above: usize) {
        let table = controller.table();
        let known = self.tables.iter().position(|other| other.name == table.name);
        let table = known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        });
        let (below, uses) = (vec![node(below); self.lines], vec![true; self.lines]);
        let initial = Line::new(self.tables[table].initial());
        self.members.push(Member {
            name,
            controller,
            table,
            initial,
            below,
            above: Roster::row(node(above), Sharers::MOST),
            core: None,
            uses,
            orders: None,
            markers: None,
        });
    }

    /// Adds a first-level cache with a core of its own.
    fn add_l1(&mut self, name: String, controller: &'static dyn Controller<BYTES>, below: usize) {
        self.add(name, controller, below, 0);
        self.members.last_mut().expect("it has just been added").core = Some(self.cores);
        self.cores += 1;
    }

    fn add_memory(&mut self) {
        let number = self.members.len();
        self.add("memory".to_owned(), &Memory, number, 0);
        self.members[number].initial = Line { data: Block::full([NEWEST; BYTES]), ..Line::new(0) };
    }

    /// Adds a memory controller with a directory of the members from number `above` on.
    fn add_home(&mut self, above: usize) {
        let number = self.members.len();
        self.add("mc".to_owned(), &MC, number, above);
        self.members[number].initial = Line { data: Block::full([NEWEST; BYTES]), ..Line::new(0) };
    }

    fn system(self, equals: Vec<Vec<Node>>) -> System {
        let Self { lines, members, tables, cores } = self;
        let stages = vec![Stage::Work { cores: (0..cores).collect() }];
        System {
            tables,
            members,
            cores,
            lines,
            stages,
            whims: Vec::new(),
            equals,
            coherent: true,
            modifies: false,
            recalls_behind_answers: false,
            horizon: None,
        }
    }
}

fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("a checked system is small"))
}

/// Cores with a data cache and a second-level cache each, under a shared last-level cache.
pub fn cores(cores: usize, lines: usize) -> System {
    let mut builder = Builder::new(lines);
    for core in 0..cores {
        builder.add_l1(format!("l1d.{core}"), &L1D, cores + core);
    }
    for core in 0..cores {
        builder.add(format!("l2.{core}"), &L2, 2 * cores, core);
    }
    builder.add("l3".to_owned(), &L3, 2 * cores + 1, cores);
    builder.add_memory();
    builder.system((0..cores).map(|core| vec![node(core), node(cores + core)]).collect())
}

/// A core and a GPU with vector caches and a second-level cache, under a shared last-level cache: `caches`
/// first-level caches in total, at least two.
pub fn apu(caches: usize, lines: usize) -> System {
    apu_with(&GpuL2::SHARING, caches, lines)
}

/// The same with a GPU whose second-level cache asks for shared copies only when it reads.
pub fn apu_shares(caches: usize, lines: usize) -> System {
    apu_with(&GpuL2::READING, caches, lines)
}

/// The same with a second-level cache that gives lines to one vector cache at a time.
pub fn apu_alone(caches: usize, lines: usize) -> System {
    apu_with(&GpuL2::ALONE, caches, lines)
}

fn apu_with(l2_of_gpu: &'static GpuL2, caches: usize, lines: usize) -> System {
    let vector_caches = caches.saturating_sub(1).max(1);
    let mut builder = Builder::new(lines);
    let (l2, gpu_l2, l3) = (vector_caches + 1, vector_caches + 2, vector_caches + 3);
    for cache in 0..vector_caches {
        builder.add_l1(format!("l1v.{cache}"), &L1V, gpu_l2);
    }
    builder.add_l1("l1d".to_owned(), &L1D, l2);
    builder.add("l2".to_owned(), &L2, l3, vector_caches);
    builder.add("gpu_l2".to_owned(), l2_of_gpu, l3, 0);
    builder.add("l3".to_owned(), &L3, l3 + 1, l2);
    builder.add_memory();
    builder.system((0..vector_caches).map(|cache| vec![node(cache)]).collect())
}

/// A GPU alone over the shared last-level cache, with at least three vector caches: one can send a request while two
/// are involved in a transaction on the line.
pub fn gpu(caches: usize, lines: usize) -> System {
    gpu_with(&GpuL2::SHARING, caches, lines)
}

/// The same with a second-level cache that gives lines to one vector cache at a time.
pub fn gpu_alone(caches: usize, lines: usize) -> System {
    gpu_with(&GpuL2::ALONE, caches, lines)
}

fn gpu_with(l2: &'static GpuL2, caches: usize, lines: usize) -> System {
    let vector_caches = caches.max(3);
    let mut builder = Builder::new(lines);
    for cache in 0..vector_caches {
        builder.add_l1(format!("l1v.{cache}"), &L1V, vector_caches);
    }
    builder.add("gpu_l2".to_owned(), l2, vector_caches + 1, 0);
    builder.add("l3".to_owned(), &L3, vector_caches + 2, vector_caches);
    builder.add_memory();
    builder.system((0..vector_caches).map(|cache| vec![node(cache)]).collect())
}

/// Two vector caches over a second-level cache and a last-level cache. A release of system scope recalls the lines of
/// the second-level cache.
pub fn recalled(_: usize, lines: usize) -> System {
    let mut builder = Builder::new(lines);
    (0..2).for_each(|cache| builder.add_l1(format!("l1v.{cache}"), &L1V, 2));
    builder.add("gpu_l2".to_owned(), &GpuL2::SHARING, 3, 0);
    builder.add("l3".to_owned(), &L3, 4, 2);
    builder.add_memory();
    let mut system = builder.system(vec![vec![node(0)], vec![node(1)]]);
    let both = |scope| [Kind::Flush, Kind::Invalidate].map(|kind| order(kind, scope, 0..2));
    system.stages.extend(both(Scope::Device).into_iter().chain(both(Scope::System)));
    system.with_orders(|member| match member.name.as_str() {
        "gpu_l2" => Some(&orders::orders_recalled::TABLE),
        name if name.starts_with("l1v") => Some(&orders::orders_l1_coherent::TABLE),
        _ => None,
    })
}

/// A core with an instruction cache and further cores without one, under a shared last-level cache: `caches`
/// first-level caches in total, at least two.
pub fn fetches(caches: usize, lines: usize) -> System {
    let cores = caches.saturating_sub(1).max(1);
    let mut builder = Builder::new(lines);
    let l3 = 2 * cores + 1;
    for core in 0..cores {
        builder.add_l1(format!("l1d.{core}"), &L1D, cores + 1 + core);
    }
    // The instruction cache belongs to the last core: it comes right after that core's data cache.
    builder.add_l1("l1i".to_owned(), &L1I, 2 * cores);
    for core in 0..cores {
        builder.add(format!("l2.{core}"), &L2, l3, core);
    }
    builder.add("l3".to_owned(), &L3, l3 + 1, cores + 1);
    builder.add_memory();
    builder.system((0..cores - 1).map(|core| vec![node(core), node(cores + 1 + core)]).collect())
}

/// A core that only fetches, and one that loads and stores, under a shared last-level cache: the smallest system in
/// which a fetch meets another core's line.
pub fn fetch_apart(_: usize, lines: usize) -> System {
    let mut builder = Builder::new(lines);
    builder.add_l1("l1d.0".to_owned(), &L1D, 3);
    builder.add("l1d.1".to_owned(), &L1D, 4, 0);
    builder.add_l1("l1i".to_owned(), &L1I, 4);
    builder.add("l2.0".to_owned(), &L2, 5, 0);
    builder.add("l2.1".to_owned(), &L2, 5, 1);
    builder.add("l3".to_owned(), &L3, 6, 3);
    builder.add_memory();
    builder.system(Vec::new())
}

/// A core with an instruction cache and a GPU with one vector cache, with the directory at the memory controller.
pub fn fetch_no_llc(_: usize, lines: usize) -> System {
    let mut builder = Builder::new(lines);
    builder.add_l1("l1d".to_owned(), &L1D, 3);
    builder.add_l1("l1i".to_owned(), &L1I, 3);
    builder.add_l1("l1v".to_owned(), &L1V, 4);
    builder.add("l2".to_owned(), &L2, 5, 0);
    builder.add("gpu_l2".to_owned(), &GpuL2::SHARING, 5, 2);
    builder.add_home(3);
    builder.system(Vec::new())
}

/// Cores and a GPU with one vector cache, with the directory at the memory controller: `caches` first-level caches in
/// total, at least two.
pub fn no_llc(caches: usize, lines: usize) -> System {
    let cores = caches.saturating_sub(1).max(1);
    let mut builder = Builder::new(lines);
    let (gpu_l2, home) = (2 * cores + 1, 2 * cores + 2);
    for core in 0..cores {
        builder.add_l1(format!("l1d.{core}"), &L1D, cores + 1 + core);
    }
    builder.add_l1("l1v".to_owned(), &L1V, gpu_l2);
    for core in 0..cores {
        builder.add(format!("l2.{core}"), &L2, home, core);
    }
    builder.add("gpu_l2".to_owned(), &GpuL2::SHARING, home, cores);
    builder.add_home(cores + 1);
    builder.system((0..cores).map(|core| vec![node(core), node(cores + 1 + core)]).collect())
}

/// A core and a GPU with two vector caches, with the directory at the memory controller.
pub fn gpu_no_llc(_: usize, lines: usize) -> System {
    let mut builder = Builder::new(lines);
    builder.add_l1("l1v.0".to_owned(), &L1V, 4);
    builder.add_l1("l1v.1".to_owned(), &L1V, 4);
    builder.add_l1("l1d".to_owned(), &L1D, 3);
    builder.add("l2".to_owned(), &L2, 5, 2);
    builder.add("gpu_l2".to_owned(), &GpuL2::SHARING, 5, 0);
    builder.add_home(3);
    builder.system(vec![vec![node(0)], vec![node(1)]])
}
