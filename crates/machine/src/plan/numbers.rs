//! Node numbers of elements: the addresses of messages.
//!
//! Caches above one cache have consecutive numbers, and so have the requesters of one memory channel: directories index
//! their sharers by these numbers.

use crate::spec::Machine;
use protocol::Node;

/// Element counts, from which the numbers follow.
#[derive(Clone, Copy)]
pub struct Numbers {
    gpus: usize,
    /// Counts per GPU.
    units: usize,
    arrays: usize,
    banks: usize,
    /// Counts of the CPU, 0 without one. The IOMMU and the DMA engine count as cores, because they take a core's place.
    cores: usize,
    slices: usize,
    channels: usize,
    /// Whether GPU memories are levels above the host's memory.
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

    /// Number of node numbers in use.
    pub fn count(&self) -> usize {
        self.levels() + if self.levels { 2 * self.banks * (self.gpus + 1) } else { 0 }
    }

    fn levels(&self) -> usize {
        self.memories() + self.channels
    }

    /// The directory of a GPU memory that is a level above the host's; its store has the next number.
    pub fn gpu_memory(&self, gpu: usize, bank: usize) -> Node {
        node(self.levels() + 2 * (bank * (self.gpus + 1) + gpu))
    }

    /// The directory of a channel of the host's memory below the GPU memories; its store has the next number.
    pub fn host_memory(&self, channel: usize) -> Node {
        self.gpu_memory(self.gpus, channel)
    }

    /// Number of first-level caches of a GPU.
    fn first_level(&self) -> usize {
        self.units + 2 * self.arrays
    }

    fn caches(&self) -> usize {
        self.gpus * self.units
    }

    fn second_level(&self) -> usize {
        self.caches() + self.gpus * self.first_level()
    }

    /// The L2s of cores come right before those of GPUs: one directory serves both.
    fn gpu_second_level(&self) -> usize {
        self.second_level() + self.cores
    }

    fn slices(&self) -> usize {
        self.gpu_second_level() + self.gpus * self.banks
    }

    /// Numbers per core: the core itself, as a requester; its data cache; its instruction cache; its page walker.
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

    /// The requesters of memory behind a system agent.
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

    /// The table below the vector cache of a compute unit.
    pub fn names(&self, gpu: usize, unit: usize) -> Node {
        Node(FIRST_NAMES + self.unit(gpu, unit).0)
    }

    /// A DMA engine that accesses memories past all caches: 0 is the host's, followed by those of the GPUs.
    pub fn engine(&self, number: usize) -> Node {
        assert!(number < interconnect::ENGINES.len(), "the numbers of DMA engines are enough");
        Node(interconnect::ENGINES.start + number as u16)
    }

    /// All of these DMA engines.
    pub fn engines(&self) -> impl Iterator<Item = Node> {
        (0..=self.gpus.min(interconnect::ENGINES.len() - 1)).map(|number| self.engine(number))
    }

    /// Every first-level cache of an array.
    pub fn array(&self, gpu: usize, array: usize) -> Vec<Node> {
        self.vector_caches(gpu, array).chain([self.l1s(gpu, array), self.l1i(gpu, array)]).collect()
    }

    /// The vector caches of an array.
    pub fn vector_caches(&self, gpu: usize, array: usize) -> impl Iterator<Item = Node> {
        let per_array = self.units / self.arrays;
        (array * per_array..(array + 1) * per_array).map(move |unit| self.l1v(gpu, unit))
    }
}

fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("the machine file was checked: every element has a number"))
}

/// Maximum number of elements. Some numbers above it have other uses.
pub const MOST: usize = 4096;

/// Number of the first table below a first-level cache that alone is virtual.
const FIRST_NAMES: u16 = 8192;

/// Number of the first GPU's forward-backward table.
const FIRST_FBT: u16 = 4200;

/// The node that orders the CPU's caches to flush.
pub const FLUSHER: Node = Node(4097);
