//! Page-table walkers: a fixed number of them, behind a queue (`[giles 3.2.7]`, `[vcache 2, Table 1]`).
//!
//! A walker reads the entries of the tables level by level. Each read is a load of 8 bytes by physical address, on the
//! wire to a core's cache, a cache of its own, or memory. A page-walk cache of upper levels lets it start lower. A flat
//! walk instead takes a fixed time, as in M2S-CGM (`[giles]`), and answers with the physical address that the request
//! carries.

use crate::{
    DriverTables, Mistranslation, PageSize, Rights, Roots, Shootdown, TlbSpec, Translate, Translated, Translation,
    entry::{Entry, TOP_LEVEL, entry_at, prefix, size},
    shootdown::{Control, Orders},
};
use engine::{
    Context, Counter, Cycles, EventCount, Histogram, Inlet, Lane, Level, Outlet, Queue, Reason, RoundRobin, Scope,
};
use interconnect::{HEADER, Wire};
use mem::{Access, Asid, Block, Bytes, LINE, Mask, PhysAddr, Reply, Request, RequestId, Sets, VirtAddr};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// Parameters from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct WalkersSpec {
    /// Number of walkers.
    pub walkers: usize,
    /// How many requests wait for a walker here; more wait in the wires.
    pub queue: usize,
    /// How long a shootdown takes here.
    pub shootdown: Cycles,
}

/// How pages are found.
pub enum Walk {
    /// A walk takes a fixed time and answers with the request's physical address, in pages of 4 KiB.
    Flat { latency: Cycles },
    /// A walk takes a fixed time and looks into tables that a driver keeps.
    Driver { latency: Cycles, tables: DriverTables },
    /// A walk reads the tables through `memory`.
    Tables { memory: Wire<Reply, Request>, page_walk_cache: Option<PageWalkCache> },
}

/// What walkers keep of the tables that they have read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageWalkCache {
    /// Entries of upper levels, found by virtual address: a walk begins below them.
    Levels(TlbSpec),
    /// Lines of the tables, found by physical address (`[vcache 3]`). A look-up takes a cycle.
    Lines(TlbSpec),
}

/// Starts walkers at `scope`, which answer the requests on the wires `askers`.
pub fn walkers(
    spec: WalkersSpec,
    walk: Walk,
    askers: Vec<Wire<Translate, Translated>>,
    control: Option<Control>,
    roots: &Roots,
    scope: &Scope,
) {
    let (from, to): (Vec<_>, Vec<_>) = askers.into_iter().map(|wire| (wire.from, wire.to)).unzip();
    let queue = scope.queue("queue", spec.queue);
    let bell = scope.eventcount("work");
    from.iter().for_each(|inlet| inlet.ring(&bell));
    let walks = Rc::new(Walks { under_way: RefCell::new(vec![None; spec.walkers]), scope: scope.clone() });
    let (questions, of_walks) = (queue.clone(), Rc::clone(&walks));
    scope.serve("accept", |cx| accept(from, questions, bell, of_walks, cx));
    let method = match walk {
        Walk::Flat { latency } => Method::Flat(latency),
        Walk::Driver { latency, tables } => Method::Driver(latency, Faults::new(tables, scope)),
        Walk::Tables { memory, page_walk_cache } => {
            Method::Tables(Box::new(Tables::new(spec.walkers, memory, page_walk_cache, scope)))
        }
    };
    let shared = Rc::new(Shared {
        askers: to,
        queue,
        roots: roots.clone(),
        method,
        walks,
        begun: Cell::new(0),
        ended: scope.eventcount("ended"),
        walk_cycles: scope.histogram("walk_cycles"),
        active: scope.level("active"),
    });
    for number in 0..spec.walkers {
        let walker = Walker { number, shared: Rc::clone(&shared) };
        scope.serve(("walker", number), |cx| walker.run(cx));
    }
    if let Method::Driver(_, faults) = &shared.method {
        let (bell, own) = (faults.bell.clone(), Rc::clone(&shared));
        scope.serve("faults", |cx| own.answer_faults(bell, cx));
    }
    if control.is_some() {
        let bell = scope.eventcount("orders");
        let orders = Orders::new(control, &bell, scope);
        scope.serve("shootdown", move |cx| forget(shared, orders, bell, spec.shootdown, cx));
    }
}

/// A request, and the index of its requester.
type Question = (usize, Translate);

/// Takes requests round-robin.
async fn accept(from: Vec<Inlet<Translate>>, queue: Queue<Question>, bell: EventCount, walks: Rc<Walks>, cx: Context) {
    let mut turns = RoundRobin::new(from.len());
    from.iter().for_each(|inlet| cx.takes(inlet));
    loop {
        match turns.grant(|asker| from[asker].len(Lane::Request) > 0) {
            Some(asker) => {
                let question = from[asker].try_recv(Lane::Request).expect("it was granted");
                queue.send((asker, question)).await;
            }
            None => {
                let next = bell.count() + 1;
                while bell.rest(next).await {
                    walks.needs_end(&cx, |_| true);
                }
            }
        }
    }
}

/// State shared by all walkers.
struct Shared {
    askers: Vec<Outlet<Translated>>,
    queue: Queue<Question>,
    roots: Roots,
    method: Method,
    walks: Rc<Walks>,
    begun: Cell<u64>,
    ended: EventCount,
    walk_cycles: Histogram,
    active: Level,
}

/// Walks in progress.
struct Walks {
    /// One for each walker.
    under_way: RefCell<Vec<Option<UnderWay>>>,
    scope: Scope,
}

/// A walk in progress.
#[derive(Clone, Copy)]
struct UnderWay {
    question: Translate,
    number: u64,
}

impl UnderWay {
    /// Whether it began before walk number `begun` and a shootdown affects it.
    fn is_about(&self, what: &Shootdown, begun: u64) -> bool {
        self.number < begun && what.covers(self.question.asid, self.question.virt)
    }
}

/// Requests that wait for the driver to handle a fault.
struct Faults {
    tables: DriverTables,
    parked: RefCell<Vec<Question>>,
    bell: EventCount,
    faults: Counter,
}

impl Faults {
    fn new(tables: DriverTables, scope: &Scope) -> Self {
        let bell = scope.eventcount("answered");
        tables.answered_at(&bell);
        Self { tables, parked: RefCell::default(), bell, faults: scope.counter("faults") }
    }

    /// Parks a request until the driver has answered.
    fn park(&self, (asker, question): Question) {
        self.faults.increment();
        self.parked.borrow_mut().push((asker, question));
        self.tables.fault(question.asid, question.virt, question.write);
    }

    /// Removes the parked requests that `which` selects, in order.
    fn take(&self, which: impl Fn(&Translate) -> bool) -> Vec<Question> {
        self.parked.borrow_mut().extract_if(.., |(_, question)| which(question)).collect()
    }
}

enum Method {
    Flat(Cycles),
    Driver(Cycles, Faults),
    Tables(Box<Tables>),
}

struct Walker {
    number: usize,
    shared: Rc<Shared>,
}

impl Walker {
    async fn run(self, cx: Context) {
        loop {
            let (asker, question) = self.shared.queue.recv().await;
            let since = cx.now().0;
            self.begin(question);
            let found = match &self.shared.method {
                Method::Flat(latency) => {
                    cx.pause(*latency).await;
                    told(&question)
                }
                Method::Driver(latency, faults) => {
                    cx.pause(*latency).await;
                    match faults.tables.find(question.asid, question.virt, question.write) {
                        Some(found) => Ok(found),
                        None => {
                            faults.park((asker, question));
                            self.shared.walk_cycles.record(cx.now().0 - since);
                            self.end();
                            continue;
                        }
                    }
                }
                Method::Tables(tables) => self.walk(tables, &question, &cx).await,
            };
            let Translate { asid, virt, phys, .. } = question;
            let may_differ = || self.shared.roots.may_differ(asid, virt);
            let found = match found {
                // The tables have changed: the requester uses an address from before the change, or one that memory
                // does not hold yet.
                Ok(found) if phys.is_some_and(|phys| found.place(virt) != phys) && may_differ() => None,
                Ok(found) => Some(found),
                Err(_) if may_differ() => None,
                Err(wrong) => return cx.fail(wrong.to_string()),
            };
            self.shared.walk_cycles.record(cx.now().0 - since);
            let answer = Translated { id: question.id, found };
            self.shared.askers[asker].send(Lane::Reply, answer, Translated::BYTES).await;
            self.end();
        }
    }

    /// Walks down the tables, from the lowest level that the page-walk cache knows.
    async fn walk(&self, tables: &Tables, question: &Translate, cx: &Context) -> Result<Translation, Mistranslation> {
        let Translate { asid, virt, .. } = *question;
        let root = self.shared.roots.root(asid).ok_or(Mistranslation::NoTables { asid })?;
        let (mut table, mut level) = tables.begin(asid, virt).unwrap_or((root, TOP_LEVEL));
        loop {
            let at = entry_at(table, virt, level);
            // Pages are added, and rights are given, without a shootdown: a line that is kept may lack them.
            let suffices = |entry: &Entry| {
                entry.is_present() && (!question.write || !entry.is_leaf(level) || entry.rights().write)
            };
            let entry = match tables.kept(at).filter(suffices) {
                Some(entry) => {
                    cx.pause(1).await;
                    entry
                }
                None => tables.read(self.number, asid, at, cx).await,
            };
            if !entry.is_present() {
                return Err(Mistranslation::NotPresent { asid, virt, level, at, entry: entry.0 });
            }
            if entry.is_leaf(level) {
                let size = size(level).ok_or(Mistranslation::TooLarge { asid, virt, level, at, entry: entry.0 })?;
                let page = virt.align_down(size.bytes());
                return Ok(Translation { page, frame: entry.address(), size, rights: entry.rights() });
            }
            table = entry.address();
            tables.remember(Upper { asid, level, prefix: prefix(virt, level), table });
            level -= 1;
        }
    }

    fn begin(&self, question: Translate) {
        let number = self.shared.begun.get();
        self.shared.begun.set(number + 1);
        self.shared.walks.under_way.borrow_mut()[self.number] = Some(UnderWay { question, number });
        self.shared.active.rise();
    }

    fn end(&self) {
        self.shared.walks.under_way.borrow_mut()[self.number] = None;
        self.shared.active.fall();
        self.shared.ended.advance();
    }
}

/// The result of a walk of constant latency: the address in the request.
fn told(question: &Translate) -> Result<Translation, Mistranslation> {
    let Translate { asid, virt, phys, .. } = *question;
    let (size, rights) = (PageSize::Small, Rights { write: true, execute: true });
    let frame = phys.ok_or(Mistranslation::Untold { asid, virt })?.align_down(size.bytes());
    Ok(Translation { page: virt.align_down(size.bytes()), frame, size, rights })
}

/// An entry of an upper level: the address of the table below it.
struct Upper {
    asid: Asid,
    level: u32,
    prefix: u64,
    table: PhysAddr,
}

/// How walkers read tables.
struct Tables {
    memory: Outlet<Request>,
    /// For each walker, its current read.
    reads: Rc<[Read]>,
    page_walk_cache: Option<RefCell<Sets<Upper>>>,
    lines: Option<Lines>,
    entries_read: Counter,
    page_walk_cache_hits: Counter,
}

struct Read {
    data: Cell<Block<LINE>>,
    came: EventCount,
}

/// Lines of the tables that walkers keep.
struct Lines {
    kept: RefCell<Sets<(PhysAddr, Block<LINE>)>>,
    /// Number of shootdowns so far: a line that was read before the last one is not kept.
    shootdowns: Cell<u64>,
    hits: Counter,
}

impl Tables {
    fn new(walkers: usize, memory: Wire<Reply, Request>, cache: Option<PageWalkCache>, scope: &Scope) -> Tables {
        let came = |number| scope.scope(("walker", number)).eventcount_for("came", Reason::Resource);
        let reads: Rc<[Read]> = (0..walkers).map(|n| Read { data: Cell::new(Block::EMPTY), came: came(n) }).collect();
        let (answers, of) = (memory.from, Rc::clone(&reads));
        scope.serve("listen", |_| async move {
            loop {
                let reply = answers.recv(Lane::Reply).await;
                let read = &of[reply.id.0 as usize];
                read.data.set(reply.data);
                read.came.advance();
            }
        });
        Tables {
            memory: memory.to,
            reads,
            page_walk_cache: match cache {
                Some(PageWalkCache::Levels(spec)) => Some(RefCell::new(spec.build())),
                _ => None,
            },
            lines: match cache {
                Some(PageWalkCache::Lines(spec)) => Some(Lines {
                    kept: RefCell::new(spec.build()),
                    shootdowns: Cell::new(0),
                    hits: scope.counter("entries_kept"),
                }),
                _ => None,
            },
            entries_read: scope.counter("entries_read"),
            page_walk_cache_hits: scope.counter("page_walk_cache_hits"),
        }
    }

    /// An entry of a table, if its line is kept.
    fn kept(&self, at: PhysAddr) -> Option<Entry> {
        let lines = self.lines.as_ref()?;
        let line = at.align_down(Bytes(LINE as u64));
        let mut kept = lines.kept.borrow_mut();
        let (_, data) = kept.look_up(line.0 / LINE as u64, |(other, _)| *other == line)?;
        lines.hits.increment();
        Some(entry_of(data, at))
    }

    /// Reads an entry of a table; where lines are kept, with its line.
    async fn read(&self, walker: usize, asid: Asid, at: PhysAddr, cx: &Context) -> Entry {
        let line = Bytes(LINE as u64);
        let mask = match &self.lines {
            Some(_) => Mask::first(LINE),
            None => Mask::range(at.offset_in(line).0 as usize, 8),
        };
        let shootdowns = self.lines.as_ref().map(|lines| lines.shootdowns.get());
        let request = Request {
            id: RequestId(walker as u64),
            access: Access::Load,
            scope: mem::Scope::Group,
            asid,
            virt: VirtAddr(at.align_down(line).0),
            phys: Some(at.align_down(line)),
            data: Block::zeros(mask),
            stamp: 0,
            lanes: 1,
            tlb_missed: false,
        };
        self.entries_read.increment();
        let came = &self.reads[walker].came;
        let seen = came.count();
        self.memory.send(Lane::Request, request, HEADER).await;
        while came.rest(seen + 1).await {
            cx.needs_of_receiver(format!("the entry of a page table at {:#x}", at.0), &self.memory, Lane::Request);
        }
        let data = self.reads[walker].data.get();
        if let Some(lines) = self.lines.as_ref().filter(|lines| Some(lines.shootdowns.get()) == shootdowns) {
            let (mut kept, line) = (lines.kept.borrow_mut(), at.align_down(line));
            kept.remove(line.0 / LINE as u64, |(other, _)| *other == line);
            kept.put(line.0 / LINE as u64, (line, data));
        }
        entry_of(&data, at)
    }

    /// The lowest table on the path to an address that the page-walk cache knows, and its level.
    fn begin(&self, asid: Asid, address: VirtAddr) -> Option<(PhysAddr, u32)> {
        let mut cache = self.page_walk_cache.as_ref()?.borrow_mut();
        let found = (1..=TOP_LEVEL).find_map(|level| {
            let number = prefix(address, level);
            let meant = |upper: &Upper| upper.level == level && upper.prefix == number && upper.asid == asid;
            cache.look_up(number, meant).map(|upper| (upper.table, level - 1))
        });
        self.page_walk_cache_hits.add(u64::from(found.is_some()));
        found
    }

    fn remember(&self, upper: Upper) {
        if let Some(cache) = &self.page_walk_cache {
            let mut cache = cache.borrow_mut();
            let same = |old: &Upper| (old.asid, old.level, old.prefix) == (upper.asid, upper.level, upper.prefix);
            cache.remove(upper.prefix, same);
            cache.put(upper.prefix, upper);
        }
    }

    /// Drops entries that may lead to a page. Upper levels belong to many pages, so all entries of the address space
    /// go, as on `invlpg`. Of lines it is not known which space they belong to.
    fn forget(&self, what: &Shootdown) -> usize {
        if let Some(lines) = &self.lines {
            lines.shootdowns.set(lines.shootdowns.get() + 1);
            return lines.kept.borrow_mut().retain(|_| false);
        }
        let Some(cache) = &self.page_walk_cache else { return 0 };
        cache.borrow_mut().retain(|upper| match what {
            Shootdown::Page { asid, .. } | Shootdown::Space { asid } => upper.asid != *asid,
            Shootdown::All => false,
        })
    }
}

/// The entry at an address, out of its line.
fn entry_of(data: &Block<LINE>, at: PhysAddr) -> Entry {
    let place = at.offset_in(Bytes(LINE as u64)).0 as usize;
    let bytes = data.bytes()[place..place + 8].try_into().expect("an entry lies in one line");
    Entry(u64::from_le_bytes(bytes))
}

/// Carries out shootdowns. Walks that began before may have read old entries, so they have to end first.
async fn forget(shared: Rc<Shared>, mut orders: Orders, bell: EventCount, cost: Cycles, cx: Context) {
    orders.obeyed_by(&cx);
    loop {
        let Some(order) = orders.next() else {
            bell.next().await;
            continue;
        };
        let dropped = shared.forget(&order);
        let begun = shared.begun.get();
        cx.pause(cost).await;
        while shared.walks.are_about(&order, begun) {
            let next = shared.ended.count() + 1;
            while shared.ended.rest(next).await {
                shared.walks.needs_end(&cx, |walk| walk.is_about(&order, begun));
            }
        }
        orders.dropped.add((dropped + shared.forget(&order)) as u64);
        orders.answer(|_| false);
    }
}

impl Shared {
    async fn answer(&self, (asker, question): Question, found: Option<Translation>) {
        let answer = Translated { id: question.id, found };
        self.askers[asker].send(Lane::Reply, answer, Translated::BYTES).await;
    }

    /// Answers the requests whose faults the driver has handled.
    async fn answer_faults(self: Rc<Self>, bell: EventCount, cx: Context) {
        let Method::Driver(_, faults) = &self.method else { return };
        loop {
            let seen = bell.count();
            while let Some((asid, page, answer)) = faults.tables.next_answer() {
                if let Err(why) = answer {
                    return cx.fail(why);
                }
                for question in faults.take(|question| question.asid == asid && question.virt == page) {
                    match faults.tables.find(asid, page, question.1.write) {
                        Some(found) => self.answer(question, Some(found)).await,
                        None => faults.park(question),
                    }
                }
            }
            bell.wait(seen + 1).await;
        }
    }

    fn forget(&self, what: &Shootdown) -> usize {
        match &self.method {
            Method::Flat(_) | Method::Driver(..) => 0,
            Method::Tables(tables) => tables.forget(what),
        }
    }
}

impl Walks {
    /// Whether a walk is in progress that began before walk number `begun` and that a shootdown affects.
    fn are_about(&self, what: &Shootdown, begun: u64) -> bool {
        self.under_way.borrow().iter().flatten().any(|walk| walk.is_about(what, begun))
    }

    /// Tells the report on a run that makes no progress which walks have to end first.
    fn needs_end(&self, cx: &Context, which: impl Fn(&UnderWay) -> bool) {
        for (number, walk) in self.under_way.borrow().iter().enumerate() {
            if let Some(walk) = walk.as_ref().filter(|walk| which(walk)) {
                let walker = self.scope.scope(("walker", number)).path();
                cx.needs(format!("the end of the walk to page {:#x}", walk.question.virt.0), walker);
            }
        }
    }
}
