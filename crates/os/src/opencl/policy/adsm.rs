//! `adsm-batch`, `adsm-lazy` and `adsm-rolling`: the host keeps its copy and the devices' consistent; devices take no
//! part (`[gmac 3, 4]`).
//!
//! Every page of an object has a frame on both sides. The tables of [`protocol::adsm`] determine what is sent when: per
//! object under batch-update and lazy-update, per block under rolling-update. Objects are bound to kernels (`[gmac
//! 3.3]`): a buffer to the kernels that have it as an argument, shared virtual memory to all kernels while the host has
//! not mapped it for writing. Under rolling-update, when more blocks are dirty than the rolling size allows, the block
//! that became dirty first is sent back; no thread waits for that. The rolling size grows by two with each object
//! unless it is fixed.

use super::{
    super::{
        cl,
        device_memory::{Region, Spread, page_of, pages_of},
        error::Cl,
        gpu::Cause,
    },
    paging::{Act, ForHost, Moved, Paging, Spot, World},
};
use crate::guest::Guard;
use mem::{Bytes, LineAddr, PAGE, VirtAddr};
use protocol::{Block as Data, Kind, Line, Log, Msg, Node, Place, Step, adsm, step};
use std::collections::{BTreeMap, VecDeque};

/// One of the three update protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Batch,
    Lazy,
    Rolling,
}

/// Configurable sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The block size of rolling-update in bytes, a multiple of the page size.
    pub size: Bytes,
    /// The maximum number of dirty blocks; none: two per object.
    pub rolling: Option<u64>,
}

impl Default for Blocks {
    /// About the size at which the paper finds transfers efficient (`[gmac 5.2]`).
    fn default() -> Self {
        Self { size: Bytes(256 << 10), rolling: None }
    }
}

#[derive(Debug)]
struct Object {
    size: Bytes,
    /// The number of kernels in flight that it is bound to.
    calls: usize,
    blocks: Vec<Line<1>>,
}

pub struct Adsm {
    update: Update,
    spread: Spread,
    sizes: Blocks,
    objects: BTreeMap<u64, Object>,
    /// Dirty blocks, oldest first: the object, and the index of the block.
    changed: VecDeque<(u64, usize)>,
}

/// Transfers that an event requires for a block.
#[derive(Clone, Copy, Debug, Default)]
struct Moves {
    send: bool,
    fetch: bool,
}

impl Adsm {
    pub fn new(update: Update, spread: Spread, sizes: Blocks) -> Self {
        Self { update, spread, sizes, objects: BTreeMap::new(), changed: VecDeque::new() }
    }

    fn table_of(&self) -> &'static adsm::Host {
        match self.update {
            Update::Batch => &adsm::BATCH,
            Update::Lazy => &adsm::LAZY,
            Update::Rolling => &adsm::ROLLING,
        }
    }

    fn block_size(&self, object: Bytes) -> u64 {
        match self.update {
            Update::Batch | Update::Lazy => object.0.next_multiple_of(PAGE),
            Update::Rolling => self.sizes.size.0.next_multiple_of(PAGE).max(PAGE),
        }
    }

    fn state(&self, line: &Line<1>) -> &'static str {
        protocol::Controller::<1>::table(self.table_of()).states[line.state as usize]
    }

    /// The state with this name.
    fn named(&self, name: &str) -> u8 {
        let states = protocol::Controller::<1>::table(self.table_of()).states;
        states.iter().position(|state| *state == name).expect("all tables have this state") as u8
    }

    /// Applies an event to a block with all its consequences: transfers count as completed before anything else
    /// happens.
    fn show(&mut self, base: u64, n: usize, kind: Kind) -> Moves {
        let host = self.table_of();
        let table = protocol::Controller::<1>::table(host);
        let (me, below, program) = (Node(0), Node(1), Node(2));
        let Some(line) = self.objects.get_mut(&base).and_then(|object| object.blocks.get_mut(n)) else {
            return Moves::default();
        };
        let data = if kind == Kind::Store { Data::full([0]) } else { Data::EMPTY };
        let mut inbox = vec![Msg::new(program, me, kind, LineAddr(0), data)];
        let mut moves = Moves::default();
        while let Some(msg) = inbox.pop() {
            let stepped = step(host, table, Place::new(me, below), line, &msg, &mut Log::new(table, 0));
            let Ok(Step::Sends(sends)) = stepped else {
                unreachable!("a block at rest answers every event that the policy shows it: {stepped:?}")
            };
            for send in sends {
                match send.kind {
                    Kind::Write => {
                        moves.send = true;
                        inbox.push(Msg::new(below, me, Kind::Ack, LineAddr(0), send.data));
                    }
                    Kind::Read => {
                        moves.fetch = true;
                        inbox.push(Msg::new(below, me, Kind::Data, LineAddr(0), Data::full([0])));
                    }
                    _ => {}
                }
            }
        }
        moves
    }

    fn block(&self, base: u64, n: usize) -> Region {
        let size = self.objects.get(&base).map_or(Bytes(0), |object| object.size);
        let whole = self.block_size(size);
        let start = n as u64 * whole;
        (VirtAddr(base + start), Bytes(whole.min(size.0 - start)))
    }

    /// The guard that corresponds to a block's state.
    fn guard(&self, base: u64, n: usize) -> Act {
        let line = self.objects.get(&base).and_then(|object| object.blocks.get(n));
        let guard = match (self.update, line.map(|line| self.state(line))) {
            (Update::Batch, _) | (_, Some("Dirty") | None) => Guard::None,
            (_, Some("ReadOnly")) => Guard::Writes,
            _ => Guard::All,
        };
        Act::Guard(self.block(base, n), guard)
    }

    /// The objects that contain these regions.
    fn bound(&self, regions: &[Region]) -> Vec<u64> {
        let find = |(at, _): &Region| self.find(at.0);
        let mut bases: Vec<u64> = regions.iter().filter_map(find).collect();
        bases.sort_unstable();
        bases.dedup();
        bases
    }

    fn find(&self, address: u64) -> Option<u64> {
        let (base, object) = self.objects.range(..=address).next_back()?;
        let last = page_of(VirtAddr(base + object.size.0 - 1));
        (address < last + PAGE).then_some(*base)
    }
}

/// The page moves that send a block to its devices, or fetch it.
fn moves(region: Region, send: bool, world: &World<'_>) -> Vec<Moved> {
    let moved = |page: u64| {
        let home = Spot::Device(world.tables.home(page)?);
        Some(match send {
            true => Moved { page, to: home, from: Spot::Host },
            false => Moved { page, to: Spot::Host, from: home },
        })
    };
    pages_of(region).filter_map(moved).collect()
}

impl Paging for Adsm {
    fn add(&mut self, region: Region, world: &mut World<'_>) -> Cl<Vec<Act>> {
        if !world.tables.settle(region, self.spread) {
            return Err(cl::MEM_OBJECT_ALLOCATION_FAILURE);
        }
        let count = region.1.0.div_ceil(self.block_size(region.1)) as usize;
        // Neither side has been written yet, so both copies are equal.
        let state = self.named(if self.update == Update::Batch { "Dirty" } else { "ReadOnly" });
        let line = Line { data: Data::full([0]), ..Line::new(state) };
        self.objects.insert(region.0.0, Object { size: region.1, calls: 0, blocks: vec![line; count] });
        Ok((0..count).map(|n| self.guard(region.0.0, n)).collect())
    }

    fn remove(&mut self, region: Region) {
        self.objects.remove(&region.0.0);
        self.changed.retain(|(base, _)| *base != region.0.0);
    }

    fn call(&mut self, bound: &[Region], _: &[usize], world: &mut World<'_>) -> Vec<Act> {
        let (mut acts, mut sent, mut spoilt) = (Vec::new(), Vec::new(), Vec::new());
        for base in self.bound(bound) {
            let Some(object) = self.objects.get_mut(&base) else { continue };
            object.calls += 1;
            if object.calls > 1 {
                continue;
            }
            for n in 0..object.blocks.len() {
                if self.show(base, n, Kind::Call).send {
                    sent.extend(moves(self.block(base, n), true, world));
                }
                acts.push(self.guard(base, n));
                spoilt.extend(pages_of(self.block(base, n)).map(|page| Act::Spoil(page, Spot::Host)));
            }
            self.changed.retain(|(other, _)| *other != base);
        }
        acts.push(Act::Move(sent, Cause::Call));
        // Under batch-update the host may still read its copy, so it is not overwritten.
        if self.update != Update::Batch {
            acts.extend(spoilt);
        }
        acts
    }

    fn ended(&mut self, bound: &[Region]) {
        for base in self.bound(bound) {
            if let Some(object) = self.objects.get_mut(&base) {
                object.calls = object.calls.saturating_sub(1);
            }
        }
    }

    fn give_back(&mut self, bound: &[Region]) -> Vec<Act> {
        let mut acts = Vec::new();
        for base in self.bound(bound) {
            let Some(object) = self.objects.get(&base).filter(|object| object.calls == 0) else { continue };
            for n in 0..object.blocks.len() {
                let invalid = self.objects.get(&base).is_some_and(|object| self.state(&object.blocks[n]) == "Invalid");
                if invalid && self.show(base, n, Kind::Return).fetch {
                    acts.push(Act::Fetch(self.block(base, n), Cause::Call));
                }
            }
        }
        acts
    }

    fn host(&mut self, page: u64, write: bool, world: &mut World<'_>) -> ForHost {
        let Some(base) = self.find(page) else { return ForHost::NotMine };
        let Some(object) = self.objects.get(&base) else { return ForHost::NotMine };
        let n = (page.saturating_sub(base) / self.block_size(object.size)) as usize;
        let state = self.state(&object.blocks[n]);
        if state == "Dirty" || state == "ReadOnly" && !write {
            return ForHost::Do(vec![self.guard(base, n)]);
        }
        if object.calls > 0 {
            return ForHost::Later;
        }
        let mut acts = Vec::new();
        let region = self.block(base, n);
        if self.show(base, n, if write { Kind::Store } else { Kind::Load }).fetch {
            let fetched = moves(region, false, world);
            world.counts.migrations += fetched.len() as u64;
            acts.push(Act::Move(fetched, Cause::Fault));
        }
        if write {
            self.changed.push_back((base, n));
            acts.extend(moves(region, true, world).into_iter().map(|moved| Act::Spoil(moved.page, moved.to)));
        }
        acts.push(self.guard(base, n));
        ForHost::Do(acts)
    }

    fn pieces(&self, _: u64) -> Option<u64> {
        Some(self.objects.values().map(|object| object.blocks.len() as u64).sum())
    }

    fn leisure(&mut self, world: &mut World<'_>) -> Vec<Act> {
        let most = self.sizes.rolling.unwrap_or(2 * self.objects.len() as u64).max(1);
        if self.update != Update::Rolling || self.changed.len() as u64 <= most {
            return Vec::new();
        }
        let Some((base, n)) = self.changed.pop_front() else { return Vec::new() };
        self.show(base, n, Kind::Roll);
        let sent = moves(self.block(base, n), true, world);
        vec![self.guard(base, n), Act::Move(sent, Cause::WriteBack)]
    }
}
