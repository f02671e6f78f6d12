//! How an element of a memory system reports its reads and writes to the golden image: by a journal, outside simulated
//! time.

use engine::{Journal, Pen, Scope};
use mem::{LineAddr, Observation, Observer, Seen, Stamp};

/// Reports as one observer.
#[derive(Clone)]
pub struct Reporter {
    who: Observer,
    pen: Pen<Observation>,
}

impl Reporter {
    pub fn new(who: Observer, journal: &Journal<Observation>, scope: &Scope) -> Self {
        Self { who, pen: scope.pen(journal, who.0) }
    }

    /// A reporter for another observer; its reports are ordered together with those of this one.
    pub fn on_behalf_of(&self, who: Observer) -> Self {
        Self { who, pen: self.pen.clone() }
    }

    pub fn tell(&self, line: LineAddr, seen: Seen) {
        self.tell_at(0, line, seen);
    }

    /// Reports an access with its logical time.
    pub fn tell_at(&self, stamp: Stamp, line: LineAddr, seen: Seen) {
        self.pen.write(Observation { who: self.who, line, seen, stamp });
    }
}
