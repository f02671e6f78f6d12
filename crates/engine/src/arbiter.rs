//! Round-robin arbitration.

/// Grants one requester at a time. The requester granted last has the lowest priority next time.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    requesters: usize,
    next: usize,
}

impl RoundRobin {
    /// An arbiter among `requesters` requesters. Number 0 has the highest priority at first.
    pub fn new(requesters: usize) -> RoundRobin {
        RoundRobin { requesters, next: 0 }
    }

    /// Grants the first requester for which `wants` is true, searching from the one after the last granted.
    pub fn grant(&mut self, wants: impl Fn(usize) -> bool) -> Option<usize> {
        let granted = self.order().find(|requester| wants(*requester))?;
        self.granted(granted);
        Some(granted)
    }

    /// Records that this requester, which had a request, was granted.
    pub fn granted(&mut self, requester: usize) {
        self.next = if requester + 1 < self.requesters { requester + 1 } else { 0 };
    }

    /// The requester with the highest priority now.
    pub fn first(&self) -> usize {
        self.next
    }

    /// The requesters in the order in which they would be granted now.
    pub fn order(&self) -> impl Iterator<Item = usize> + use<> {
        (self.next..self.requesters).chain(0..self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requesters_are_granted_in_turn() {
        let mut arbiter = RoundRobin::new(4);
        let wants = |requester| requester != 2;
        let granted: Vec<_> = (0..6).map(|_| arbiter.grant(wants).unwrap()).collect();
        assert_eq!(granted, [0, 1, 3, 0, 1, 3]);
    }

    #[test]
    fn nothing_is_granted_without_a_request() {
        let mut arbiter = RoundRobin::new(3);
        assert_eq!(arbiter.grant(|_| true), Some(0));
        assert_eq!(arbiter.grant(|_| false), None);
        assert_eq!(arbiter.grant(|_| true), Some(1));
        assert_eq!(RoundRobin::new(0).grant(|_| true), None);
    }
}
