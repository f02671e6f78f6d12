//! How addresses are interleaved over several owners, and where an address lies within its owner's share.
//!
//! Pages interleaved over GPUs, and lines over the banks of each GPU, are a deal of pages over deals of lines. The
//! inner deal sees the addresses of its GPU packed, as if there were no other GPU.

use crate::{PhysAddr, ZONE};

/// The owners of addresses: one for all, or several that get `stride` bytes each in turn. Each of those may interleave
/// its share over owners of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interleave<T> {
    One(T),
    Deal {
        stride: Stride,
        over: Vec<Interleave<T>>,
    },
    /// Selects as in a deal, but passes the address on unpacked: the inner interleavings cover all addresses.
    Choice {
        stride: Stride,
        over: Vec<Interleave<T>>,
    },
}

/// Number of consecutive bytes that go to one owner before the next owner's turn: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stride(u8);

impl Stride {
    /// # Panics
    ///
    /// If `bytes` is not a power of two.
    pub const fn of(bytes: u64) -> Self {
        assert!(bytes.is_power_of_two(), "a stride is a power of two");
        Self(bytes.trailing_zeros() as u8)
    }

    pub const fn bytes(self) -> u64 {
        1 << self.0
    }

    /// The address packed as its owner sees it, and the number of that owner, of `owners`.
    #[inline]
    pub const fn split(self, address: u64, owners: u64) -> (u64, u64) {
        let (turn, within) = (address >> self.0, address & (self.bytes() - 1));
        let (round, number) = match owners.is_power_of_two() {
            true => (turn >> owners.trailing_zeros(), turn & (owners - 1)),
            false => (turn / owners, turn % owners),
        };
        (round << self.0 | within, number)
    }
}

impl<T> Interleave<T> {
    /// Interleaves `stride` bytes over each owner in turn.
    pub fn deal(stride: Stride, owners: impl IntoIterator<Item = T>) -> Self {
        let mut over: Vec<Self> = owners.into_iter().map(Self::One).collect();
        if over.len() == 1 { over.remove(0) } else { Self::Deal { stride, over } }
    }

    /// One owner for each memory with addresses of its own ([`Zone`](crate::Zone)).
    pub fn of_zones(mut zones: Vec<Self>) -> Self {
        if zones.len() == 1 { zones.remove(0) } else { Self::Deal { stride: Stride::of(ZONE), over: zones } }
    }

    /// The owner of an address.
    #[inline]
    pub fn of(&self, address: u64) -> &T {
        let (mut all, mut address) = (self, address);
        loop {
            match all {
                Self::One(owner) => return owner,
                Self::Deal { stride, over } => {
                    let (packed, number) = stride.split(address, over.len() as u64);
                    (all, address) = (&over[number as usize], packed);
                }
                Self::Choice { stride, over } => {
                    let (_, number) = stride.split(address, over.len() as u64);
                    all = &over[number as usize];
                }
            }
        }
    }

    /// Every owner with its share, in the order of the interleaving.
    ///
    /// # Panics
    ///
    /// If there is a [`Choice`](Self::Choice): its owners have no share that can be stated.
    pub fn shares(&self) -> Vec<(&T, Share)> {
        match self {
            Self::One(owner) => vec![(owner, Share::ALL)],
            Self::Deal { stride, over } => {
                let mut shares = Vec::new();
                for (number, inner) in over.iter().enumerate() {
                    let turn = Turn { stride: *stride, number: number as u64, of: over.len() as u64 };
                    shares.extend(inner.shares().into_iter().map(|(owner, share)| (owner, share.within(turn))));
                }
                shares
            }
            Self::Choice { .. } => unreachable!("a choice deals nothing out"),
        }
    }

    /// Every owner, in the order of the interleaving. An owner that appears several times is returned as often.
    pub fn owners(&self) -> impl Iterator<Item = &T> {
        fn add<'a, T>(from: &'a Interleave<T>, owners: &mut Vec<&'a T>) {
            match from {
                Interleave::One(owner) => owners.push(owner),
                Interleave::Deal { over, .. } | Interleave::Choice { over, .. } => {
                    over.iter().for_each(|inner| add(inner, owners));
                }
            }
        }
        let mut owners = Vec::new();
        add(self, &mut owners);
        owners.into_iter()
    }

    /// The same interleaving over other owners.
    pub fn map<U>(&self, owner: &impl Fn(&T) -> U) -> Interleave<U> {
        let inner = |over: &[Self]| over.iter().map(|inner| inner.map(owner)).collect();
        match self {
            Self::One(own) => Interleave::One(owner(own)),
            Self::Deal { stride, over } => Interleave::Deal { stride: *stride, over: inner(over) },
            Self::Choice { stride, over } => Interleave::Choice { stride: *stride, over: inner(over) },
        }
    }
}

/// One owner's turn in a deal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    stride: Stride,
    number: u64,
    of: u64,
}

/// The addresses that belong to one owner. Within the owner they are packed without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The outermost deal first; only the first `deals` entries are used.
    turns: [Turn; Share::DEEPEST],
    deals: u8,
}

impl Share {
    /// Maximum number of nested deals: stacks, channels of a stack, banks of a channel.
    const DEEPEST: usize = 3;

    /// All addresses.
    pub const ALL: Self = Self { turns: [Turn { stride: Stride(0), number: 0, of: 1 }; Self::DEEPEST], deals: 0 };

    /// The share of owner `number` of `owners`.
    pub const fn of(stride: Stride, number: u64, owners: u64) -> Self {
        match owners {
            1 => Self::ALL,
            _ => Self::ALL.within(Turn { stride, number, of: owners }),
        }
    }

    /// This share within the share of an owner of an outer deal.
    const fn within(self, turn: Turn) -> Self {
        assert!((self.deals as usize) < Self::DEEPEST, "deals lie too deep in each other");
        let [first, second, _] = self.turns;
        Self { turns: [turn, first, second], deals: self.deals + 1 }
    }

    /// The packed address, within this share, of one of its addresses.
    #[inline]
    pub fn inside(&self, address: PhysAddr) -> PhysAddr {
        let turns = &self.turns[..self.deals as usize];
        PhysAddr(turns.iter().fold(address.0, |address, turn| turn.stride.split(address, turn.of).0))
    }

    /// The address outside of a packed address within this share.
    pub fn outside(&self, inside: PhysAddr) -> PhysAddr {
        let unpack = |inside: u64, Turn { stride, number, of }: &Turn| {
            let (round, within) = (inside >> stride.0, inside & (stride.bytes() - 1));
            (round * of + number) << stride.0 | within
        };
        PhysAddr(self.turns[..self.deals as usize].iter().rev().fold(inside.0, unpack))
    }

    /// Number of consecutive bytes that are consecutive both within the share and outside; `None` if nothing is
    /// interleaved.
    pub fn run(&self) -> Option<u64> {
        self.turns[..self.deals as usize].iter().map(|turn| turn.stride.bytes()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_packs_its_bytes_and_finds_them_again() {
        let share = Share::of(Stride::of(128), 3, 16);
        let addresses = [3 * 128, 3 * 128 + 127, 19 * 128 + 64, (5 * 16 + 3) * 128];
        let inside = addresses.map(|address| share.inside(PhysAddr(address)).0);
        assert_eq!(inside, [0, 127, 128 + 64, 5 * 128]);
        assert_eq!(inside.map(|address| share.outside(PhysAddr(address)).0), addresses);
    }

    #[test]
    fn pages_go_to_gpus_and_lines_of_a_page_to_banks() {
        let banks = |gpu: u32| Interleave::deal(Stride::of(128), (0..4).map(move |bank| (gpu, bank)));
        let all = Interleave::Deal { stride: Stride::of(4096), over: (0..3).map(banks).collect() };
        assert_eq!((*all.of(0), *all.of(127), *all.of(128), *all.of(3 * 128)), ((0, 0), (0, 0), (0, 1), (0, 3)));
        assert_eq!((*all.of(4096), *all.of(2 * 4096 + 640), *all.of(3 * 4096 + 128)), ((1, 0), (2, 1), (0, 1)));
    }

    #[test]
    fn every_address_has_one_owner_and_can_be_recovered_from_its_share() {
        for (gpus, banks) in [(1, 1), (1, 3), (2, 4), (3, 5)] {
            let of_gpu = |gpu| Interleave::deal(Stride::of(64), (0..banks).map(move |bank| (gpu, bank)));
            let all = Interleave::Deal { stride: Stride::of(256), over: (0..gpus).map(of_gpu).collect() };
            let shares = all.shares();
            assert_eq!(shares.len(), gpus * banks);
            let mut packed = vec![Vec::new(); shares.len()];
            for address in (0..64 * 64).step_by(32) {
                let owner = shares.iter().position(|(owner, _)| *owner == all.of(address)).unwrap();
                let inside = shares[owner].1.inside(PhysAddr(address));
                assert_eq!(shares[owner].1.outside(inside), PhysAddr(address));
                packed[owner].push(inside.0);
            }
            for mut inside in packed {
                inside.sort_unstable();
                inside.dedup();
                assert!(
                    inside.iter().enumerate().all(|(n, at)| *at <= 32 * (n as u64 + 8)),
                    "{gpus} {banks}: {inside:?}"
                );
            }
        }
    }

    #[test]
    fn zones_are_dealt_apart_and_a_choice_does_not_pack() {
        let zone = |zone: u32, channels: u32| Interleave::deal(Stride::of(64), (0..channels).map(move |n| (zone, n)));
        let all = Interleave::of_zones(vec![zone(0, 3), zone(1, 2)]);
        assert_eq!((*all.of(4 * 64), *all.of(ZONE + 4 * 64), *all.of(ZONE + 64)), ((0, 1), (1, 0), (1, 1)));
        assert_eq!(all.shares()[4].1.inside(PhysAddr(ZONE + 64 * 3)), PhysAddr(64));
        let channels = || zone(0, 4);
        let of_gpus = Interleave::Choice { stride: Stride::of(64), over: vec![channels(), Interleave::One((9, 9))] };
        assert_eq!((*of_gpus.of(64), *of_gpus.of(2 * 64), *of_gpus.of(4 * 64)), ((9, 9), (0, 2), (0, 0)));
        assert_eq!(of_gpus.owners().count(), 5);
        assert_eq!(all.map(&|(zone, n)| zone * 10 + n).owners().copied().collect::<Vec<_>>(), [0, 1, 2, 10, 11]);
    }

    #[test]
    fn one_owner_has_every_address_as_it_is() {
        let all = Interleave::deal(Stride::of(64), ["only"]);
        assert_eq!((all.of(12345), all.shares()), (&"only", vec![(&"only", Share::ALL)]));
        assert_eq!((Share::ALL.inside(PhysAddr(77)), Share::ALL.run()), (PhysAddr(77), None));
    }
}
