//! Detection of data races between the work-items of a kernel, in functional runs.
//!
//! A race: two work-items access a word of local or global memory, at least one of them writes, and nothing orders the
//! accesses. Either they belong to one workgroup and no barrier lies between the accesses, or they belong to two
//! workgroups. Lanes of one wavefront also count, in one instruction (several write different values) or in several
//! (hardware happens to run them in lockstep, but no OpenCL program may rely on it). For each word the detector stores
//! the last writer and two readers, each with the number of barriers that its workgroup had passed.
//!
//! To avoid false reports, these are left out: atomic accesses; accesses between which both wavefronts have made an
//! atomic access, which may have synchronised them; loads that must see other work-items' writes (`glc`: atomic and
//! volatile ones); writes of the value that is already there; lanes of one wavefront if the compiler knew that a
//! workgroup is a single wavefront, since it then omits barriers; and of several writers of parts of a word, all but
//! the last.

use super::immediate::Immediate;
use crate::{
    code::Code,
    dispatch::Dispatch,
    exec::{
        active,
        lds::{Lds, LdsAccess, LdsKind},
        simd::Row,
    },
    memop::{Kind, MemOp, ScalarOp, Space},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The maximum number of races that are described; others are only counted.
const MOST: usize = 4;
const WAVEFRONT: u32 = 64;
/// The number of words per page of the detector's table.
const PAGE: usize = 1024;

/// An access of a work-item to a word.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    /// The number of its wavefront in the launch plus one; 0: no access.
    wave: u32,
    /// The number of barriers that its workgroup had passed.
    epoch: u32,
    /// The number of atomic accesses of the launch before it.
    atomics: u32,
    /// The offset of its instruction in the code.
    at: u32,
    lane: u8,
    /// A bit for each byte.
    bytes: u8,
}

/// The recorded accesses to a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Word {
    write: Touch,
    reads: [Touch; 2],
}

/// The recorded accesses to each word of a workgroup's local data share.
#[derive(Debug, Default)]
pub struct LocalWords {
    words: Vec<Word>,
    /// The value of each word at its last check.
    values: Vec<u32>,
}

impl LocalWords {
    pub fn reset(&mut self, bytes: u32) {
        let words = bytes.div_ceil(4) as usize;
        self.words.clear();
        self.words.resize(words, Word::default());
        self.values.clear();
        self.values.resize(words, 0);
    }
}

/// The recorded accesses to words of global memory.
#[derive(Debug, Default)]
struct GlobalWords {
    /// Never iterated.
    index: FxHashMap<u64, usize>,
    pages: Vec<Box<[Word; PAGE]>>,
    /// The last page used.
    last: Option<(u64, usize)>,
}

impl GlobalWords {
    fn word(&mut self, number: u64) -> &mut Word {
        let key = number / PAGE as u64;
        let page = match self.last {
            Some((other, page)) if other == key => page,
            _ => {
                let pages = &mut self.pages;
                let page = *self.index.entry(key).or_insert_with(|| {
                    pages.push(Box::new([Word::default(); PAGE]));
                    pages.len() - 1
                });
                self.last = Some((key, page));
                page
            }
        };
        &mut self.pages[page][(number % PAGE as u64) as usize]
    }
}

/// A memory instruction, with the wavefront that executes it.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// The number of the workgroup, and of the wavefront within it.
    pub group: u64,
    pub wave: u32,
    /// The number of barriers that the workgroup has passed.
    pub epoch: u32,
    pub pc: u64,
}

/// The access of a lane to a word.
#[derive(Clone, Copy, Debug)]
struct LaneWord {
    /// The number of the word: its address divided by 4.
    word: u64,
    bytes: u8,
    lane: u8,
    /// The written value, at the position of its bytes, and whether it differs from the current value.
    value: u32,
    changes: bool,
}

/// The data-race detector of a launch.
#[derive(Debug)]
pub struct Races {
    dispatch: Dispatch,
    /// The address of the kernel's first instruction, and of the code.
    entry: u64,
    start: u64,
    /// Wavefronts per workgroup.
    waves: u32,
    /// Whether lanes of one wavefront are checked against each other.
    lanes: bool,
    words: GlobalWords,
    /// The number of atomic accesses so far, and the last one of each wavefront; never iterated.
    atomics: u32,
    last_atomic: FxHashMap<u32, u32>,
    /// Pairs of instructions that have been reported; never iterated.
    reported: FxHashSet<(u32, u32)>,
    found: Vec<String>,
    count: u64,
    /// Kept to reuse its allocation.
    touched: Vec<LaneWord>,
}

impl Races {
    /// `entry`: the address of the kernel's first instruction.
    pub fn new(dispatch: &Dispatch, code: &Code, entry: u64) -> Self {
        Self {
            dispatch: dispatch.clone(),
            entry,
            start: code.start(),
            waves: dispatch.waves([0; 3]),
            lanes: dispatch.kernel().max_group.is_some_and(|most| most > WAVEFRONT),
            words: GlobalWords::default(),
            atomics: 0,
            last_atomic: FxHashMap::default(),
            reported: FxHashSet::default(),
            found: Vec::new(),
            count: 0,
            touched: Vec::new(),
        }
    }

    /// The descriptions of the first few races, and the total number.
    pub fn found(&self) -> (&[String], u64) {
        (&self.found, self.count)
    }

    /// Checks an access to the local data share that has been made.
    pub fn local(&mut self, by: Instruction, local: &mut LocalWords, lds: &Lds, code: &Code) {
        let access = &lds.last;
        match access.kind {
            LdsKind::Permute => return,
            LdsKind::Atomic => {
                self.synchronise(by);
                for (_, word) in places(access) {
                    if let Some(value) = local.values.get_mut(word as usize) {
                        *value = lds.word(4 * word);
                    }
                }
                return;
            }
            LdsKind::Read | LdsKind::Write => {}
        }
        let writes = access.kind == LdsKind::Write;
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        for (number, (lane, word)) in places(access).enumerate() {
            if word as usize >= local.words.len() {
                continue;
            }
            let address = access.addresses[lane];
            let (bytes, shift) = part(address, access.bytes.into());
            let row = number / access.mask.count_ones() as usize;
            let value = access.stored.get(row).map_or(0, |row| row[lane]) << shift;
            let changes = (local.values[word as usize] ^ value) & ones(bytes) != 0;
            touched.push(LaneWord { word: word.into(), bytes, lane: lane as u8, value, changes });
        }
        let LocalWords { words, values } = local;
        if writes {
            self.lanes_of_one(by, &mut touched, "local", code);
            touched.retain(|lane| lane.changes);
        }
        for lane in &touched {
            if let Some(other) = self.conflict(by, lane, &words[lane.word as usize], writes) {
                self.report(by, lane, other, (writes, "local"), code);
            }
        }
        for lane in &touched {
            self.record(by, lane, &mut words[lane.word as usize], writes);
            values[lane.word as usize] = lds.word(4 * lane.word as u32);
        }
        self.touched = touched;
    }

    /// Checks a vector access that is about to be made.
    pub fn global(&mut self, by: Instruction, op: &MemOp, memory: &mut impl Immediate, code: &Code) {
        if op.space == Space::Scratch || op.mask == 0 {
            return;
        }
        if matches!(op.kind, Kind::Atomic { .. }) || op.kind == Kind::Load && op.scope.glc {
            return self.synchronise(by);
        }
        let writes = op.kind == Kind::Store;
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        let places = std::iter::once(&op.addresses).chain(&op.more);
        for (place, addresses) in places.enumerate() {
            for element in 0..usize::from(op.elements) {
                let row = op.data.get(place * usize::from(op.elements) + element);
                for lane in active(op.mask) {
                    let address = addresses[lane].wrapping_add(element as u64 * u64::from(op.stride));
                    let (bytes, shift) = part(address as u32, op.element_bytes.into());
                    let value = row.filter(|_| writes).map_or(0, |row| row[lane]) << shift;
                    touched.push(LaneWord { word: address / 4, bytes, lane: lane as u8, value, changes: true });
                }
            }
        }
        if writes {
            self.lanes_of_one(by, &mut touched, "global", code);
        }
        let mut before: Option<Vec<LaneWord>> = None;
        for lane in &touched {
            let word = *self.words.word(lane.word);
            let Some(other) = self.conflict(by, lane, &word, writes) else { continue };
            // The written value may already be there.
            if writes {
                let before = before.get_or_insert_with(|| held(op, memory));
                let same = |held: &&LaneWord| held.word == lane.word && held.bytes == lane.bytes;
                if before.iter().find(same).is_some_and(|held| held.value == lane.value & ones(lane.bytes)) {
                    continue;
                }
            }
            self.report(by, lane, other, (writes, "global"), code);
        }
        for lane in &touched {
            let mut word = *self.words.word(lane.word);
            self.record(by, lane, &mut word, writes);
            *self.words.word(lane.word) = word;
        }
        self.touched = touched;
    }

    /// Checks a scalar access that is about to be made, one for all lanes. The compiler uses scalar accesses for memory
    /// that it knows the kernel's work-items not to write, so only conflicts with other wavefronts are reported.
    pub fn scalar(&mut self, by: Instruction, op: &ScalarOp, code: &Code) {
        if op.glc {
            return self.synchronise(by);
        }
        for number in (0..u64::from(op.words)).filter(|number| op.out_of_range >> number & 1 == 0) {
            let value = op.data[number as usize];
            let lane = LaneWord { word: op.address / 4 + number, bytes: 0xf, lane: 0, value, changes: true };
            let mut word = *self.words.word(lane.word);
            let other = self.conflict(by, &lane, &word, op.store).filter(|(other, _)| other.wave != self.number(by));
            if let Some(other) = other {
                self.report(by, &lane, other, (op.store, "global"), code);
            }
            self.record(by, &lane, &mut word, op.store);
            *self.words.word(lane.word) = word;
        }
    }

    /// Called when a wavefront makes an atomic access, which may synchronise it with other wavefronts.
    fn synchronise(&mut self, by: Instruction) {
        self.atomics = self.atomics.saturating_add(1);
        self.last_atomic.insert(self.number(by), self.atomics);
    }

    fn number(&self, by: Instruction) -> u32 {
        let number = by.group.wrapping_mul(self.waves.into()).wrapping_add(by.wave.into());
        (number as u32).wrapping_add(1)
    }

    /// Reports lanes of one instruction that write different values to one word.
    fn lanes_of_one(&mut self, by: Instruction, touched: &mut [LaneWord], space: &str, code: &Code) {
        touched.sort_by_key(|lane| lane.word);
        for number in 1..touched.len() {
            let [one, other] = [touched[number - 1], touched[number]];
            let both = ones(one.bytes & other.bytes);
            if one.word == other.word && one.lane != other.lane && (one.value ^ other.value) & both != 0 {
                let touch = (self.touch(by, &one), "writes another value to");
                self.report(by, &other, touch, (true, space), code);
            }
        }
    }

    /// An earlier access that is not ordered before this one, and what it did.
    fn conflict(&self, by: Instruction, lane: &LaneWord, word: &Word, writes: bool) -> Option<(Touch, &'static str)> {
        let unordered = |touch: &&Touch| touch.bytes & lane.bytes != 0 && self.is_unordered(touch, by, lane.lane);
        let write = Some(&word.write).filter(unordered).map(|touch| (*touch, "wrote"));
        let read = || word.reads.iter().filter(|_| writes).find(unordered).map(|touch| (*touch, "read"));
        write.or_else(read)
    }

    fn is_unordered(&self, touch: &Touch, by: Instruction, lane: u8) -> bool {
        let own = self.number(by);
        if touch.wave == 0 || touch.wave == own && (touch.lane == lane || !self.lanes) {
            return false;
        }
        if u64::from(touch.wave - 1) / u64::from(self.waves) == by.group && touch.epoch != by.epoch {
            return false;
        }
        let since = |wave: u32| self.last_atomic.get(&wave).is_some_and(|last| *last > touch.atomics);
        !(since(touch.wave) && since(own))
    }

    fn touch(&self, by: Instruction, lane: &LaneWord) -> Touch {
        Touch {
            wave: self.number(by),
            epoch: by.epoch,
            atomics: self.atomics,
            at: by.pc.wrapping_sub(self.start) as u32,
            lane: lane.lane,
            bytes: lane.bytes,
        }
    }

    fn record(&self, by: Instruction, lane: &LaneWord, word: &mut Word, writes: bool) {
        let touch = self.touch(by, lane);
        if writes {
            word.write = touch;
            return;
        }
        let [first, second] = &mut word.reads;
        let same = |other: &Touch| other.wave == touch.wave && other.lane == touch.lane;
        let (group, epoch) = (u64::from(touch.wave - 1) / u64::from(self.waves), touch.epoch);
        let over = |other: &Touch| {
            other.wave == 0 || u64::from(other.wave - 1) / u64::from(self.waves) == group && other.epoch != epoch
        };
        if same(first) || over(first) {
            *first = touch;
        } else {
            *second = touch;
        }
    }

    fn report(
        &mut self,
        by: Instruction,
        lane: &LaneWord,
        (other, did): (Touch, &str),
        (writes, space): (bool, &str),
        code: &Code,
    ) {
        let now = self.touch(by, lane);
        self.count += 1;
        if !self.reported.insert((other.at, now.at)) || self.found.len() == MOST {
            return;
        }
        let does = if writes { "writes" } else { "reads" };
        let address = 4 * lane.word + u64::from(lane.bytes.trailing_zeros());
        let told = format!(
            "kernel '{}': {} {does} {space} address {address:#x}, and {} {did} it: nothing orders them",
            self.dispatch.kernel().name,
            self.whom(&now, code),
            self.whom(&other, code),
        );
        self.found.push(told);
    }

    fn text(&self, touch: &Touch, code: &Code) -> String {
        match code.instruction(self.start + u64::from(touch.at)) {
            Some(Ok(inst)) => inst.to_string(),
            _ => "?".to_owned(),
        }
    }

    /// Describes a work-item: its location and its instruction.
    fn whom(&self, touch: &Touch, code: &Code) -> String {
        let number = u64::from(touch.wave - 1);
        let (group, wave) = (number / u64::from(self.waves), number % u64::from(self.waves));
        let [x, y, _] = self.dispatch.groups().map(u64::from);
        let group = [group % x, group / x % y, group / x / y];
        let flat = wave * u64::from(WAVEFRONT) + u64::from(touch.lane);
        let [sx, sy, _] = self.dispatch.group_size(group.map(|axis| axis as u32)).map(u64::from);
        let local = [flat % sx, flat / sx % sy, flat / sx / sy];
        let whole = self.dispatch.group().map(u64::from);
        let item: Vec<String> = (0..3).map(|axis| (group[axis] * whole[axis] + local[axis]).to_string()).collect();
        let pc = self.start + u64::from(touch.at);
        format!(
            "work-item ({}) (workgroup ({}, {}, {}), wavefront {wave}, lane {}) at +{:#x} `{}`",
            item.join(", "),
            group[0],
            group[1],
            group[2],
            touch.lane,
            pc.wrapping_sub(self.entry),
            self.text(touch, code),
        )
    }
}

/// The bytes of its word that an access at `address` touches, and the shift of its value.
fn part(address: u32, bytes: u32) -> (u8, u32) {
    let shift = address & 3;
    match bytes {
        1 => (1 << shift, 8 * shift),
        2 => (3 << shift & 0xf, 8 * shift),
        _ => (0xf, 0),
    }
}

/// The bit mask of these bytes.
fn ones(bytes: u8) -> u32 {
    (0..4).filter(|byte| bytes >> byte & 1 == 1).fold(0, |ones, byte| ones | 0xff << (8 * byte))
}

/// The words that an LDS access touches, row by row: lane and word number.
fn places(access: &LdsAccess) -> impl Iterator<Item = (usize, u32)> {
    let words = u32::from(access.bytes).div_ceil(4);
    let offsets = [Some(0), access.second].into_iter().flatten();
    let rows = offsets.flat_map(move |offset| (0..words).map(move |word| offset as u32 + 4 * word));
    rows.flat_map(move |offset| {
        active(access.mask).map(move |lane| (lane, access.addresses[lane].wrapping_add(offset) / 4))
    })
}

/// The current values at the addresses of a store; empty if they can't be read.
fn held(op: &MemOp, memory: &mut impl Immediate) -> Vec<LaneWord> {
    let mut load = MemOp { kind: Kind::Load, more: op.more.clone(), ..op.clone() };
    load.data.iter_mut().for_each(|row| *row = Row::default());
    let mut all = Vec::new();
    if memory.perform(&mut load).is_err() {
        return all;
    }
    let places = std::iter::once(&load.addresses).chain(&load.more);
    for (place, addresses) in places.enumerate() {
        for element in 0..usize::from(load.elements) {
            let Some(row) = load.data.get(place * usize::from(load.elements) + element) else { continue };
            for lane in active(load.mask) {
                let address = addresses[lane].wrapping_add(element as u64 * u64::from(load.stride));
                let (bytes, shift) = part(address as u32, load.element_bytes.into());
                let value = row[lane] << shift & ones(bytes);
                all.push(LaneWord { word: address / 4, bytes, lane: lane as u8, value, changes: false });
            }
        }
    }
    all
}
