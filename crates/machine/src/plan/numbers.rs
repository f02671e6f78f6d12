//! The numbers of elements, by which messages are addressed.
//!
//! Those that stand above one cache have numbers in a row, and so have those that ask one channel: directories know
//! whom they gave a line to by these.

use crate::spec::Machine;
use protocol::Node;

/// How many there are of everything, from which numbers follow.
#[derive(Clone, Copy)]
pub struct Numbers {
    gpus: usize,
    /// Of each GPU.
    units: usize,
    arrays: usize,
    banks: usize,
    /// Of the CPU, if there is one; and of the IOMMU and the DMA engine, which stand where cores could.
    cores: usize,
    slices: usize,
    channels: usize,
    /// Whether GPUs have memories that are levels above the host's.
    levels: bool,
}

impl Numbers {
    pub fn new(machine: &Machine) -> Self {
        let cpu = machine.cpu.as_ref();
        Self {
            gpus: machine.gpus,
            units: machine.compute_units(),
            arrays: machine.arrays,
            banks: machine.banks.count,
            cores: cpu.map_or(0, |cpu| cpu.stacks()),
            slices: cpu.map_or(0, |cpu| cpu.slices),
            channels: machine.channels(),
            levels: machine.levels.is_some(),
        }
    }

    /// How many numbers are in use.
    pub fn count(&self) -> usize {
        self.levels() + if self.levels { 2 * self.banks * (self.gpus + 1) } else { 0 }
    }

    fn levels(&self) -> usize {
        self.memories() + self.channels
    }

    /// The directory of a GPU's memory as a level above the host's; its store has the next number.
    pub fn gpu_memory(&self, gpu: usize, bank: usize) -> Node {
        node(self.levels() + 2 * (bank * (self.gpus + 1) + gpu))
    }

    /// The directory of a channel of the host's memory below those; its store has the next number.
    pub fn host_memory(&self, channel: usize) -> Node {
        self.gpu_memory(self.gpus, channel)
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

    /// The second-level caches of cores come right before those of GPUs: a directory knows them all.
    fn gpu_second_level(&self) -> usize {
        self.second_level() + self.cores
    }

    fn slices(&self) -> usize {
        self.gpu_second_level() + self.gpus * self.banks
    }

    /// Of each core: the core itself, which stands for who asks; its data cache, and right after that its instruction cache; who
    /// walks its page tables.
    fn cores(&self) -> usize {
        self.slices() + self.slices
    }

    fn memories(&self) -> usize {
        self.cores() + 4 * self.cores
    }

    pub fn core(&self, core: usize) -> Node {
        node(self.cores() + 4 * core)
    }

    pub fn l1d(&self, core: usize) -> Node {
        node(self.cores() + 4 * core + 1)
    }

    pub fn code(&self, core: usize) -> Node {
        node(self.cores() + 4 * core + 2)
    }

    pub fn walkers(&self, core: usize) -> Node {
        node(self.cores() + 4 * core + 3)
    }

    pub fn core_l2(&self, core: usize) -> Node {
        node(self.second_level() + core)
    }

    pub fn l3(&self, slice: usize) -> Node {
        node(self.slices() + slice)
    }

    /// All second-level caches of GPUs.
    pub fn gpu_l2s(&self) -> Vec<Node> {
        (self.gpu_second_level()..self.slices()).map(node).collect()
    }

    /// Those who ask memory behind a system agent.
    pub fn slices_and_gpu_l2s(&self) -> Vec<Node> {
        (self.gpu_second_level()..self.cores()).map(node).collect()
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
        node(self.gpu_second_level() + bank * self.gpus + gpu)
    }

    pub fn memory(&self, channel: usize) -> Node {
        node(self.memories() + channel)
    }

    /// The forward-backward table of a GPU.
    pub fn fbt(&self, gpu: usize) -> Node {
        Node(FIRST_FBT + gpu as u16)
    }

    /// A DMA engine that asks memories past all caches: the host's is 0, then come those of GPUs.
    pub fn engine(&self, number: usize) -> Node {
        assert!(number < interconnect::ENGINES.len(), "so many DMA engines can be told apart");
        Node(interconnect::ENGINES.start + number as u16)
    }

    /// All of those.
    pub fn engines(&self) -> impl Iterator<Item = Node> {
        (0..=self.gpus.min(interconnect::ENGINES.len() - 1)).map(|number| self.engine(number))
    }

    /// Every first-level cache behind an array's wires.
    pub fn array(&self, gpu: usize, array: usize) -> Vec<Node> {
        self.vector_caches(gpu, array).chain([self.l1s(gpu, array), self.l1i(gpu, array)]).collect()
    }

    /// The vector caches among them.
    pub fn vector_caches(&self, gpu: usize, array: usize) -> impl Iterator<Item = Node> {
        let per_array = self.units / self.arrays;
        (array * per_array..(array + 1) * per_array).map(move |unit| self.l1v(gpu, unit))
    }
}

fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("the machine file was checked: everybody has a number"))
}

/// How many can be told apart. Some numbers are left for other uses.
pub const MOST: usize = 4096;

/// The forward-backward table of the first GPU.
const FIRST_FBT: u16 = 4200;

/// Who orders the caches of a CPU to be flushed.
pub const FLUSHER: Node = Node(4097);
