//! Areas: address ranges with their access rights and backing (the VMAs of Linux).

use super::{
    PAGE,
    gaps::{Gap, Gaps},
};
use crate::state::{Read, Reader, State, Unreadable, state};
use std::{collections::BTreeMap, fmt, io, ops::Bound, rc::Rc};

/// The access rights of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(u8);

state!(tuple Rights);

impl Rights {
    pub const NONE: Rights = Rights(0);
    pub const READ: Rights = Rights(1);
    pub const READ_WRITE: Rights = Rights(3);
    pub const READ_EXECUTE: Rights = Rights(5);

    /// From the PROT_ bits of `mmap` and `mprotect`; none if other bits are set.
    pub fn from_prot(prot: u64) -> Option<Rights> {
        (prot < 8).then_some(Rights(prot as u8))
    }

    /// Whether the page can be read: x86-64 can't forbid reading a page that may be written or executed.
    pub fn any(self) -> bool {
        self.0 != 0
    }

    pub fn write(self) -> bool {
        self.0 & 2 != 0
    }

    pub fn execute(self) -> bool {
        self.0 & 4 != 0
    }
}

impl fmt::Display for Rights {
    /// The format of `/proc/self/maps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |bit, letter| if self.0 & bit != 0 { letter } else { '-' };
        write!(f, "{}{}{}", letter(1, 'r'), letter(2, 'w'), letter(4, 'x'))
    }
}

/// A file that fills mapped pages.
pub trait MappedFile {
    /// Reads at an offset; returns fewer bytes than requested only at the end of the file.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;
    /// Its path as the program knows it.
    fn path(&self) -> &str;
}

/// The initial contents of an area's pages.
#[derive(Clone)]
pub enum Backing {
    /// Zeros. The name is what `/proc/self/maps` shows.
    Zeros(&'static str),
    /// The file's bytes, from `offset` at the start of the area. Writes are private to the program.
    File { file: Rc<dyn MappedFile>, offset: u64 },
}

impl Backing {
    /// The backing of the part that begins `distance` bytes further on.
    fn advanced(&self, distance: u64) -> Backing {
        match self {
            Backing::Zeros(name) => Backing::Zeros(name),
            Backing::File { file, offset } => Backing::File { file: file.clone(), offset: offset + distance },
        }
    }

    fn continues(&self, distance: u64, next: &Backing) -> bool {
        match (self, next) {
            (Backing::Zeros(a), Backing::Zeros(b)) => a == b,
            (Backing::File { file: a, offset: from }, Backing::File { file: b, offset: to }) => {
                Rc::ptr_eq(a, b) && from + distance == *to
            }
            _ => false,
        }
    }
}

/// An address range with uniform attributes. Its start is its key in [`Areas`].
#[derive(Clone)]
pub struct Area {
    pub end: u64,
    pub rights: Rights,
    pub backing: Backing,
    pub shared: bool,
    /// The program asked for huge pages here.
    pub huge: bool,
}

/// The names of areas of zeros.
const NAMES: [&str; 4] = ["", "program", "[heap]", "[stack]"];

impl State for Area {
    /// Areas of files can't be saved ([`Areas::file`]).
    fn save(&self, to: &mut Vec<u8>) {
        let Self { end, rights, backing, shared, huge } = self;
        let Backing::Zeros(name) = backing else { unreachable!("processes that map files are refused") };
        ((*end, *rights), (*shared, *huge)).save(to);
        NAMES.iter().position(|other| other == name).expect("every name is listed").save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let ((end, rights), (shared, huge)) = State::load(from)?;
        let name = NAMES.get(usize::load(from)?).ok_or_else(|| Unreadable::new("an area without a name"))?;
        Ok(Self { end, rights, backing: Backing::Zeros(name), shared, huge })
    }
}

/// All areas of a process; they don't overlap.
#[derive(Default)]
pub struct Areas {
    areas: BTreeMap<u64, Area>,
    gaps: Gaps,
}

impl Areas {
    /// The area that contains an address, with its start.
    pub fn find(&self, address: u64) -> Option<(u64, &Area)> {
        let (start, area) = self.areas.range(..=address).next_back()?;
        (address < area.end).then_some((*start, area))
    }

    /// The areas that overlap a range, each with its start.
    pub fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, &Area)> {
        let first = self.find(start).map_or(start, |(start, _)| start);
        let end = end.max(first);
        self.areas.range((Bound::Included(first), Bound::Excluded(end))).map(|(start, area)| (*start, area))
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Area)> {
        self.areas.iter().map(|(start, area)| (*start, area))
    }

    /// The path of a file that is mapped.
    pub fn file(&self) -> Option<&str> {
        self.areas.values().find_map(|area| match &area.backing {
            Backing::File { file, .. } => Some(file.path()),
            Backing::Zeros(_) => None,
        })
    }

    pub fn save(&self, to: &mut Vec<u8>) {
        self.areas.save(to);
    }

    pub fn load(from: &mut Reader) -> Read<Self> {
        let mut loaded = Self::default();
        for (start, area) in BTreeMap::<u64, Area>::load(from)? {
            if start >= area.end || !start.is_multiple_of(PAGE) || !loaded.free(start, area.end) {
                return Err(Unreadable::new("areas that overlap"));
            }
            loaded.gaps.occupy(start, area.end);
            loaded.areas.insert(start, area);
        }
        Ok(loaded)
    }

    /// The number of areas.
    pub fn count(&self) -> usize {
        self.areas.len()
    }

    /// Whether areas cover a range without a gap.
    pub fn cover(&self, start: u64, end: u64) -> bool {
        let mut at = start;
        while at < end {
            match self.find(at) {
                Some((_, area)) => at = area.end,
                None => return false,
            }
        }
        true
    }

    /// Whether no area overlaps a range.
    pub fn free(&self, start: u64, end: u64) -> bool {
        self.within(start, end).next().is_none()
    }

    /// The highest free range of `size` bytes between two addresses, aligned to `align`.
    pub fn highest_free(&self, size: u64, align: u64, lowest: u64, highest: u64) -> Option<u64> {
        let fits = |gap: Gap| {
            let start = gap.end.min(highest).checked_sub(size)? & !(align - 1);
            (start >= gap.start.max(lowest)).then_some(start)
        };
        self.gaps.highest(size, highest, &fits)
    }

    /// Inserts an area into a free range, and merges it with neighbours that have the same attributes.
    pub fn insert(&mut self, start: u64, area: Area) {
        debug_assert!(self.free(start, area.end) && start < area.end && start.is_multiple_of(PAGE));
        let end = area.end;
        self.gaps.occupy(start, end);
        self.areas.insert(start, area);
        self.join(end);
        self.join(start);
    }

    /// Removes all areas, or parts of areas, in a range.
    pub fn remove(&mut self, start: u64, end: u64) {
        self.cut(start, end);
        let inside: Vec<u64> = self.areas.range(start..end).map(|(start, _)| *start).collect();
        for start in inside {
            self.areas.remove(&start);
        }
        if start < end {
            self.gaps.release(start, end);
        }
    }

    /// Changes all areas in a range.
    pub fn change(&mut self, start: u64, end: u64, change: impl Fn(&mut Area)) {
        self.cut(start, end);
        let inside: Vec<u64> = self.areas.range(start..end).map(|(start, _)| *start).collect();
        for (_, area) in self.areas.range_mut(start..end) {
            change(area);
        }
        self.join(end);
        for start in inside.into_iter().rev() {
            self.join(start);
        }
    }

    /// Splits areas so that `start` and `end` are borders.
    fn cut(&mut self, start: u64, end: u64) {
        for border in [start, end] {
            let Some((begin, area)) = self.find(border) else { continue };
            if begin < border {
                let upper = Area { backing: area.backing.advanced(border - begin), ..area.clone() };
                self.areas.get_mut(&begin).expect("it was found just now").end = border;
                self.areas.insert(border, upper);
            }
        }
    }

    /// Merges the areas on both sides of a border, if their attributes are equal.
    fn join(&mut self, border: u64) {
        let Some((below_start, below)) = self.areas.range(..border).next_back() else { return };
        let Some(above) = self.areas.get(&border) else { return };
        let alike = below.end == border
            && below.rights == above.rights
            && below.shared == above.shared
            && below.huge == above.huge
            && below.backing.continues(border - below_start, &above.backing);
        if alike {
            let (below_start, end) = (*below_start, above.end);
            self.areas.remove(&border);
            self.areas.get_mut(&below_start).expect("it was found just now").end = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(end: u64, rights: Rights) -> Area {
        Area { end, rights, backing: Backing::Zeros(""), shared: false, huge: false }
    }

    #[test]
    fn changing_the_middle_of_an_area_makes_three_and_changing_it_back_makes_one() {
        let mut areas = Areas::default();
        areas.insert(0x1000, zeros(0x9000, Rights::READ_WRITE));
        areas.change(0x3000, 0x5000, |area| area.rights = Rights::NONE);
        let ranges: Vec<_> = areas.iter().map(|(start, area)| (start, area.end)).collect();
        assert_eq!(ranges, [(0x1000, 0x3000), (0x3000, 0x5000), (0x5000, 0x9000)]);
        areas.change(0x3000, 0x5000, |area| area.rights = Rights::READ_WRITE);
        assert_eq!(areas.count(), 1);
    }

    #[test]
    fn the_highest_gap_that_fits_is_found() {
        let mut areas = Areas::default();
        areas.insert(0x8000, zeros(0x9000, Rights::READ));
        areas.insert(0x5000, zeros(0x6000, Rights::READ));
        assert_eq!(areas.highest_free(0x1000, 0x1000, 0x1000, 0x9000), Some(0x7000));
        assert_eq!(areas.highest_free(0x3000, 0x1000, 0x1000, 0x9000), Some(0x2000));
        assert_eq!(areas.highest_free(0x3000, 0x4000, 0x0, 0x9000), Some(0x0));
        assert_eq!(areas.highest_free(0x5000, 0x1000, 0x1000, 0x9000), None);
    }

    #[test]
    fn removing_a_range_leaves_what_lies_around_it() {
        let mut areas = Areas::default();
        areas.insert(0x1000, zeros(0x4000, Rights::READ));
        areas.remove(0x2000, 0x3000);
        assert!(areas.cover(0x1000, 0x2000) && areas.free(0x2000, 0x3000) && areas.cover(0x3000, 0x4000));
        assert!(!areas.cover(0x1000, 0x4000));
    }
}
