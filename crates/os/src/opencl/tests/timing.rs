//! Tests of the driver with GPUs whose kernels take time.

use engine::Time;
use gcn3::{
    dispatch::Dispatch,
    functional::{Options, Plan},
};
use mem::{Bytes, VirtAddr};
use std::{cell::RefCell, rc::Rc};

use super::{
    super::{
        Costs, Settings, cl,
        function::Function::*,
        gpu::{Broken, Done, Ended, Gpus, Ready},
    },
    support::{Program, Setup},
};
use crate::guest::{GuestMemory, Trap};

/// The duration of each kernel.
const KERNEL: Time = Time::micros(100);

type Ranges = Vec<(VirtAddr, Bytes)>;

/// GPUs that run one kernel after another, compute nothing, and know in advance when each ends.
#[derive(Default)]
struct Clockwork {
    ends: Vec<(u64, Time)>,
    broken: bool,
    /// What the host had touched before each kernel.
    touched: Rc<RefCell<Vec<Ranges>>>,
}

impl Gpus for Clockwork {
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        Plan::new(dispatch, Options::default())
    }

    fn start(&mut self, launch: u64, kernel: Ready, _: &mut dyn GuestMemory, now: Time) -> Result<(), Broken> {
        if self.broken {
            return Err(Broken("the clockwork has stopped".to_owned()));
        }
        let reaches = |address| kernel.reach.iter().any(|(base, size)| *base <= address && address < *base + *size);
        assert!(reaches(kernel.places.kernarg) && reaches(kernel.places.image), "{:?}", kernel.reach);
        self.touched.borrow_mut().push(kernel.touched);
        let free = self.ends.last().map_or(Time::ZERO, |(_, end)| *end);
        self.ends.push((launch, free.max(now) + KERNEL));
        Ok(())
    }

    fn work(&mut self, _: &mut dyn GuestMemory, now: Time, _: u64) -> Done {
        let (over, left) = std::mem::take(&mut self.ends).into_iter().partition(|(_, end)| *end <= now);
        self.ends = left;
        let over: Vec<(u64, Time)> = over;
        let start = |end: Time| Time(end.0 - KERNEL.0);
        let ended = over.into_iter().map(|(launch, end)| Ended { launch, start: start(end), end, error: None });
        Done { ended: ended.collect(), ..Done::default() }
    }

    fn is_fine_grained(&self) -> bool {
        false
    }

    fn next_end(&self) -> Time {
        self.ends.first().map_or(Time::NEVER, |(_, end)| *end)
    }
}

fn program(costs: Costs, gpus: Clockwork) -> (Program, Setup, u64) {
    let mut program = Program::with_gpus(Settings { costs, ..Settings::default() }, Box::new(gpus));
    let setup = program.set_up(cl::QUEUE_PROFILING_ENABLE);
    let built = program.build(&setup, "__kernel void nothing(void) {}");
    let kernel = program.kernel(built, "nothing");
    (program, setup, kernel)
}

/// Enqueues a kernel; returns its event.
fn enqueue(program: &mut Program, setup: &Setup, kernel: u64) -> u64 {
    let (grid, event) = (program.put_words(&[64]), program.put_words(&[0]));
    program.ok(EnqueueNDRangeKernel, &[setup.queue, kernel, 1, 0, grid, 0, 0, 0, event]);
    program.get_word(event)
}

fn profile(program: &mut Program, event: u64) -> [u64; 4] {
    [cl::PROFILING_COMMAND_QUEUED, cl::PROFILING_COMMAND_SUBMIT, cl::PROFILING_COMMAND_START, cl::PROFILING_COMMAND_END]
        .map(|which| program.query_word(GetEventProfilingInfo, &[event, which]))
}

#[test]
fn kernels_of_a_queue_follow_each_other_and_the_host_waits_for_their_ends() {
    let (mut program, setup, kernel) = program(Costs::default(), Clockwork::default());
    program.now = Time::micros(7);
    let first = enqueue(&mut program, &setup, kernel);
    let second = enqueue(&mut program, &setup, kernel);
    assert_eq!(program.now, Time::micros(7), "no thread has waited yet");
    program.ok(Finish, &[setup.queue]);
    assert_eq!(program.now, Time::micros(207));
    assert_eq!(profile(&mut program, first), [7_000, 7_000, 7_000, 107_000]);
    assert_eq!(profile(&mut program, second), [7_000, 107_000, 107_000, 207_000]);
}

#[test]
fn pages_that_the_host_touched_since_the_last_kernel_are_passed_with_the_next() {
    let clockwork = Clockwork::default();
    let touched = Rc::clone(&clockwork.touched);
    let (mut program, setup, kernel) = program(Costs::default(), clockwork);
    let svm = program.call(SVMAlloc, &[setup.context, cl::MEM_READ_WRITE, 8000, 0]);
    let told = |program: &mut Program| {
        enqueue(program, &setup, kernel);
        program.ok(Finish, &[setup.queue]);
        let last = touched.borrow_mut().pop().expect("a kernel was started");
        last.iter().any(|(base, size)| base.0 <= svm && svm < base.0 + size.0)
    };
    assert!(told(&mut program), "it is new");
    assert!(!told(&mut program));
    program.ok(EnqueueSVMMap, &[setup.queue, 1, cl::MAP_READ, svm, 8000, 0, 0, 0]);
    assert!(!told(&mut program), "readers may go on");
    program.ok(EnqueueSVMUnmap, &[setup.queue, svm, 0, 0, 0]);
    assert!(told(&mut program));
}

#[test]
fn a_kernel_has_ended_at_its_time_however_late_the_host_looks() {
    let (mut program, setup, kernel) = program(Costs::default(), Clockwork::default());
    let first = enqueue(&mut program, &setup, kernel);
    let second = enqueue(&mut program, &setup, kernel);
    program.now = Time::micros(150);
    program.ok(Finish, &[setup.queue]);
    assert_eq!(profile(&mut program, first)[3], 100_000);
    assert_eq!(profile(&mut program, second)[2..], [100_000, 200_000]);
}

#[test]
fn every_call_takes_its_time() {
    let (mut program, setup, kernel) =
        program(Costs { call: Time::micros(2), ..Costs::default() }, Clockwork::default());
    let start = program.now;
    let event = enqueue(&mut program, &setup, kernel);
    assert_eq!(program.now, start + Time::micros(2));
    program.ok(Finish, &[setup.queue]);
    assert_eq!(program.now, start + Time::micros(102), "the end of the kernel comes after that of the call");
    assert_eq!(profile(&mut program, event)[0], (start + Time::micros(2)).0 / 1_000_000);
}

#[test]
fn transfers_take_turns_on_the_wire() {
    let costs = Costs { bandwidth: Some(Bytes(1_000_000_000)), ..Costs::default() };
    let (mut program, setup, _) = program(costs, Clockwork::default());
    let queue = program.make(CreateCommandQueue, &[setup.context, setup.device, 0]).expect("a second queue");
    let buffer = program.make(CreateBuffer, &[setup.context, cl::MEM_READ_WRITE, 4096, 0]).expect("a buffer");
    let place = program.put(&[7; 4096]);
    let start = program.now;
    program.ok(EnqueueWriteBuffer, &[setup.queue, buffer, 0, 0, 1000, place, 0, 0, 0]);
    program.ok(EnqueueWriteBuffer, &[queue, buffer, 0, 2000, 2000, place, 0, 0, 0]);
    program.ok(Finish, &[setup.queue]);
    assert_eq!(program.now, start + Time::micros(1));
    program.ok(Finish, &[queue]);
    assert_eq!(program.now, start + Time::micros(3));
}

#[test]
fn copies_and_fills_within_the_device_take_turns_in_its_copy_engine() {
    let costs = Costs { copy_engine: Some(Bytes(1_000_000_000)), ..Costs::default() };
    let (mut program, setup, _) = program(costs, Clockwork::default());
    let queue = program.make(CreateCommandQueue, &[setup.context, setup.device, 0]).expect("a second queue");
    let buffer = program.make(CreateBuffer, &[setup.context, cl::MEM_READ_WRITE, 4096, 0]).expect("a buffer");
    let pattern = program.put(&[7; 4]);
    let start = program.now;
    program.ok(EnqueueFillBuffer, &[setup.queue, buffer, pattern, 4, 0, 1000, 0, 0, 0]);
    program.ok(EnqueueCopyBuffer, &[queue, buffer, buffer, 0, 2000, 2000, 0, 0, 0]);
    program.ok(Finish, &[setup.queue]);
    assert_eq!(program.now, start + Time::micros(1));
    program.ok(Finish, &[queue]);
    assert_eq!(program.now, start + Time::micros(3));
}

#[test]
fn shared_virtual_memory_crosses_the_wire_when_it_is_mapped_and_unmapped() {
    let costs = Costs { bandwidth: Some(Bytes(1_000_000_000)), ..Costs::default() };
    let (mut program, setup, _) = program(costs, Clockwork::default());
    let svm = program.call(SVMAlloc, &[setup.context, cl::MEM_READ_WRITE, 8000, 0]);
    let mut takes = |function, arguments: &[u64]| {
        let start = program.now;
        program.ok(function, arguments);
        program.ok(Finish, &[setup.queue]);
        Time(program.now.0 - start.0)
    };
    let invalidate = cl::MAP_WRITE_INVALIDATE_REGION;
    assert_eq!(takes(EnqueueSVMMap, &[setup.queue, 0, invalidate, svm, 8000, 0, 0, 0]), Time::ZERO);
    assert_eq!(takes(EnqueueSVMUnmap, &[setup.queue, svm, 0, 0, 0]), Time::micros(8));
    assert_eq!(takes(EnqueueSVMMap, &[setup.queue, 0, cl::MAP_READ, svm, 8000, 0, 0, 0]), Time::micros(8));
    assert_eq!(takes(EnqueueSVMUnmap, &[setup.queue, svm, 0, 0, 0]), Time::ZERO);
}

#[test]
fn fine_grained_memory_is_refused_where_it_can_t_work() {
    let (mut program, setup, _) = program(Costs::default(), Clockwork::default());
    let flags = cl::MEM_READ_WRITE | cl::MEM_SVM_FINE_GRAIN_BUFFER;
    assert_eq!(program.call(SVMAlloc, &[setup.context, flags, 4096, 0]), 0);
    assert!(program.said.borrow()[0].contains("not while it runs"), "{:?}", program.said.borrow());
    let capabilities = program.query_word(GetDeviceInfo, &[setup.device, cl::DEVICE_SVM_CAPABILITIES]);
    assert_eq!(capabilities, cl::DEVICE_SVM_COARSE_GRAIN_BUFFER);
}

#[test]
fn gpus_that_can_t_continue_end_the_run() {
    let (mut program, setup, kernel) = program(Costs::default(), Clockwork { broken: true, ..Clockwork::default() });
    enqueue(&mut program, &setup, kernel);
    assert_eq!(program.driver.broken().as_deref(), Some("the clockwork has stopped"));
}
