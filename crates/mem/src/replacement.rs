//! Replacement policies: which entry of a set is evicted when space is needed.
//!
//! A policy lists the ways of a set in order of preference, and the element evicts the first one that it can. LRU is
//! exact. Tree pseudo-LRU keeps one bit for each pair of halves, which points away from the half used last (the number
//! of ways must be a power of two). Random uses a fixed seed, so that a run can be repeated.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replacement {
    #[default]
    Lru,
    /// Tree pseudo-LRU.
    Plru,
    Random,
}

impl FromStr for Replacement {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "lru" => Ok(Self::Lru),
            "plru" => Ok(Self::Plru),
            "random" => Ok(Self::Random),
            other => Err(format!("'{other}' is not a replacement policy: use lru, plru (a tree) or random")),
        }
    }
}

/// The history that a policy keeps for all sets.
pub(crate) enum History {
    /// For each way, the number of its last use, counted over all uses.
    Lru {
        used: Vec<u64>,
        uses: u64,
    },
    /// The bits of each set's tree: node n has the children 2n and 2n + 1, and a set bit points to the second.
    Plru {
        trees: Vec<u64>,
    },
    Random {
        state: u64,
    },
}

/// The ways of a set in the order in which they should be evicted.
pub struct Victims {
    first: usize,
    ways: usize,
    /// Number of ways returned so far, and the last of them.
    named: usize,
    last: usize,
}

impl History {
    pub fn new(policy: Replacement, sets: usize, ways: usize) -> Self {
        match policy {
            Replacement::Lru => Self::Lru { used: vec![0; sets * ways], uses: 0 },
            Replacement::Plru => Self::Plru { trees: vec![0; sets] },
            Replacement::Random => Self::Random { state: 0x9e37_79b9_7f4a_7c15 },
        }
    }

    /// Records a use of a way; ways are numbered across all sets.
    #[inline]
    pub fn touch(&mut self, way: usize, ways: usize) {
        match self {
            Self::Lru { used, uses } => {
                *uses += 1;
                used[way] = *uses;
            }
            Self::Plru { trees } => {
                let (tree, mut node, place) = (&mut trees[way / ways], 1, way % ways);
                for level in (0..ways.trailing_zeros()).rev() {
                    let second = place >> level & 1;
                    *tree = *tree & !(1 << node) | (1 - second as u64) << node;
                    node = 2 * node + second;
                }
            }
            Self::Random { .. } => {}
        }
    }

    /// Starts listing the ways of the set whose first way is `first`.
    pub fn victims(&self, first: usize, ways: usize) -> Victims {
        Victims { first, ways, named: 0, last: 0 }
    }

    /// The next way to evict, if one is left.
    pub fn next(&mut self, victims: &mut Victims) -> Option<usize> {
        let Victims { first, ways, named, last } = *victims;
        if named == ways {
            return None;
        }
        let way = match self {
            Self::Lru { used, .. } if named == 0 => {
                (first..).zip(&used[first..first + ways]).min_by_key(|(_, used)| **used)?.0
            }
            Self::Lru { used, .. } => {
                let after = used[last];
                (first..first + ways).filter(|way| used[*way] > after).min_by_key(|way| used[*way])?
            }
            // After the preferred victim come the ways that follow it, wrapping around the set.
            _ if named > 0 => first + (last - first + 1) % ways,
            Self::Plru { trees } => {
                let mut node = 1;
                while node < ways {
                    node = 2 * node + (trees[first / ways] >> node & 1) as usize;
                }
                first + node - ways
            }
            Self::Random { state } => {
                // Marsaglia's xorshift.
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                first + (*state >> 33) as usize % ways
            }
        };
        (victims.named, victims.last) = (named + 1, way);
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(history: &mut History, set: usize) -> Vec<usize> {
        let mut victims = history.victims(4 * set, 4);
        std::iter::from_fn(|| history.next(&mut victims)).collect()
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut history = History::new(Replacement::Lru, 2, 4);
        [4, 5, 6, 7, 4, 6].into_iter().for_each(|way| history.touch(way, 4));
        assert_eq!(order(&mut history, 1), [5, 7, 4, 6]);
    }

    #[test]
    fn a_tree_points_away_from_the_half_used_last() {
        let mut history = History::new(Replacement::Plru, 2, 4);
        [4, 5, 6, 7, 4].into_iter().for_each(|way| history.touch(way, 4));
        // Exact LRU would evict way 5 now; the tree only knows that the first half was used last.
        assert_eq!(order(&mut history, 1), [6, 7, 4, 5]);
        assert_eq!(order(&mut history, 0), [0, 1, 2, 3]);
    }

    #[test]
    fn random_names_each_way_once_and_is_the_same_in_every_run() {
        let draw = || {
            let mut history = History::new(Replacement::Random, 1, 4);
            (0..32).map(|_| order(&mut history, 0)).collect::<Vec<_>>()
        };
        let drawn = draw();
        assert_eq!(drawn, draw());
        for way in 0..4 {
            assert!(drawn.iter().any(|order| order[0] == way), "way {way} is never the first to go");
        }
        assert!(drawn.iter().all(|order| (0..4).all(|way| order.contains(&way))));
    }

    #[test]
    fn a_policy_that_does_not_exist_is_refused() {
        assert!("mru".parse::<Replacement>().is_err_and(|why| why.contains("plru")));
    }
}
