//! The small systems on which MESI is checked.

use super::{
    directory::L3,
    l1::{L1D, L1I, L1V},
    l2::L2,
};
use crate::{
    Block, Controller, Line, Node,
    check::{BYTES, Member, NEWEST, Stage, System},
    memory::Memory,
};

/// Puts members together; each gets the next number.
struct Builder {
    lines: usize,
    members: Vec<Member>,
    tables: Vec<crate::Table>,
    cores: usize,
}

impl Builder {
    fn new(lines: usize) -> Self {
        Self { lines, members: Vec::new(), tables: Vec::new(), cores: 0 }
    }

    /// Adds a member that asks `below` and has the members from number `above` on above it.
    fn add(&mut self, name: String, controller: &'static dyn Controller<BYTES>, below: usize, above: usize) {
        let table = controller.table();
        let known = self.tables.iter().position(|other| other.name == table.name);
        let table = known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        });
        let (below, uses) = (vec![node(below); self.lines], vec![true; self.lines]);
        let initial = Line::new(state_named(&self.tables[table], "I"));
        self.members.push(Member { name, controller, table, initial, below, above: node(above), core: None, uses });
    }

    /// Adds a first-level cache with a core of its own.
    fn add_l1(&mut self, name: String, controller: &'static dyn Controller<BYTES>, below: usize) {
        self.add(name, controller, below, 0);
        self.members.last_mut().expect("it has just been added").core = Some(self.cores);
        self.cores += 1;
    }

    fn add_memory(&mut self) {
        let number = self.members.len();
        self.add("memory".to_owned(), &Memory, number, 0);
        self.members[number].initial = Line { data: Block::full([NEWEST; BYTES]), ..Line::new(0) };
    }

    fn system(self, equals: Vec<Vec<Node>>) -> System {
        let Self { lines, members, tables, cores } = self;
        let stages = vec![Stage::Work { cores: (0..cores).collect() }];
        System { tables, members, cores, lines, stages, whims: Vec::new(), equals, coherent: true }
    }
}

fn node(number: usize) -> Node {
    Node(u8::try_from(number).expect("a checked system is small"))
}

fn state_named(table: &crate::Table, name: &str) -> u8 {
    table.states.iter().position(|&state| state == name).unwrap_or(0) as u8
}

/// Cores with a data cache and a second-level cache each, under a shared last-level cache.
pub fn cores(cores: usize, lines: usize) -> System {
    let mut builder = Builder::new(lines);
    for core in 0..cores {
        builder.add_l1(format!("l1d.{core}"), &L1D, cores + core);
    }
    for core in 0..cores {
        builder.add(format!("l2.{core}"), &L2, 2 * cores, core);
    }
    builder.add("l3".to_owned(), &L3, 2 * cores + 1, cores);
    builder.add_memory();
    builder.system((0..cores).map(|core| vec![node(core), node(cores + core)]).collect())
}
