//! Everybody's number.
//!
//! Those that stand above one cache have numbers in a row, and so have those that ask one channel: directories know
//! whom they gave a line to by these.

use crate::spec::Machine;
use protocol::Node;

/// How many there are of everything, from which numbers follow.
#[derive(Clone, Copy)]
pub struct Layout {
    gpus: usize,
    /// Of each GPU.
    units: usize,
    arrays: usize,
    banks: usize,
}

impl Layout {
    pub fn new(machine: &Machine) -> Self {
        Self { gpus: machine.gpus, units: machine.compute_units(), arrays: machine.arrays, banks: machine.banks.count }
    }

    /// How many numbers are in use.
    pub fn count(&self) -> usize {
        self.memories() + self.banks
    }

    /// The caches of a GPU's compute units and arrays.
    fn first_level(&self) -> usize {
        self.units + 2 * self.arrays
    }

    fn caches(&self) -> usize {
        self.gpus * self.units
    }

    fn second_level(&self) -> usize {
        self.caches() + self.gpus * self.first_level()
    }

    fn memories(&self) -> usize {
        self.second_level() + self.gpus * self.banks
    }

    pub fn unit(&self, gpu: usize, unit: usize) -> Node {
        node(gpu * self.units + unit)
    }

    pub fn l1v(&self, gpu: usize, unit: usize) -> Node {
        node(self.caches() + gpu * self.first_level() + unit)
    }

    pub fn l1s(&self, gpu: usize, array: usize) -> Node {
        self.l1v(gpu, self.units + array)
    }

    pub fn l1i(&self, gpu: usize, array: usize) -> Node {
        self.l1v(gpu, self.units + self.arrays + array)
    }

    pub fn l2(&self, gpu: usize, bank: usize) -> Node {
        node(self.second_level() + bank * self.gpus + gpu)
    }

    pub fn memory(&self, channel: usize) -> Node {
        node(self.memories() + channel)
    }

    /// Every first-level cache behind an array's wires.
    pub fn array(&self, gpu: usize, array: usize) -> Vec<Node> {
        let per_array = self.units / self.arrays;
        let vector = (array * per_array..(array + 1) * per_array).map(|unit| self.l1v(gpu, unit));
        vector.chain([self.l1s(gpu, array), self.l1i(gpu, array)]).collect()
    }
}

fn node(number: usize) -> Node {
    Node(u8::try_from(number).expect("the machine file was checked: everybody has a number"))
}

/// How many can be told apart. A few numbers are left for other uses.
pub const MOST: usize = 250;
