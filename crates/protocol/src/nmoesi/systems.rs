//! The small systems on which NMOESI is checked.
//!
//! Every level asks the one below in the same words, so a level may be left out: a first-level cache stands right over a GPU's memory, or over the
//! host's. What a level does is then seen with few others beside it.

use super::{
    hmd::Hmd,
    l1::{CPU, GPU, L1},
    l2::L2,
    smd::Smd,
    store::{HOST, STACK},
    wt,
};
use crate::{
    Block, Controller, Kind, Line, Node, Sharers, Table,
    check::{BYTES, Member, NEWEST, Stage, System},
};

/// Where no GPU has a memory of its own: everybody holds lines.
static LINE_HMD: Hmd = Hmd { lines: 1, singles: Sharers(u64::MAX), peer: false };

/// A GPU's memory, by the lines of a block.
static SMDS: [Smd; 3] = [Smd { lines: 0 }, Smd { lines: 1 }, Smd { lines: 2 }];
/// The host's memory for two GPUs, by the lines of a block. Each GPU is an SMD and its store; the CPU comes after them.
static PEER_HMDS: [Hmd; 3] = [hmd(0, true), hmd(1, true), hmd(2, true)];
static HOME_HMDS: [Hmd; 3] = [hmd(0, false), hmd(1, false), hmd(2, false)];

const fn hmd(lines: u8, peer: bool) -> Hmd {
    Hmd { lines, singles: Sharers(1 << (2 * GPUS)), peer }
}

/// GPUs with a memory of their own, where there are such.
const GPUS: usize = 2;

/// Puts members together; each gets the next number.
struct Builder {
    lines: usize,
    coherent: bool,
    members: Vec<Member>,
    tables: Vec<Table>,
    cores: usize,
}

impl Builder {
    fn new(lines: usize, coherent: bool) -> Self {
        Self { lines, coherent, members: Vec::new(), tables: Vec::new(), cores: 0 }
    }

    /// Adds a member that asks `below` and has the members from number `above` on above it.
    fn add(&mut self, name: String, controller: &'static dyn Controller<BYTES>, below: usize, above: usize) -> Node {
        let table = controller.table();
        let known = self.tables.iter().position(|other| other.name == table.name);
        let table = known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        });
        let first = self.tables[table].states.iter().position(|&state| state == "I").unwrap_or(0) as u8;
        let (below, uses) = (vec![node(below); self.lines], vec![true; self.lines]);
        let initial = Line::new(first);
        self.members.push(Member { name, controller, table, initial, below, above: node(above), core: None, uses });
        node(self.members.len() - 1)
    }

    /// Adds a first-level cache with a core of its own.
    fn add_l1(&mut self, name: String, controller: &'static dyn Controller<BYTES>, below: usize) -> Node {
        let l1 = self.add(name, controller, below, 0);
        self.members[l1.0 as usize].core = Some(self.cores);
        self.cores += 1;
        l1
    }

    /// Adds a directory of the members from number `above` on, and its store with the host's bytes.
    fn add_home(&mut self, hmd: &'static Hmd, above: usize) {
        let number = self.members.len();
        self.add("hmd".to_owned(), hmd, number, above);
        let host = self.add("host".to_owned(), &HOST, number + 1, 0);
        let value = if self.coherent { NEWEST } else { 0 };
        self.members[host.0 as usize].initial.data = Block::full([value; BYTES]);
    }

    fn system(self, stages: Vec<Stage>, equals: Vec<Vec<Node>>) -> System {
        let Self { lines, coherent, members, tables, cores } = self;
        System { tables, members, cores, lines, stages, whims: Vec::new(), equals, coherent, horizon: None }
    }
}

fn node(number: usize) -> Node {
    Node(u8::try_from(number).expect("a checked system is small"))
}

fn work(cores: usize) -> Stage {
    Stage::Work { cores: (0..cores).collect() }
}

fn tell(kind: Kind, members: &[Node]) -> Stage {
    Stage::Tell { kind, members: members.to_vec() }
}

/// First-level caches right over the host's memory: Table II alone.
fn flat(caches: &[&'static L1], lines: usize, coherent: bool) -> System {
    let mut builder = Builder::new(lines, coherent);
    let l1s: Vec<Node> = caches
        .iter()
        .enumerate()
        .map(|(number, l1)| builder.add_l1(format!("l1.{number}"), *l1, caches.len()))
        .collect();
    builder.add_home(&LINE_HMD, 0);
    let mut stages = vec![work(caches.len())];
    if !coherent {
        stages.extend([tell(Kind::Flush, &l1s), tell(Kind::Invalidate, &l1s)]);
    }
    let equals = if caches.iter().all(|l1| std::ptr::eq(*l1, caches[0])) {
        l1s.iter().map(|&l1| vec![l1]).collect()
    } else {
        Vec::new()
    };
    builder.system(stages, equals)
}

/// Caches whose stores are all coherent.
pub fn stores(caches: usize, lines: usize) -> System {
    flat(&vec![&CPU; caches], lines, true)
}

/// Caches whose stores need not be coherent.
pub fn n_stores(caches: usize, lines: usize) -> System {
    flat(&vec![&GPU; caches], lines, false)
}

/// One of those, and one whose stores are coherent.
pub fn mixed(_: usize, lines: usize) -> System {
    flat(&[&GPU, &CPU], lines, false)
}

/// A second-level cache with first-level caches, over the host's memory.
fn one_l2(l1: &'static dyn Controller<BYTES>, caches: usize, lines: usize, coherent: bool) -> System {
    let mut builder = Builder::new(lines, coherent);
    let l1s: Vec<Node> = (0..caches).map(|cache| builder.add_l1(format!("l1.{cache}"), l1, caches)).collect();
    let l2 = builder.add("l2".to_owned(), &L2, caches + 1, 0);
    builder.add_home(&LINE_HMD, caches);
    let mut stages = vec![work(caches)];
    if !coherent {
        stages.extend([tell(Kind::Flush, &l1s), tell(Kind::Flush, &[l2]), tell(Kind::Invalidate, &l1s)]);
    }
    builder.system(stages, l1s.iter().map(|&l1| vec![l1]).collect())
}

/// Caches that write back, with coherent stores.
pub fn l2_stores(caches: usize, lines: usize) -> System {
    one_l2(&CPU, caches, lines, true)
}

/// Two caches that write back, whose stores need not be coherent.
pub fn l2_n_stores(_: usize, lines: usize) -> System {
    one_l2(&GPU, 2, lines, false)
}

/// Two caches that write through.
pub fn l2_through(_: usize, lines: usize) -> System {
    one_l2(&wt::GPU, 2, lines, false)
}

/// Two GPUs with a memory of their own under a cache each, over the host's memory.
struct Blocks {
    /// The cache of each GPU.
    l1s: [&'static L1; GPUS],
    /// Lines of a block.
    lines: usize,
    /// The line that each GPU works on; the others come along.
    works_on: [usize; GPUS],
    /// GPUs give blocks to each other.
    peer: bool,
    coherent: bool,
    /// A cache of single lines stands beside the GPUs: a CPU's.
    cpu: Option<&'static L1>,
}

impl Blocks {
    const CPU: usize = GPUS;

    /// With these stages of work; where not all stores are coherent, a final flush follows.
    fn system(self, mut stages: Vec<Stage>) -> System {
        let mut builder = Builder::new(self.lines, self.coherent);
        let smd = |gpu| GPUS + 2 * gpu;
        let (cpu, hmd) = (smd(GPUS), smd(GPUS) + usize::from(self.cpu.is_some()));
        let mut sets = Vec::new();
        for (gpu, l1) in self.l1s.into_iter().enumerate() {
            let l1 = builder.add_l1(format!("l1.{gpu}"), l1, smd(gpu));
            builder.members[gpu].uses = (0..self.lines).map(|line| line == self.works_on[gpu]).collect();
            sets.push(vec![l1, node(smd(gpu)), node(smd(gpu) + 1)]);
        }
        for gpu in 0..GPUS {
            builder.add(format!("smd.{gpu}"), &SMDS[self.lines], hmd, gpu);
            builder.add(format!("stack.{gpu}"), &STACK, smd(gpu) + 1, 0);
        }
        if let Some(l1) = self.cpu {
            assert_eq!(builder.add_l1("cpu".to_owned(), l1, hmd), node(cpu));
        }
        let homes = if self.peer { &PEER_HMDS } else { &HOME_HMDS };
        builder.add_home(&homes[self.lines], smd(0));
        if !self.coherent {
            let (mut l1s, smds): (Vec<_>, Vec<_>) = sets.iter().map(|set| (set[0], set[1])).unzip();
            l1s.extend(self.cpu.map(|_| node(cpu)));
            stages.extend([tell(Kind::Flush, &l1s), tell(Kind::Flush, &smds), tell(Kind::Invalidate, &l1s)]);
        }
        let equal = std::ptr::eq(self.l1s[0], self.l1s[1]) && self.works_on[0] == self.works_on[1];
        builder.system(stages, if equal { sets } else { Vec::new() })
    }
}

/// Two GPUs with coherent stores to one line of a block of two.
pub fn block(_: usize, _: usize) -> System {
    let blocks = Blocks { l1s: [&CPU; 2], lines: 2, works_on: [0; 2], peer: true, coherent: true, cpu: None };
    blocks.system(vec![work(2)])
}

/// Two GPUs with coherent stores to a line each of the same block.
pub fn block_apart(_: usize, _: usize) -> System {
    let blocks = Blocks { l1s: [&CPU; 2], lines: 2, works_on: [0, 1], peer: true, coherent: true, cpu: None };
    blocks.system(vec![work(2)])
}

/// The same where blocks go through the host's memory.
pub fn block_home(_: usize, _: usize) -> System {
    let blocks = Blocks { l1s: [&CPU; 2], lines: 2, works_on: [0, 1], peer: false, coherent: true, cpu: None };
    blocks.system(vec![work(2)])
}

/// A GPU and a CPU with coherent stores to one line of a block of two, of which the CPU holds single lines.
pub fn block_cpu(_: usize, _: usize) -> System {
    let blocks = Blocks { l1s: [&CPU; 2], lines: 2, works_on: [0, 1], peer: true, coherent: true, cpu: Some(&CPU) };
    blocks.system(vec![Stage::Work { cores: vec![0, Blocks::CPU] }])
}

/// A GPU and a CPU whose stores need not be coherent, with a final flush.
pub fn final_flush(_: usize, _: usize) -> System {
    let blocks = Blocks { l1s: [&GPU; 2], lines: 1, works_on: [0; 2], peer: true, coherent: false, cpu: Some(&GPU) };
    blocks.system(vec![Stage::Work { cores: vec![0, Blocks::CPU] }])
}

/// Two GPUs on a line each of the same block.
pub fn final_flush_apart(_: usize, _: usize) -> System {
    let blocks = Blocks { l1s: [&GPU; 2], lines: 2, works_on: [0, 1], peer: true, coherent: false, cpu: None };
    blocks.system(vec![work(2)])
}

/// A GPU stores coherently, another then without, and a CPU claims what they have left: nobody flushes before it reads.
pub fn claim(_: usize, _: usize) -> System {
    let blocks = Blocks { l1s: [&CPU, &GPU], lines: 1, works_on: [0; 2], peer: true, coherent: false, cpu: Some(&CPU) };
    let work = |core| Stage::Work { cores: vec![core] };
    blocks.system(vec![work(0), work(1), Stage::Claim { cores: vec![Blocks::CPU] }])
}
