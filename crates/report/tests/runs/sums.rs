//! Runs a kernel on a machine, for tests of reports.

use engine::{Run, Time};
use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::Gpu,
    object::CodeObject,
};
use gpu::{AddressMap, Kernel};
use machine::{Launch, Machine, Options, Session};
use mem::{Bytes, PhysAddr};
use report::{HostFacts, Program, Subject};
use std::sync::Arc;

const VECADD: &[u8] = include_bytes!("../../../workloads/src/vecadd/vecadd.hsaco");

/// Vectors of `count` floats, added `launches` times.
pub struct Sums {
    pub count: u32,
    pub launches: usize,
}

impl Sums {
    pub fn run(&self, machine: &Machine, options: &Options) -> Run {
        let object = CodeObject::parse(VECADD).expect("the committed code object is sound");
        let mut gpu = Gpu::new();
        let program = gpu.load(&object).expect("it can be loaded");
        let buffers = [(); 3].map(|()| gpu.alloc(Bytes(u64::from(4 * self.count))).expect("there is room"));
        let kernel = object.kernel("vecadd").expect("it is there");
        let mut dispatch = Dispatch::new(kernel, [self.count, 1, 1], [64, 1, 1], [0; 3]).expect("the grid is sound");
        let pointers = buffers.map(ArgumentValue::Pointer).into_iter();
        let arguments: Vec<_> = pointers.chain([ArgumentValue::Bytes(self.count.to_le_bytes().to_vec())]).collect();
        dispatch.set_arguments(&arguments).expect("they fit the kernel");
        let waves = machine.compute_units() * machine.compute_unit.wavefronts();
        let places = gpu.stage(&program, &dispatch, waves as u64).expect("it can be staged");
        let code = Arc::clone(program.code_of(dispatch.kernel()).expect("the kernel has code"));
        let mut session = Session::start(machine, options);
        let mut regions = Vec::new();
        for (base, size, may) in gpu.memory.regions() {
            let mut bytes = vec![0; size.0 as usize];
            gpu.memory.read(base, &mut bytes).expect("a region can be read");
            session.write(PhysAddr(base.0), &bytes);
            regions.push((base, size, may));
        }
        let map = Arc::new(AddressMap::new(regions.into_iter()));
        let kernel = Kernel { dispatch, places, code };
        for _ in 0..self.launches {
            let launch = Launch { kernel: kernel.clone(), map: Arc::clone(&map), at: Time::ZERO };
            session.launch(launch).expect("the kernel ends");
        }
        session.finish()
    }
}

pub fn machine(name: &str) -> Machine {
    Machine::load(name, &[]).expect("it comes with cohesim")
}

pub fn options(threads: usize) -> Options {
    Options { threads, ..Options::default() }
}

pub fn program() -> Program {
    Program::new("vecadd", VECADD)
}

pub fn subject<'a>(program: &'a Program, machine: &'a Machine, run: &'a Run) -> Subject<'a> {
    Subject {
        program,
        arguments: &[],
        machine,
        run,
        total: run.end,
        forwarded: None,
        parts: None,
        paged: None,
        host: HostFacts::default(),
    }
}
