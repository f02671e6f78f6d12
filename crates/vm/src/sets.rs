//! Sets of ways, of which the least recently used one goes first.

/// Entries in sets, the most recently used of each first.
pub(crate) struct Sets<E> {
    sets: Box<[Vec<E>]>,
    ways: usize,
}

impl<E> Sets<E> {
    /// So many sets, a power of two.
    pub fn new(sets: usize, ways: usize) -> Self {
        Self { sets: (0..sets).map(|_| Vec::new()).collect(), ways }
    }

    fn set(&mut self, number: u64) -> &mut Vec<E> {
        let mask = self.sets.len() as u64 - 1;
        &mut self.sets[(number & mask) as usize]
    }

    /// The entry of this number's set that `is` meant; it counts as used.
    pub fn find(&mut self, number: u64, is: impl Fn(&E) -> bool) -> Option<&E> {
        let set = self.set(number);
        let at = set.iter().position(is)?;
        set[..=at].rotate_right(1);
        set.first()
    }

    /// Puts an entry into this number's set; says what had to go.
    pub fn put(&mut self, number: u64, entry: E) -> Option<E> {
        let ways = self.ways;
        let set = self.set(number);
        let gone = if set.len() == ways { set.pop() } else { None };
        set.insert(0, entry);
        gone
    }

    /// Takes the entry of this number's set that `is` meant out.
    pub fn remove(&mut self, number: u64, is: impl Fn(&E) -> bool) -> Option<E> {
        let set = self.set(number);
        set.iter().position(is).map(|at| set.remove(at))
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.sets.iter().flatten()
    }

    /// Keeps some; says how many went.
    pub fn retain(&mut self, keep: impl Fn(&E) -> bool) -> usize {
        let mut gone = 0;
        for set in &mut self.sets {
            let before = set.len();
            set.retain(&keep);
            gone += before - set.len();
        }
        gone
    }
}
