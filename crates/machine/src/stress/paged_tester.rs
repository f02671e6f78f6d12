//! A tester in place of a compute unit, which uses virtual addresses only, while its pages are recalled, moved and
//! mapped again.

use super::{
    Command, Read, Stress, TesterEnd,
    book::{Book, WORD, Writer},
};
use crate::program::space_of;
use engine::{Context, Counter, EventCount, Inlet, Lane, Outlet, Scope};
use interconnect::{HEADER, Wire};
use mem::{Access, Asid, Atomic, AtomicOp, Block, LINE, Mask, Reply, Request, RequestId, VirtAddr};
use rand_pcg::{
    Pcg64Mcg,
    rand_core::{RngCore, SeedableRng},
};
use std::sync::Arc;

/// The tester's place.
#[derive(Clone, Copy)]
pub(crate) struct PagedPlace {
    pub gpu: usize,
    /// Index among the testers of all GPUs.
    pub number: usize,
    /// Whether the lanes of an access are separate requests to the cache.
    pub by_lane: bool,
}

/// The id of requests that order caches to flush or invalidate.
const ORDER: RequestId = RequestId(u64::MAX);

/// An access in flight.
struct Asked {
    id: RequestId,
    /// The consecutive words that are accessed.
    first: u64,
    count: u64,
    what: What,
}

enum What {
    Load,
    Store,
    /// The counter must have at least this value.
    Add {
        number: usize,
        least: u32,
    },
}

pub(crate) struct PagedTester {
    stress: Stress,
    place: PagedPlace,
    book: Arc<Book>,
    /// Words that only this tester writes.
    own: Vec<u64>,
    /// The known minimum of each counter of its GPU.
    counted: Vec<u32>,
    random: Pcg64Mcg,
    cache: Wire<Reply, Request>,
    commands: Inlet<Command>,
    reports: Outlet<Read>,
    bell: EventCount,
    asked: Vec<Asked>,
    next: u64,
    /// An order that has not been sent; `is_ordering`: whether one is in flight.
    order: Option<Request>,
    is_ordering: bool,
    /// The tester's logical time, in protocols that use it.
    time: mem::Stamp,
    loads: Counter,
    stores: Counter,
    atomics: Counter,
}

impl PagedTester {
    pub fn new(
        stress: Stress,
        place: PagedPlace,
        book: Arc<Book>,
        end: TesterEnd,
        cache: Wire<Reply, Request>,
        scope: &Scope,
    ) -> Self {
        let (bell, commands) = (scope.eventcount("work"), scope.receiver(end.1));
        cache.from.ring(&bell);
        cache.to.ring(&bell);
        commands.ring(&bell);
        let number = place.number as u64;
        Self {
            stress,
            place,
            own: book.words_of(number),
            counted: vec![0; book.counters(place.gpu) as usize],
            book,
            random: Pcg64Mcg::seed_from_u64(stress.seed ^ number << 32),
            cache,
            commands,
            reports: scope.sender(end.0),
            bell,
            asked: Vec::new(),
            next: 0,
            order: None,
            is_ordering: false,
            time: 0,
            loads: scope.counter("loads"),
            stores: scope.counter("stores"),
            atomics: scope.counter("atomics"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        if let Err(wrong) = self.obey(&cx).await {
            cx.fail(wrong);
        }
    }

    async fn obey(&mut self, cx: &Context) -> Result<(), String> {
        loop {
            let seen = self.bell.count();
            self.attend().await?;
            match self.commands.try_recv(Lane::Request) {
                None => {
                    self.rest(seen + 1, cx).await;
                    continue;
                }
                Some(Command::Play) => self.play(cx).await?,
                Some(Command::Access(Access::Load, ..)) => {
                    self.load(0, 1);
                    self.answers(cx).await?;
                }
                Some(Command::Access(access, scope, _)) => self.order_all(access, scope, cx).await?,
                Some(Command::Stream(_) | Command::Page(..)) => {
                    unreachable!("it plays, and orders what concerns all lines")
                }
            }
            self.reports.send(Lane::Reply, 0, HEADER).await;
        }
    }

    /// Takes answers, and forwards orders about pages.
    async fn attend(&mut self) -> Result<(), String> {
        while let Some(reply) = self.cache.from.try_recv(Lane::Reply) {
            self.time = self.time.max(reply.stamp);
            match reply.id {
                ORDER => {
                    self.is_ordering = false;
                    self.reports.send(Lane::Coherence, 0, HEADER).await;
                }
                _ => self.answered(&reply)?,
            }
        }
        if self.order.is_none()
            && !self.is_ordering
            && let Some(Command::Page(access, scope, page)) = self.commands.try_recv(Lane::Coherence)
        {
            let order = Request { phys: Some(page), ..self.request(ORDER, access, scope, VirtAddr(0), Block::EMPTY) };
            self.order = Some(Request { asid: Asid::default(), ..order });
        }
        if let Some(order) = self.order.take() {
            // Orders about a page must not wait behind accesses that wait for other pages.
            match self.cache.to.try_send(Lane::Coherence, order, HEADER) {
                Ok(()) => self.is_ordering = true,
                Err(order) => self.order = Some(order),
            }
        }
        Ok(())
    }

    async fn rest(&self, count: u64, cx: &Context) {
        while self.bell.rest(count).await {
            if !self.asked.is_empty() || self.is_ordering || self.order.is_some() {
                let what = format!("{} answers", self.asked.len() + usize::from(self.is_ordering));
                cx.needs_of_receiver(what, &self.cache.to, Lane::Request);
            }
        }
    }

    async fn play(&mut self, cx: &Context) -> Result<(), String> {
        let mut left = self.stress.round;
        loop {
            let seen = self.bell.count();
            self.attend().await?;
            if left == 0 && self.asked.is_empty() {
                return Ok(());
            }
            let has_room = self.asked.len() < self.stress.outstanding && self.cache.to.has_room(Lane::Request);
            if left > 0 && has_room && self.access() {
                left -= 1;
                cx.progress();
                let pause = if self.one_in(8) { u64::from(self.below(24)) } else { 0 };
                cx.pause(1 + pause).await;
            } else {
                self.rest(seen + 1, cx).await;
            }
        }
    }

    /// Sends an order about all lines, at the end of a round.
    async fn order_all(&mut self, access: Access, scope: mem::Scope, cx: &Context) -> Result<(), String> {
        let id = self.next_id();
        let order = self.request(id, access, scope, VirtAddr(0), Block::EMPTY);
        self.asked.push(Asked { id, first: 0, count: 0, what: What::Store });
        self.cache.to.send(Lane::Request, Request { asid: Asid::default(), ..order }, HEADER).await;
        self.answers(cx).await
    }

    /// Waits for all answers.
    async fn answers(&mut self, cx: &Context) -> Result<(), String> {
        while !self.asked.is_empty() {
            let seen = self.bell.count();
            self.attend().await?;
            if !self.asked.is_empty() {
                self.rest(seen + 1, cx).await;
            }
        }
        Ok(())
    }

    /// Makes one random access; returns false if an access in flight prevents it.
    fn access(&mut self) -> bool {
        match self.below(16) {
            0..=3 if !self.own.is_empty() => {
                let word = self.own_word();
                self.load(word, 1)
            }
            0..=7 => {
                let word = self.random.next_u64() % self.book.words();
                let in_line = (LINE / WORD) as u64 - word % (LINE / WORD) as u64;
                let count = (1 + u64::from(self.below(4))).min(in_line);
                self.load(word, count)
            }
            8..=14 if !self.own.is_empty() => {
                let word = self.own_word();
                self.store(word)
            }
            _ => self.add(),
        }
    }

    fn own_word(&mut self) -> u64 {
        let number = self.below(self.own.len() as u32);
        self.own[number as usize]
    }

    /// Whether an access in flight concerns one of these words and at least one of the two is a store.
    fn conflicts(&self, first: u64, count: u64, stores: bool) -> bool {
        self.asked.iter().any(|asked| {
            let meet = asked.first < first + count && first < asked.first + asked.count;
            meet && (stores || matches!(asked.what, What::Store))
        })
    }

    fn load(&mut self, first: u64, count: u64) -> bool {
        if self.conflicts(first, count, false) {
            return false;
        }
        let scope = if self.one_in(8) { mem::Scope::Device } else { mem::Scope::Group };
        let (mut line, offset) = self.book.place(first);
        if let Some(alias) = self.book.alias(first)
            && self.one_in(2)
        {
            line = alias;
        }
        let bytes = Block::of([0; LINE], Mask::range(offset, count as usize * WORD));
        self.loads.increment();
        self.ask((first, count, What::Load), Access::Load, scope, line, bytes);
        true
    }

    fn store(&mut self, word: u64) -> bool {
        if self.conflicts(word, 1, true) {
            return false;
        }
        let (line, offset) = self.book.place(word);
        let bytes = Block::at(offset, &self.book.make(word).to_le_bytes());
        self.stores.increment();
        self.ask((word, 1, What::Store), Access::Store, mem::Scope::Group, line, bytes);
        true
    }

    fn add(&mut self) -> bool {
        if self.counted.is_empty() {
            return self.load(0, 1);
        }
        let number = self.below(self.counted.len() as u32) as usize;
        let word = self.book.counter(self.place.gpu, number as u64);
        self.book.make(word);
        let least = self.counted[number].max(self.book.settled(word));
        let (at, offset) = self.book.place(word);
        self.atomics.increment();
        let access = Access::Atomic(Atomic { op: AtomicOp::Add, wide: false, second: 0 });
        let one = Block::at(offset, &1_u32.to_le_bytes());
        self.ask((word, 1, What::Add { number, least }), access, mem::Scope::Device, at, one);
        true
    }

    fn ask(
        &mut self,
        (first, count, what): (u64, u64, What),
        access: Access,
        scope: mem::Scope,
        line: VirtAddr,
        data: Block<LINE>,
    ) {
        let id = self.next_id();
        let mut request = self.request(id, access, scope, line, data);
        if self.place.by_lane && matches!(what, What::Load | What::Store) && self.one_in(4) {
            request.lanes = 1 + self.below(63) as u8;
        }
        let sent = self.cache.to.try_send(Lane::Request, request, HEADER + data.mask().len() as u64);
        assert!(sent.is_ok(), "an access is made when there is room for it");
        self.asked.push(Asked { id, first, count, what });
    }

    fn request(&self, id: RequestId, access: Access, scope: mem::Scope, virt: VirtAddr, data: Block<LINE>) -> Request {
        let asid = space_of(self.place.gpu);
        Request { id, access, scope, asid, virt, phys: None, data, stamp: self.time, lanes: 1, tlb_missed: false }
    }

    fn next_id(&mut self) -> RequestId {
        self.next += 1;
        RequestId(self.next)
    }

    /// Checks the values of an answer.
    fn answered(&mut self, reply: &Reply) -> Result<(), String> {
        let at = self.asked.iter().position(|asked| asked.id == reply.id).expect("what is answered was asked");
        let Asked { first, count, what, .. } = self.asked.swap_remove(at);
        for word in first..first + count {
            let (line, offset) = self.book.place(word);
            let bytes = &reply.data.bytes()[offset..offset + WORD];
            let value = bytes.try_into().map(u32::from_le_bytes).expect("a word has four bytes");
            let wrong = match what {
                What::Store => Ok(()),
                What::Add { number, least } => {
                    let counted = &mut self.counted[number];
                    *counted = (*counted).max(value.wrapping_add(1));
                    let right = value >= least;
                    if right { Ok(()) } else { Err(format!("{least:#010x} or more, to which others add")) }
                }
                What::Load if self.book.writer(word) == Writer::Tester(self.place.number as u64) => {
                    let last = self.book.last(word);
                    if value == last { Ok(()) } else { Err(format!("{last:#010x}, which it wrote itself")) }
                }
                What::Load => self.book.check(word, value),
            };
            if let Err(right) = wrong {
                let address = line.0 + offset as u64;
                return Err(format!(
                    "a wrong value was read: {value:#010x} at virtual address {address:#x} (page {} of those that are moved); the \
                     correct value is {right}",
                    self.book.page_at(line)
                ));
            }
        }
        Ok(())
    }

    fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.random.next_u32()) * u64::from(end)) >> 32) as u32
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }
}
