//! The nodes above a directory, and their numbers in its records.

use crate::{Node, Sharers};

/// The members of a group of nodes, numbered from 0. A directory records sharers by these numbers, so only the number
/// of members is limited ([`Sharers::MOST`]), not their node numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    members: Vec<Node>,
    /// The lowest node number of any member.
    lowest: u16,
    /// By node number minus `lowest`: the member's number, or [`NOT_HERE`].
    numbers: Vec<u16>,
}

/// Marks a node that is not a member.
const NOT_HERE: u16 = u16::MAX;

impl Roster {
    /// A roster without members.
    pub const NONE: Self = Self { members: Vec::new(), lowest: 0, numbers: Vec::new() };

    pub fn new(members: impl IntoIterator<Item = Node>) -> Self {
        let members: Vec<Node> = members.into_iter().collect();
        let lowest = members.iter().map(|node| node.0).min().unwrap_or(0);
        let highest = members.iter().map(|node| node.0).max().unwrap_or(0);
        let mut numbers = vec![NOT_HERE; if members.is_empty() { 0 } else { usize::from(highest - lowest) + 1 }];
        for (number, node) in members.iter().enumerate() {
            numbers[usize::from(node.0 - lowest)] = number as u16;
        }
        Self { members, lowest, numbers }
    }

    /// `count` members with consecutive nodes, from `first` on.
    pub fn row(first: Node, count: usize) -> Self {
        Self::new((0..count).map(|number| Node(first.0 + number as u16)))
    }

    /// A member's number.
    pub fn number(&self, node: Node) -> Option<u16> {
        let number = *self.numbers.get(usize::from(node.0.checked_sub(self.lowest)?))?;
        (number != NOT_HERE).then_some(number)
    }

    pub fn contains(&self, node: Node) -> bool {
        self.number(node).is_some()
    }

    /// The member with this number.
    pub fn member(&self, number: u16) -> Node {
        self.members[usize::from(number)]
    }

    /// The set with only this node; empty if the node is not a member.
    pub fn sharer(&self, node: Node) -> Sharers {
        self.number(node).map_or(Sharers::NONE, Sharers::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_numbered_in_their_order_whatever_their_nodes_are_called() {
        let roster = Roster::new([Node(9), Node(4), Node(300)]);
        assert_eq!([9, 4, 300].map(|node| roster.number(Node(node))), [Some(0), Some(1), Some(2)]);
        assert_eq!(roster.member(2), Node(300));
        assert_eq!([3, 5, 301].map(|node| roster.contains(Node(node))), [false; 3]);
        assert_eq!(roster.sharer(Node(4)), Sharers::one(1));
        assert!(roster.sharer(Node(5)).is_empty() && !Roster::NONE.contains(Node(0)));
    }

    #[test]
    fn a_row_starts_anywhere() {
        let row = Roster::row(Node(7), 3);
        assert_eq!((6..11).filter_map(|node| row.number(Node(node))).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
