//! Which thread runs which partitions: decided before the run, by the weights that the model states.
//!
//! Partitions are assigned in order of decreasing weight, each to the thread with the least work so far. Groups of
//! partitions that only long links connect ([`Share::group`]) are kept apart if that costs little balance: the threads
//! form teams of whole groups, and threads of different teams rarely wait for each other. A thread that has several
//! groups to itself runs one of them to the end of a round before it turns to the next ([`Seating`]), which makes good
//! use of the host's caches.

use std::cmp::Reverse;

/// A partition's share of the work, and the group of partitions with which it communicates often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The amount of work, relative to other partitions.
    pub weight: u64,
    /// Partitions of one group synchronise as often as the links between them demand. Partitions of different groups
    /// synchronise once per latency of the shortest link between groups, or per [control
    /// delay](crate::Model::control_delay), whichever is less.
    pub group: usize,
}

impl Default for Share {
    fn default() -> Share {
        Share { weight: 1, group: 0 }
    }
}

/// The partitions of a thread, by number.
pub(crate) type Hand = Vec<usize>;

/// For each team, the partitions of each of its threads.
pub(crate) type Teams = Vec<Vec<Hand>>;

/// Teams that keep groups apart may give their busiest thread up to one eighth more work than a single team would.
const PRICE: u64 = 8;

/// A thread's part in a team.
pub(crate) struct Seat {
    pub(crate) team: usize,
    /// The number of the thread within the team.
    pub(crate) number: usize,
    pub(crate) hand: Hand,
}

/// The teams of a run, and the teams in which each thread has a part.
pub(crate) struct Seating {
    /// The number of threads in each team.
    pub(crate) teams: Vec<usize>,
    pub(crate) threads: Vec<Vec<Seat>>,
}

impl Seating {
    /// Every thread has a seat in one team only.
    pub(crate) fn whole(teams: Teams) -> Seating {
        let mut seating = Seating { teams: Vec::new(), threads: Vec::new() };
        teams.into_iter().for_each(|hands| seating.add(hands));
        seating
    }

    /// Variant of [`whole`](Self::whole) that splits a team of one thread into a team for each of its groups.
    pub(crate) fn by_group(shares: &[Share], teams: Teams) -> Seating {
        let mut seating = Seating { teams: Vec::new(), threads: Vec::new() };
        for hands in teams {
            let groups = match &hands[..] {
                [hand] => groups(shares, hand.iter().copied()),
                _ => Vec::new(),
            };
            if groups.len() < 2 {
                seating.add(hands);
                continue;
            }
            let first = seating.teams.len();
            seating.teams.resize(first + groups.len(), 1);
            let seats = (first..).zip(groups).map(|(team, hand)| Seat { team, number: 0, hand });
            seating.threads.push(seats.collect());
        }
        seating
    }

    fn add(&mut self, hands: Vec<Hand>) {
        let team = self.teams.len();
        self.teams.push(hands.len());
        let seats = hands.into_iter().enumerate().map(|(number, hand)| vec![Seat { team, number, hand }]);
        self.threads.extend(seats);
    }

    /// The thread with the least work; of several, the last.
    pub(crate) fn least_busy(&self, shares: &[Share]) -> usize {
        let load = |seats: &Vec<Seat>| seats.iter().map(|seat| weight(shares, &seat.hand)).fold(0, u64::saturating_add);
        let threads = self.threads.iter().enumerate().map(|(thread, seats)| (load(seats), Reverse(thread)));
        threads.min().map_or(0, |(_, Reverse(thread))| thread)
    }
}

/// Deals partitions over at most `threads` threads.
pub(crate) fn deal(shares: &[Share], threads: usize) -> Teams {
    let groups = groups(shares, 0..shares.len());
    let single = one_team(shares, threads);
    let limit = busiest(shares, &single).saturating_mul(PRICE + 1) / PRICE;
    let most = groups.len().min(threads);
    let apart = (2..=most).rev().map(|teams| several_teams(shares, &groups, threads, teams));
    apart.into_iter().find(|teams| busiest(shares, teams) <= limit).unwrap_or(single)
}

/// Deals partitions over at most `threads` threads that form one team.
pub(crate) fn one_team(shares: &[Share], threads: usize) -> Teams {
    let all: Hand = (0..shares.len()).collect();
    vec![team(shares, all, threads)]
}

/// The hands of all threads, in order.
fn hands(teams: &Teams) -> impl Iterator<Item = &Hand> {
    teams.iter().flatten()
}

/// The total weight of a hand.
fn weight(shares: &[Share], hand: &[usize]) -> u64 {
    hand.iter().fold(0, |sum, partition| shares[*partition].weight.saturating_add(sum))
}

fn busiest(shares: &[Share], teams: &Teams) -> u64 {
    hands(teams).map(|hand| weight(shares, hand)).max().unwrap_or(0)
}

/// The given partitions, by group.
fn groups(shares: &[Share], partitions: impl IntoIterator<Item = usize>) -> Vec<Hand> {
    let mut groups = std::collections::BTreeMap::<usize, Hand>::new();
    for partition in partitions {
        groups.entry(shares[partition].group).or_default().push(partition);
    }
    groups.into_values().collect()
}

/// Deals whole groups to `teams` teams, each with its part of the threads. Left-over threads go to the first teams,
/// which have the most work.
fn several_teams(shares: &[Share], groups: &[Hand], threads: usize, teams: usize) -> Teams {
    let weights: Vec<u64> = groups.iter().map(|group| weight(shares, group)).collect();
    let mut dealt: Vec<Hand> = largest_first(&weights, teams)
        .into_iter()
        .map(|hand| hand.into_iter().flat_map(|group| groups[group].clone()).collect())
        .collect();
    dealt.sort_by_key(|hand: &Hand| Reverse(weight(shares, hand)));
    let threads_of = |number: usize| threads / teams + usize::from(number < threads % teams);
    dealt.into_iter().enumerate().map(|(number, hand)| team(shares, hand, threads_of(number))).collect()
}

/// Deals the partitions of a team over its threads. Uses no more threads than there are partitions.
fn team(shares: &[Share], partitions: Hand, threads: usize) -> Vec<Hand> {
    let weights: Vec<u64> = partitions.iter().map(|partition| shares[*partition].weight).collect();
    let dealt = largest_first(&weights, threads.clamp(1, partitions.len().max(1)));
    dealt.into_iter().map(|hand| hand.into_iter().map(|at| partitions[at]).collect()).collect()
}

/// Deals weights into hands: the largest first, each to the hand with the least total. Equal weights keep their order.
fn largest_first(weights: &[u64], hands: usize) -> Vec<Hand> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| Reverse(weights[*at]));
    let mut dealt: Vec<(u64, Hand)> = vec![(0, Vec::new()); hands];
    for at in order {
        let least = dealt.iter_mut().min_by_key(|(load, hand)| (*load, hand.len()));
        let (load, hand) = least.expect("there is a thread");
        *load = load.saturating_add(weights[at]);
        hand.push(at);
    }
    dealt.iter_mut().for_each(|(_, hand)| hand.sort_unstable());
    dealt.into_iter().map(|(_, hand)| hand).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(weights: &[u64]) -> Vec<Share> {
        weights.iter().map(|weight| Share { weight: *weight, group: 0 }).collect()
    }

    #[test]
    fn equal_partitions_are_dealt_in_turn() {
        assert_eq!(deal(&weights(&[1; 7]), 3), [[vec![0, 3, 6], vec![1, 4], vec![2, 5]]]);
        assert_eq!(deal(&weights(&[0; 4]), 2), [[vec![0, 2], vec![1, 3]]]);
    }

    #[test]
    fn the_heaviest_partitions_are_assigned_first_to_the_least_loaded_thread() {
        assert_eq!(deal(&weights(&[1, 1, 6, 1, 3, 2]), 2), [[vec![1, 2], vec![0, 3, 4, 5]]]);
        assert_eq!(deal(&weights(&[5, 1, 1]), 8), [[vec![0], vec![1], vec![2]]], "no more threads than partitions");
    }

    #[test]
    fn groups_stay_together_where_that_costs_little() {
        // A host and four GPUs of three partitions each.
        let share = |partition: usize| Share { weight: 4, group: partition.div_ceil(3) };
        let shares: Vec<Share> = (0..13).map(|n| Share { weight: if n == 0 { 1 } else { 4 }, ..share(n) }).collect();
        let teams = deal(&shares, 4);
        assert_eq!(teams.len(), 4, "the host goes with a GPU: {teams:?}");
        assert!(teams.iter().all(|team| team.len() == 1));
        let teams = deal(&shares, 12);
        assert_eq!(teams.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3, 3], "{teams:?}");
        // Three threads for four equal groups: with whole groups, one thread would have twice the work of the others.
        let teams = deal(&shares[1..], 3);
        assert_eq!(teams.len(), 1, "{teams:?}");
    }

    #[test]
    fn a_thread_with_several_groups_to_itself_has_a_team_for_each() {
        let shares: Vec<Share> = (0..5).map(|n| Share { weight: 1, group: n / 2 }).collect();
        let hands = |seating: &Seating| -> Vec<Vec<(usize, usize, Hand)>> {
            let seat = |seat: &Seat| (seat.team, seat.number, seat.hand.clone());
            seating.threads.iter().map(|seats| seats.iter().map(seat).collect()).collect()
        };
        let alone = Seating::by_group(&shares, one_team(&shares, 1));
        assert_eq!(alone.teams, [1, 1, 1]);
        assert_eq!(hands(&alone), [[(0, 0, vec![0, 1]), (1, 0, vec![2, 3]), (2, 0, vec![4])]]);
        let together = Seating::by_group(&shares, one_team(&shares, 2));
        assert_eq!(together.teams, [2], "two threads that share groups run them window by window");
        assert_eq!(hands(&together), [[(0, 0, vec![0, 2, 4])], [(0, 1, vec![1, 3])]]);
        assert_eq!(Seating::whole(one_team(&shares, 1)).teams, [1]);
        assert_eq!(together.least_busy(&shares), 1);
    }

    #[test]
    fn every_partition_is_dealt_once() {
        let shares: Vec<Share> =
            (0..40).map(|n| Share { weight: n * 7919 % 13, group: (n * 31 % 5) as usize }).collect();
        for threads in 1..50 {
            let teams = deal(&shares, threads);
            let mut all: Hand = hands(&teams).flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..40).collect::<Hand>());
            assert!(hands(&teams).count() <= threads && hands(&teams).all(|hand| !hand.is_empty()));
            let in_team = |team: &Vec<Hand>, group| team.iter().flatten().any(|n| shares[*n].group == group);
            for group in 0..5 {
                assert_eq!(teams.iter().filter(|team| in_team(team, group)).count(), 1, "a group is in one team");
            }
        }
    }
}
