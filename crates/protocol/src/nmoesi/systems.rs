//! The small systems on which NMOESI is checked.
//!
//! Every level sends the same requests to the level below, so a level may be left out: a first-level cache can stand
//! right above a GPU's memory, or above the host's. This keeps the systems small while each level is checked.

use super::{
    hmd::Hmd,
    l1::{CPU, GPU, L1},
    l2::L2,
    smd::Smd,
    store::Store,
    wt,
};
use crate::{
    Block, Controller, Kind, Line, Node, Roster, Sharers, Table,
    catalogue::order,
    check::{BYTES, Member, NEWEST, Stage, System},
    orders,
};
use mem::Scope;

/// The directory of a machine whose GPUs have no memory: all nodes above hold single lines.
static LINE_HMD: Hmd = Hmd { lines: 1, singles: Sharers::ALL, owns: false, peer: false };

static SMD_1: Smd = Smd { lines: 1, releases_home: true };
static SMD_2: Smd = Smd { lines: 2, releases_home: true };
/// A GPU's memory that keeps flushed blocks if no other GPU holds them.
static KEEPS: Smd = Smd { lines: 1, releases_home: false };
/// The host's memory for one to three GPUs, with blocks of one line or of two.
static ONE_1: Hmd = hmd(1, 1, true);
static ONE: Hmd = hmd(1, 2, true);
static PEER_1: Hmd = hmd(2, 1, true);
static PEER: Hmd = hmd(2, 2, true);
static HOME: Hmd = hmd(2, 2, false);
static PEERS_3: Hmd = hmd(3, 1, true);

/// The host's memory for one GPU, and for a last-level cache that holds only lines that it asked for to write.
static OWNED_1: Hmd = Hmd { owns: true, ..hmd(1, 1, true) };
static OWNED: Hmd = Hmd { owns: true, ..hmd(1, 2, true) };

/// The host's memory for `gpus` GPUs. Each GPU is two nodes, an SMD and its store; the CPU comes after them.
const fn hmd(gpus: u16, lines: u16, peer: bool) -> Hmd {
    Hmd { lines, singles: Sharers::one(2 * gpus), owns: false, peer }
}

/// A cache whose core never stores.
static READER: L1 = L1 { grain: None, stores: false };

/// Assembles the members of a system; each member gets the next number.
pub(super) struct Builder {
    lines: usize,
    coherent: bool,
    pub members: Vec<Member>,
    tables: Vec<Table>,
    pub cores: usize,
}

impl Builder {
    pub fn new(lines: usize, coherent: bool) -> Self {
        Self { lines, coherent, members: Vec::new(), tables: Vec::new(), cores: 0 }
    }

    /// Adds a member whose level below is `below`. Its row of nodes above starts at number `above`.
    pub fn add(
        &mut self,
        name: String,
        controller: &'static dyn Controller<BYTES>,
        below: usize,
        above: usize,
    ) -> Node {
        let table = controller.table();
        let known = self.tables.iter().position(|other| other.name == table.name);
        let table = known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        });
        let first = self.tables[table].states.iter().position(|&state| state == "I").unwrap_or(0) as u8;
        let (below, uses) = (vec![node(below); self.lines], vec![true; self.lines]);
        let initial = Line::new(first);
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
        node(self.members.len() - 1)
    }

    /// Adds a first-level cache with its own core.
    pub fn add_l1(&mut self, name: String, controller: &'static dyn Controller<BYTES>, below: usize) -> Node {
        let l1 = self.add(name, controller, below, 0);
        self.members[l1.0 as usize].core = Some(self.cores);
        self.cores += 1;
        l1
    }

    /// Adds a directory whose nodes above start at number `above`, and its store with the host's bytes.
    pub fn add_home(&mut self, hmd: &'static Hmd, above: usize) {
        let number = self.members.len();
        self.add("hmd".to_owned(), hmd, number, above);
        let host = self.add("host".to_owned(), &Store, number + 1, 0);
        let value = if self.coherent { NEWEST } else { 0 };
        self.members[host.0 as usize].initial.data = Block::full([value; BYTES]);
    }

    pub fn system(self, stages: Vec<Stage>, equals: Vec<Vec<Node>>) -> System {
        let Self { lines, coherent, members, tables, cores } = self;
        System {
            tables,
            members,
            cores,
            lines,
            stages,
            whims: Vec::new(),
            equals,
            coherent,
            modifies: false,
            recalls_behind_answers: false,
            horizon: None,
        }
    }
}

pub(super) fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("a checked system is small"))
}

pub(super) fn work(cores: usize) -> Stage {
    Stage::Work { cores: (0..cores).collect() }
}

pub(super) fn tell(kind: Kind, members: &[Node]) -> Stage {
    Stage::Tell { kind, members: members.to_vec() }
}

/// First-level caches right above the host's memory: Table II alone.
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

/// One cache whose stores need not be coherent, and one whose stores are coherent.
pub fn mixed(_: usize, lines: usize) -> System {
    let mut system = flat(&[&GPU, &CPU], lines, false);
    system.stages[0] = Stage::Free { cores: vec![0, 1] };
    let whims = |l1| [(node(l1), Kind::Flush), (node(l1), Kind::Invalidate)];
    system.whims = (0..2).flat_map(whims).collect();
    system
}

/// A second-level cache below first-level caches and above the host's memory.
fn one_l2(l1: &'static dyn Controller<BYTES>, caches: usize, lines: usize, coherent: bool) -> System {
    let mut builder = Builder::new(lines, coherent);
    let l1s: Vec<Node> = (0..caches).map(|cache| builder.add_l1(format!("l1.{cache}"), l1, caches)).collect();
    let l2 = builder.add("l2".to_owned(), &L2 { owns: false }, caches + 1, 0);
    builder.add_home(&LINE_HMD, caches);
    let mut stages = vec![work(caches)];
    if !coherent {
        stages.extend([tell(Kind::Flush, &l1s), tell(Kind::Flush, &[l2]), tell(Kind::Invalidate, &l1s)]);
    }
    builder.system(stages, l1s.iter().map(|&l1| vec![l1]).collect())
}

/// At least three caches that write back, with coherent stores.
pub fn l2_stores(caches: usize, lines: usize) -> System {
    one_l2(&CPU, caches.max(3), lines, true)
}

/// Two caches that write back, with stores that need not be coherent.
pub fn l2_n_stores(_: usize, lines: usize) -> System {
    one_l2(&GPU, 2, lines, false)
}

/// Two such caches, which also claim lines.
pub fn l2_claims(_: usize, lines: usize) -> System {
    let mut system = one_l2(&GPU, 2, lines, false);
    system.stages[0] = Stage::Free { cores: vec![0, 1] };
    system
}

/// Two caches that write through, and claim lines.
pub fn l2_through(_: usize, lines: usize) -> System {
    let mut system = one_l2(&wt::GPU, 2, lines, false);
    system.stages[0] = Stage::Free { cores: vec![0, 1] };
    system
}

/// First-level caches above a second-level cache, beside another cache right above the host's memory.
fn beside(l1s: &[&'static dyn Controller<BYTES>], other: &'static L1, coherent: bool) -> System {
    let mut builder = Builder::new(1, coherent);
    let l2 = l1s.len();
    let mut caches: Vec<Node> =
        l1s.iter().enumerate().map(|(cache, l1)| builder.add_l1(format!("l1.{cache}"), *l1, l2)).collect();
    let l2 = builder.add("l2".to_owned(), &L2 { owns: false }, l2 + 2, 0);
    caches.push(builder.add_l1("beside".to_owned(), other, l1s.len() + 2));
    builder.add_home(&LINE_HMD, l1s.len());
    let mut stages = vec![work(caches.len())];
    if !coherent {
        stages = vec![Stage::Free { cores: (0..caches.len()).collect() }];
        stages.extend([tell(Kind::Flush, &caches), tell(Kind::Flush, &[l2]), tell(Kind::Invalidate, &caches)]);
    }
    let equals = if coherent { (0..l1s.len()).map(|l1| vec![node(l1)]).collect() } else { Vec::new() };
    builder.system(stages, equals)
}

/// Two first-level caches above a second-level cache, beside another cache, with coherent stores.
pub fn beside_stores(_: usize, _: usize) -> System {
    beside(&[&CPU, &CPU], &CPU, true)
}

/// One first-level cache that writes back above a second-level cache, beside another cache, with stores that need not
/// be coherent.
pub fn beside_n_stores(_: usize, _: usize) -> System {
    beside(&[&GPU], &CPU, false)
}

/// Variant of [`beside_n_stores`] with a first-level cache that writes through.
pub fn beside_through(_: usize, _: usize) -> System {
    beside(&[&wt::GPU], &CPU, false)
}

/// Two first-level caches above a second-level cache, one that writes through and one that writes back, beside another
/// cache.
pub fn beside_mixed(_: usize, _: usize) -> System {
    beside(&[&wt::GPU, &GPU], &CPU, false)
}

/// GPUs that each have a cache and a memory of their own, above the host's memory.
struct Blocks<const GPUS: usize> {
    /// The first-level cache of each GPU.
    l1s: [&'static L1; GPUS],
    hmd: &'static Hmd,
    /// The lines that each GPU accesses; the others of the block come along.
    works_on: [&'static [usize]; GPUS],
    coherent: bool,
    /// The CPU's cache of single lines, which stands beside the GPUs.
    cpu: Option<&'static L1>,
    /// Whether flushed blocks stay in a GPU's memory if no other GPU holds them.
    keeps: bool,
}

impl<const GPUS: usize> Blocks<GPUS> {
    /// Builds the system with these stages of work. If not all stores are coherent, a final flush follows.
    fn system(self, mut stages: Vec<Stage>) -> System {
        let lines = usize::from(self.hmd.lines);
        let mut builder = Builder::new(lines, self.coherent);
        let smd = |gpu| GPUS + 2 * gpu;
        let (cpu, hmd) = (smd(GPUS), smd(GPUS) + usize::from(self.cpu.is_some()));
        let mut sets = Vec::new();
        for (gpu, l1) in self.l1s.into_iter().enumerate() {
            let l1 = builder.add_l1(format!("l1.{gpu}"), l1, smd(gpu));
            builder.members[gpu].uses = (0..lines).map(|line| self.works_on[gpu].contains(&line)).collect();
            sets.push(vec![l1, node(smd(gpu)), node(smd(gpu) + 1)]);
        }
        for gpu in 0..GPUS {
            let directory = if self.keeps {
                &KEEPS
            } else if lines == 1 {
                &SMD_1
            } else {
                &SMD_2
            };
            builder.add(format!("smd.{gpu}"), directory, hmd, gpu);
            builder.add(format!("stack.{gpu}"), &Store, smd(gpu) + 1, 0);
        }
        if let Some(l1) = self.cpu {
            assert_eq!(builder.add_l1("cpu".to_owned(), l1, hmd), node(cpu));
        }
        builder.add_home(self.hmd, smd(0));
        if !self.coherent {
            let (mut l1s, smds): (Vec<_>, Vec<_>) = sets.iter().map(|set| (set[0], set[1])).unzip();
            l1s.extend(self.cpu.map(|_| node(cpu)));
            stages.extend([tell(Kind::Flush, &l1s), tell(Kind::Flush, &smds), tell(Kind::Invalidate, &l1s)]);
        }
        let all = |stage: &Stage| stage.cores().is_none_or(|cores| cores.len() >= GPUS);
        let alike = stages.iter().all(all);
        let first = (self.l1s[0], self.works_on[0]);
        let equal = |gpu: usize| alike && std::ptr::eq(self.l1s[gpu], first.0) && self.works_on[gpu] == first.1;
        builder.system(stages, if (0..GPUS).all(equal) { sets } else { Vec::new() })
    }
}

/// Two GPUs with coherent stores to one line of a block of two.
pub fn block(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    Blocks { l1s: [&CPU; 2], hmd: &PEER, works_on, coherent: true, cpu: None, keeps: false }.system(vec![work(2)])
}

/// Two GPUs with coherent stores, each to its own line of one block.
pub fn block_apart(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[1]];
    Blocks { l1s: [&CPU; 2], hmd: &PEER, works_on, coherent: true, cpu: None, keeps: false }.system(vec![work(2)])
}

/// Variant of [`block_apart`] in which blocks go through the host's memory.
pub fn block_home(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[1]];
    Blocks { l1s: [&CPU; 2], hmd: &HOME, works_on, coherent: true, cpu: None, keeps: false }.system(vec![work(2)])
}

/// A GPU with coherent stores to both lines of a block, and a CPU, which holds single lines, with coherent stores to
/// one of them.
pub fn block_cpu(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 1] = [&[0, 1]];
    let mut system = Blocks { l1s: [&CPU], hmd: &ONE, works_on, coherent: true, cpu: Some(&CPU), keeps: false }
        .system(vec![work(2)]);
    let cpu = system.members.iter_mut().find(|member| member.name == "cpu").expect("it has one");
    cpu.uses = vec![true, false];
    system
}

/// A CPU with coherent stores to both lines of a block, and a GPU that loads one of them.
pub fn cpu_lines(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 1] = [&[0]];
    Blocks { l1s: [&READER], hmd: &ONE, works_on, coherent: true, cpu: Some(&CPU), keeps: false }.system(vec![work(2)])
}

/// A GPU with coherent stores and two GPUs that only load, on one line: one GPU shares what another owns while a third
/// asks for it.
pub fn peers(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 3] = [&[0], &[0], &[0]];
    let l1s = [&CPU, &READER, &READER];
    let mut system =
        Blocks { l1s, hmd: &PEERS_3, works_on, coherent: true, cpu: None, keeps: false }.system(vec![work(3)]);
    system.equals = [1, 2].map(|gpu| vec![node(gpu), node(3 + 2 * gpu), node(4 + 2 * gpu)]).to_vec();
    system
}

/// A GPU with coherent stores to one line, and a GPU and a CPU that load it.
pub fn peers_cpu(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    Blocks { l1s: [&CPU, &READER], hmd: &PEER_1, works_on, coherent: true, cpu: Some(&READER), keeps: false }
        .system(vec![work(3)])
}

/// A GPU with stores that need not be coherent and a CPU that loads, with a final flush.
pub fn final_flush(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 1] = [&[0]];
    Blocks { l1s: [&GPU], hmd: &ONE_1, works_on, coherent: false, cpu: Some(&READER), keeps: false }
        .system(vec![Stage::Free { cores: vec![0, 1] }])
}

/// A GPU with stores that need not be coherent and a GPU that loads. They flush before they read what the other wrote;
/// blocks that only one GPU holds stay in its memory.
pub fn kept(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    Blocks { l1s: [&GPU, &READER], hmd: &PEER_1, works_on, coherent: false, cpu: None, keeps: true }
        .system(vec![work(2)])
}

/// A GPU stores and flushes, which leaves the block in its memory. Another GPU stores to it as well, and the first
/// claims the bytes that both have written.
pub fn kept_claims(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    let work = |core| Stage::Work { cores: vec![core] };
    let flushed = [[0, 1], [2, 4]].map(|members| tell(Kind::Flush, &members.map(node)));
    let stages = std::iter::once(work(0)).chain(flushed).chain([work(1), Stage::Claim { cores: vec![0] }]);
    Blocks { l1s: [&GPU; 2], hmd: &PEER_1, works_on, coherent: false, cpu: None, keeps: true }.system(stages.collect())
}

/// Two GPUs with stores that need not be coherent, each to its own line of one block.
pub fn final_flush_apart(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[1]];
    Blocks { l1s: [&GPU; 2], hmd: &PEER, works_on, coherent: false, cpu: None, keeps: false }.system(vec![work(2)])
}

/// A GPU stores without coherence, and a CPU claims the bytes; no flush comes before the read.
pub fn claim(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 1] = [&[0]];
    Blocks { l1s: [&GPU], hmd: &ONE_1, works_on, coherent: false, cpu: Some(&CPU), keeps: false }
        .system(vec![work(1), Stage::Claim { cores: vec![1] }])
}

/// A host without caches that takes blocks back from `hmd` at any time.
fn taken(mut system: System) -> System {
    let hmd = system.members.iter().position(|member| member.name == "hmd").expect("every system has one");
    system.whims.push((node(hmd), Kind::Flush));
    system
}

/// Two GPUs with coherent stores to one line, while a host takes the block back.
pub fn taken_stores(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    taken(
        Blocks { l1s: [&CPU; 2], hmd: &PEER_1, works_on, coherent: true, cpu: None, keeps: false }
            .system(vec![work(2)]),
    )
}

/// A GPU with stores that need not be coherent, while a host takes its blocks of two lines back.
pub fn taken_n_stores(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 1] = [&[0]];
    taken(Blocks { l1s: [&GPU], hmd: &ONE, works_on, coherent: false, cpu: None, keeps: false }.system(vec![work(1)]))
}

/// Two caches that write through, above a second-level cache: one claims the bytes that both have stored there, and
/// nothing is invalidated before.
pub fn claim_through(_: usize, lines: usize) -> System {
    let mut system = one_l2(&wt::GPU, 2, lines, false);
    let stored = [work(2), tell(Kind::Flush, &[node(0), node(1)]), Stage::Claim { cores: vec![1] }];
    system.stages.splice(0..1, stored);
    system.equals.clear();
    system
}

/// Two caches that write back, right above the host's memory: both store without coherence, and one claims the bytes.
pub fn claim_back(_: usize, lines: usize) -> System {
    let mut system = n_stores(2, lines);
    system.stages.insert(1, Stage::Claim { cores: vec![1] });
    system.equals.clear();
    system
}

/// A GPU with a cache that writes through, a second-level cache and its own memory. It releases to the system, and all
/// levels invalidate their lines before it continues.
pub fn ordered(_: usize, _: usize) -> System {
    let mut builder = Builder::new(1, false);
    builder.add_l1("l1".to_owned(), &wt::GPU, 1);
    builder.add("l2".to_owned(), &L2 { owns: false }, 2, 0);
    builder.add("smd".to_owned(), &SMD_1, 4, 1);
    builder.add("stack".to_owned(), &Store, 3, 0);
    builder.add_home(&ONE_1, 2);
    let both = |scope| [Kind::Flush, Kind::Invalidate].map(|kind| order(kind, scope, 0..1));
    let stages = [work(1)].into_iter().chain(both(Scope::Device)).chain(both(Scope::System)).collect();
    builder.system(stages, Vec::new()).with_orders(|member| match member.name.as_str() {
        "l1" => Some(&orders::orders_l1::TABLE),
        "l2" => Some(&orders::orders_passed_on::TABLE),
        "smd" => Some(&orders::orders_level::TABLE),
        _ => None,
    })
}

/// A GPU stores coherently, another GPU then without coherence, and a CPU claims the bytes.
pub fn claim_owned(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    let work = |core| Stage::Work { cores: vec![core] };
    Blocks { l1s: [&CPU, &GPU], hmd: &PEER_1, works_on, coherent: false, cpu: Some(&CPU), keeps: false }.system(vec![
        work(0),
        work(1),
        Stage::Claim { cores: vec![2] },
    ])
}

/// A GPU with a cache and a memory of its own, beside a CPU whose last-level cache asks for every line to write. The
/// cores have a data cache each, and if there are several a second-level cache.
struct BesideCpu {
    l1: &'static L1,
    cores: usize,
    hmd: &'static Hmd,
    /// The lines that the GPU accesses, and those that the cores access.
    works_on: [&'static [usize]; 2],
    coherent: bool,
}

impl BesideCpu {
    fn system(self, stages: impl FnOnce(usize) -> Vec<Stage>) -> System {
        let (lines, l2s) = (usize::from(self.hmd.lines), usize::from(self.cores > 1));
        let smd = 1 + self.cores + l2s;
        let (llc, hmd) = (smd + 2, smd + 3);
        let mut builder = Builder::new(lines, self.coherent);
        builder.add_l1("l1".to_owned(), self.l1, smd);
        for core in 0..self.cores {
            builder.add_l1(format!("core.{core}"), &CPU, if l2s > 0 { smd - 1 } else { llc });
        }
        for (member, lines_of) in builder.members.iter_mut().zip([0, 1, 1, 1]) {
            member.uses = (0..lines).map(|line| self.works_on[lines_of].contains(&line)).collect();
        }
        if l2s > 0 {
            builder.add("core.l2".to_owned(), &L2 { owns: false }, llc, 1);
        }
        builder.add("smd".to_owned(), if lines == 1 { &SMD_1 } else { &SMD_2 }, hmd, 0);
        builder.add("stack".to_owned(), &Store, smd + 1, 0);
        builder.add("llc".to_owned(), &L2 { owns: true }, hmd, if l2s > 0 { smd - 1 } else { 1 });
        builder.add_home(self.hmd, smd);
        let cores = if self.coherent { (1..=self.cores).map(|core| vec![node(core)]).collect() } else { Vec::new() };
        let stages = stages(builder.cores);
        builder.system(stages, cores)
    }
}

/// A GPU with coherent stores to both lines of a block, and a core with coherent stores to one of them.
pub fn owned_lines(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0, 1], &[0]];
    BesideCpu { l1: &CPU, cores: 1, hmd: &OWNED, works_on, coherent: true }.system(|cores| vec![work(cores)])
}

/// A core with coherent stores to both lines of a block, and a GPU that loads one of them.
pub fn owned_by_core(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0, 1]];
    BesideCpu { l1: &READER, cores: 1, hmd: &OWNED, works_on, coherent: true }.system(|cores| vec![work(cores)])
}

/// Two cores over a second-level cache, and a GPU that loads, on one line.
pub fn owned_cores(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    BesideCpu { l1: &READER, cores: 2, hmd: &OWNED_1, works_on, coherent: true }.system(|cores| vec![work(cores)])
}

/// A GPU stores without coherence, and then a core loads and stores: nothing is flushed and no line is claimed before.
pub fn owned_loads(_: usize, _: usize) -> System {
    let works_on: [&[usize]; 2] = [&[0], &[0]];
    let turns = |_| vec![Stage::Work { cores: vec![0] }, Stage::Work { cores: vec![1] }];
    BesideCpu { l1: &GPU, cores: 1, hmd: &OWNED_1, works_on, coherent: false }.system(turns)
}
