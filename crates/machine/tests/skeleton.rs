//! The `skeleton` machine: its results, its statistics, and its errors.

use engine::{Outcome, Run, Time};
use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::{Gpu, Program},
    object::CodeObject,
};
use gpu::{AddressMap, Kernel};
use machine::{Launch, Machine, Options, RustHost, Session, memory_sync};
use mem::{Bytes, PhysAddr, VirtAddr};
use std::sync::Arc;

const VECADD: &[u8] = include_bytes!("../../workloads/src/vecadd/vecadd.hsaco");
/// Elements of a buffer.
const COUNT: u32 = 1024;
/// Elements of a workgroup.
const GROUP: u32 = 64;

/// A GPU's memory with vectors in it, and the additions to run there.
struct Sums {
    gpu: Gpu,
    object: CodeObject,
    program: Program,
    dispatches: Vec<Dispatch>,
}

impl Sums {
    fn new() -> Self {
        Self::of(VECADD)
    }

    fn of(object: &[u8]) -> Self {
        let object = CodeObject::parse(object).expect("the committed code object is sound");
        let mut gpu = Gpu::new();
        let program = gpu.load(&object).expect("it can be loaded");
        Self { gpu, object, program, dispatches: Vec::new() }
    }

    fn vector(&mut self, value: impl Fn(u32) -> f32) -> VirtAddr {
        let address = self.gpu.alloc(Bytes(u64::from(4 * COUNT))).expect("there is room");
        let bytes: Vec<u8> = (0..COUNT).flat_map(|n| value(n).to_le_bytes()).collect();
        self.gpu.memory.write(address, &bytes).expect("it has just been allocated");
        address
    }

    /// c = a + b, over `count` elements.
    fn add(&mut self, [a, b, c]: [VirtAddr; 3], count: u32) {
        let kernel = self.object.kernel("vecadd").expect("it is there");
        let mut dispatch = Dispatch::new(kernel, [count, 1, 1], [GROUP, 1, 1], [0; 3]).expect("the grid is sound");
        let arguments = [a, b, c].map(ArgumentValue::Pointer).into_iter();
        let arguments: Vec<_> = arguments.chain([ArgumentValue::Bytes(count.to_le_bytes().to_vec())]).collect();
        dispatch.set_arguments(&arguments).expect("they fit the kernel");
        self.dispatches.push(dispatch);
    }

    fn run(mut self, changes: &[&str], threads: usize, check: bool) -> Finished {
        let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
        // The list serves many kinds of machines: changes without effect on this one are accepted.
        let (machine, _) = Machine::examine("skeleton", &changes).expect("the machine is sound");
        let mut staged = RustHost::new(&machine, &Options { threads, check, ..Options::default() });
        for dispatch in self.dispatches {
            // The run's outcome has the error.
            if staged.launch(&mut self.gpu, &self.program, dispatch).is_err() {
                break;
            }
        }
        Finished { run: staged.finish(), gpu: self.gpu }
    }
}

/// A completed run and its memory.
struct Finished {
    run: Run,
    gpu: Gpu,
}

fn floats(finished: &Finished, address: VirtAddr, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * count];
    finished.gpu.memory.read(address, &mut bytes).expect("it was allocated");
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// One addition, and the address of its result.
fn one_sum() -> (Sums, VirtAddr) {
    let mut sums = Sums::new();
    let (a, b, c) = (sums.vector(|n| n as f32), sums.vector(|n| 0.5 * n as f32), sums.vector(|_| 0.0));
    sums.add([a, b, c], COUNT);
    (sums, c)
}

#[test]
fn a_sum_is_right_and_takes_time() {
    let (sums, c) = one_sum();
    let finished = sums.run(&[], 1, true);
    assert_eq!(finished.run.outcome, Outcome::Finished);
    assert_eq!(floats(&finished, c, COUNT as usize), (0..COUNT).map(|n| 1.5 * n as f32).collect::<Vec<_>>());
    // 64 lines of each of two vectors, one line of arguments, one of the packet and three of code are read; 64 lines
    // are written.
    let total = finished.run.total();
    assert_eq!((total.count("memory0.reads"), total.count("memory0.writes")), (133, 64));
}

#[test]
fn a_branch_that_empties_the_instruction_buffer_fetches_its_line_again() {
    // While the wavefront waits for its arguments, all of its code arrives: no fetch is in flight at the branch.
    let fetches = |refetches: bool| {
        let (sums, c) = one_sum();
        let key = format!("gpu.compute_unit.branch_refetches={refetches}");
        let finished = sums.run(&[&key, "gpu.l1s.latency=3000"], 1, true);
        assert_eq!(finished.run.outcome, Outcome::Finished);
        assert_eq!(floats(&finished, c, COUNT as usize), (0..COUNT).map(|n| 1.5 * n as f32).collect::<Vec<_>>());
        finished.run.total().count("gpu0.array0.l1i.requests")
    };
    // Each wavefront executes one branch. It is in the second of three lines: that line and the third are fetched again.
    let (without, with) = (fetches(false), fetches(true));
    assert_eq!(with - without, 2 * u64::from(COUNT / GROUP), "{without} requests without");
}

#[test]
fn statistics_depend_neither_on_threads_nor_on_the_cut() {
    for kind in ["memory.kind=fixed", "memory.kind=ddr4-2400"] {
        depends_neither_on_threads_nor_on_the_cut(kind);
    }
}

fn depends_neither_on_threads_nor_on_the_cut(kind: &str) {
    let run = |cut: &[&str], threads| {
        let (sums, _) = one_sum();
        let mut changes = vec![kind, "gpu.arrays=2", "gpu.units_per_array=3", "gpu.l2.banks=4", "gpu.l2.size=256KiB"];
        changes.extend(cut);
        let run = sums.run(&changes, threads, false).run;
        (run.outcome, run.end, run.regions)
    };
    let whole = run(&["partitions.arrays=0", "partitions.l2=0"], 1);
    assert_eq!(whole.0, Outcome::Finished);
    for cut in [
        ["partitions.arrays=0", "partitions.l2=1"],
        ["partitions.arrays=1", "partitions.l2=0"],
        ["partitions.arrays=2", "partitions.l2=2"],
    ] {
        for threads in 1..=3 {
            assert!(run(&cut, threads) == whole, "{cut:?} with {threads} threads gives other statistics");
        }
    }
}

#[test]
fn a_sum_is_right_with_every_kind_of_memory() {
    let kinds = ["fixed", "ddr3-1600", "ddr4-2400", "gddr5", "hbm", "hbm2"];
    let queues =
        ["read_queue=1", "write_queue=2", "drain_from=2", "drain_to=1"].map(|key| format!("memory.dram.{key}"));
    for kind in kinds.map(|kind| format!("memory.kind={kind}")) {
        let (sums, c) = one_sum();
        let mut changes = vec![kind.as_str()];
        changes.extend(queues.iter().map(String::as_str));
        let finished = sums.run(&changes, 1, true);
        assert_eq!(finished.run.outcome, Outcome::Finished, "{kind}");
        assert_eq!(floats(&finished, c, COUNT as usize), (0..COUNT).map(|n| 1.5 * n as f32).collect::<Vec<_>>());
        assert_eq!(finished.run.total().count("memory0.reads"), 133, "{kind}");
    }
    let refused = Machine::load("skeleton", &["memory.kind=hbm3".to_owned()]).err().expect("there is no such kind");
    let said = "[memory] kind: must be one of fixed, ddr3-1600, ddr4-2400, gddr5, hbm, hbm2";
    assert!(refused.to_string().contains(said), "{refused}");
}

#[test]
fn a_sum_is_right_over_every_network_and_the_cut_changes_nothing() {
    let mut times = Vec::new();
    for kind in ["crossbar", "ring", "mesh", "bus"].map(|kind| format!("gpu.network.kind={kind}")) {
        let run = |cut: [&str; 2], threads| {
            let (sums, c) = one_sum();
            let size = ["gpu.arrays=3", "gpu.l2.banks=4", "gpu.l2.size=256KiB", "gpu.network.columns=3"];
            let narrow = ["gpu.network.capacity=2", "gpu.network.bytes_per_cycle=16", "wires.l1_l2.capacity=2"];
            let changes = [&[kind.as_str()][..], &size, &narrow, &cut].concat();
            let finished = sums.run(&changes, threads, true);
            assert_eq!(finished.run.outcome, Outcome::Finished, "{kind}");
            assert_eq!(floats(&finished, c, COUNT as usize), (0..COUNT).map(|n| 1.5 * n as f32).collect::<Vec<_>>());
            (finished.run.end, finished.run.regions)
        };
        let whole = run(["partitions.arrays=0", "partitions.l2=0"], 1);
        assert!(run(["partitions.arrays=2", "partitions.l2=2"], 3) == whole, "{kind}: the cut changes statistics");
        times.push(whole.0);
    }
    assert!(times.iter().all(|time| *time <= times[3]), "nothing is slower than a bus: {times:?}");
    let changes = ["gpu.network.kind=ring", "gpu.network.capacity=1"].map(str::to_owned);
    let refused = Machine::load("skeleton", &changes).err().expect("such a ring gets stuck").to_string();
    assert!(refused.contains("a ring's wires must hold at least 2 messages in each lane, not 1"), "{refused}");
}

#[test]
fn a_run_that_is_checked_is_the_run_that_is_not() {
    for changes in [
        &["gpu.units_per_array=3"][..],
        &["protocol=wt_nc", "memory.kind=hbm"],
        &["protocol=halcone", "gpus=2"],
        &["protocol=gtsc", "wires.l2_memory.latency=7 ns"],
        &["protocol=hmg", "gpus=2", "gpu.network.kind=ring"],
    ] {
        let run = |check, threads| {
            let mut sums = Sums::new();
            let (a, b, c) = (sums.vector(|n| n as f32), sums.vector(|_| 1.0), sums.vector(|_| 0.0));
            // Arguments differ between launches, so the host writes before each.
            [[a, b, c], [c, b, a], [a, a, b]].into_iter().for_each(|vectors| sums.add(vectors, COUNT));
            let run = sums.run(changes, threads, check).run;
            (run.outcome, run.end, run.events, run.regions)
        };
        let unchecked = run(false, 1);
        assert_eq!(unchecked.0, Outcome::Finished, "{changes:?}");
        assert!(run(true, 1) == unchecked && run(true, 2) == unchecked, "{changes:?}: a check changes what happens");
    }
}

/// Three sums on a machine whose first-level caches are never invalidated; `change` is what the host writes before the
/// last.
fn without_invalidation(change: impl Fn(&mut Gpu, VirtAddr, &Kernel)) -> Outcome {
    let mut sums = Sums::new();
    let (a, b, c) = (sums.vector(|_| 0.0), sums.vector(|_| 1.0), sums.vector(|_| 0.0));
    sums.add([a, b, c], COUNT);
    let machine = Machine::load("skeleton", &["gpu.dispatcher.invalidate=false".to_owned()]).expect("it is sound");
    let dispatch = sums.dispatches.remove(0);
    let places = sums.gpu.stage(&sums.program, &dispatch, 40).expect("it can be staged");
    let code = Arc::clone(sums.program.code_of(dispatch.kernel()).expect("it is loaded"));
    let kernel = Kernel { dispatch, places, code };
    let mut session = Session::start(&machine, &Options { check: true, ..Options::default() });
    let regions: Vec<_> = sums.gpu.memory.regions().map(|(base, size, _)| (base, size)).collect();
    let map = Arc::new(AddressMap::new(sums.gpu.memory.regions()));
    for round in 0..3 {
        if round == 2 {
            change(&mut sums.gpu, a, &kernel);
        }
        let memory = &sums.gpu.memory;
        memory_sync::push(&mut session, &regions, |address, bytes| memory.read(address, bytes).is_ok());
        let launch = Launch { kernel: kernel.clone(), map: Arc::clone(&map), at: Time::ZERO };
        if session.launch(launch).is_err() {
            break;
        }
        for (address, bytes) in memory_sync::pull(&session, &regions, |at, bytes| memory.read(at, bytes).is_ok()) {
            sums.gpu.memory.write(address, &bytes).expect("it is mapped");
        }
    }
    session.finish().outcome
}

#[test]
fn every_kind_of_cache_that_was_not_invalidated_is_noticed_when_it_returns_a_stale_line() {
    assert_eq!(without_invalidation(|_, _, _| {}), Outcome::Finished, "nothing has changed");
    let write = |gpu: &mut Gpu, at: u64, bytes: &[u8]| gpu.memory.write(VirtAddr(at), bytes).expect("it is mapped");
    type Change<'a> = &'a dyn Fn(&mut Gpu, VirtAddr, &Kernel);
    let changes: [(&str, Change<'_>); 3] = [
        ("gpu0.array0.cu0.l1v", &|gpu, a, _| write(gpu, a.0 + 4 * (u64::from(COUNT) - 1), &7_f32.to_le_bytes())),
        // The last argument, the element count, changed in a byte that does not affect the result.
        ("gpu0.array0.l1s", &|gpu, _, kernel| write(gpu, kernel.places.kernarg.0 + 27, &[1])),
        ("gpu0.array0.l1i", &|gpu, _, kernel| write(gpu, kernel.code.start() + 3, &[0x55])),
    ];
    for (cache, change) in changes {
        let outcome = without_invalidation(change).to_string();
        let said = format!("a wrong value was read: {cache} has ");
        assert!(outcome.starts_with("check.golden_image failed at ") && outcome.contains(&said), "{cache}: {outcome}");
    }
}

#[test]
fn the_smallest_queues_slow_it_down_but_do_not_stop_it() {
    let (sums, c) = one_sum();
    let smallest = [
        "gpu.l1v.mshrs=1",
        "gpu.l1v.waiting=1",
        "gpu.l1v.size=256",
        "gpu.l1s.mshrs=1",
        "gpu.l1s.waiting=1",
        "gpu.l1s.size=256",
        "gpu.l1i.mshrs=1",
        "gpu.l1i.waiting=1",
        "gpu.l1i.size=256",
        "wires.dispatcher.capacity=1",
        "gpu.l2.mshrs=1",
        "gpu.l2.waiting=1",
        "gpu.l2.size=1KiB",
        "memory.fixed.outstanding=1",
        "wires.l1_l2.capacity=1",
        "wires.l2_memory.capacity=1",
        "gpu.units_per_array=2",
    ];
    let finished = sums.run(&smallest, 2, true);
    assert_eq!(finished.run.outcome, Outcome::Finished);
    assert_eq!(floats(&finished, c, COUNT as usize), (0..COUNT).map(|n| 1.5 * n as f32).collect::<Vec<_>>());
}

#[test]
fn an_access_that_needs_more_slots_than_there_are_is_a_deadlock_that_says_so() {
    let (sums, _) = one_sum();
    let finished = sums.run(&["gpu.compute_unit.line_slots=2"], 2, false);
    let Outcome::Deadlock(report) = &finished.run.outcome else { panic!("{}", finished.run.outcome) };
    let told = report.to_string();
    assert!(told.contains("gpu0.array0.cu0.control waits for gpu0.array0.cu0.line_slots"), "{told}");
}

/// Three kernels: the second overwrites what the first has read, on another compute unit, and the third reads it again.
fn read_write_read(changes: &[&str]) -> (Finished, VirtAddr) {
    let mut sums = Sums::new();
    let (old, new) = (sums.vector(|n| n as f32), sums.vector(|n| 100.0 + n as f32));
    let (zeros, result) = (sums.vector(|_| 0.0), sums.vector(|_| 0.0));
    // Shifted by one group: what group n reads was written by the compute unit of group n + 1.
    let further = old + Bytes(u64::from(4 * GROUP));
    sums.add([further, zeros, result], COUNT - GROUP);
    sums.add([new, zeros, old], COUNT);
    sums.add([further, zeros, result], COUNT - GROUP);
    let mut all = vec!["gpu.units_per_array=2"];
    all.extend(changes);
    (sums.run(&all, 1, true), result)
}

#[test]
fn a_kernel_sees_what_the_kernel_before_wrote_on_another_compute_unit() {
    let (finished, result) = read_write_read(&[]);
    assert_eq!(finished.run.outcome, Outcome::Finished);
    assert_eq!(floats(&finished, result, 2), [100.0 + GROUP as f32, 101.0 + GROUP as f32]);
}

#[test]
fn a_forgotten_invalidation_is_noticed_by_the_golden_image() {
    let (finished, _) = read_write_read(&["gpu.dispatcher.invalidate=false"]);
    let Outcome::Failed { context, message, .. } = &finished.run.outcome else { panic!("{}", finished.run.outcome) };
    assert_eq!(context, "check.golden_image");
    assert!(message.starts_with("a wrong value was read: gpu0.array0.cu1.l1v has"), "{message}");
}

#[test]
fn an_access_outside_of_what_was_allocated_names_the_lane() {
    let mut sums = Sums::new();
    let (a, b) = (sums.vector(|_| 0.0), sums.vector(|_| 0.0));
    sums.add([a, b, VirtAddr(64)], GROUP);
    let Outcome::Failed { message, .. } = sums.run(&[], 1, false).run.outcome else { panic!("it must fail") };
    assert!(message.contains("kernel 'vecadd', workgroup (0, 0, 0), wavefront 0, lane 0"), "{message}");
    assert!(message.contains("a store of 4 bytes at 0x40, where nothing is mapped"), "{message}");
}

#[test]
fn a_jump_out_of_the_code_fails_with_its_place() {
    let sums = Sums::new();
    let code = sums.program.code_of(sums.object.kernel("vecadd").expect("it is there")).expect("it is loaded");
    let mut first = [0; 16];
    sums.gpu.memory.read(VirtAddr(code.start()), &mut first).expect("it is loaded");
    let at = VECADD.windows(16).position(|bytes| bytes == first).expect("the file holds the code");
    // `s_branch` by this many words, forward and back.
    for words in [0x7000_u16, 0x9000] {
        let mut object = VECADD.to_vec();
        object[at..at + 4].copy_from_slice(&(0xbf82_0000 | u32::from(words)).to_le_bytes());
        let mut sums = Sums::of(&object);
        let vectors = [sums.vector(|_| 0.0), sums.vector(|_| 0.0), sums.vector(|_| 0.0)];
        sums.add(vectors, GROUP);
        let outcome = sums.run(&[], 1, true).run.outcome;
        let Outcome::Failed { message, .. } = outcome else { panic!("it must fail: {outcome}") };
        assert!(message.contains("kernel 'vecadd', workgroup (0, 0, 0), wavefront 0"), "{message}");
    }
}

#[test]
fn a_machine_file_can_extend_another_and_its_mistakes_are_reported_with_their_place() {
    let folder = std::env::temp_dir().join(format!("cohesim-machine-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is a folder for temporary files");
    let path = folder.join("mine.toml");
    let load = |text: &str| {
        std::fs::write(&path, text).expect("the folder is ours");
        Machine::load(path.to_str().expect("its name is plain"), &[]).map(|machine| machine.compute_units())
    };
    let wrong =
        |text: &str| load(text).expect_err("it is wrong").to_string().replace(path.to_str().unwrap(), "mine.toml");
    assert_eq!(load("extends = \"skeleton\"\n[gpu]\nunits_per_array = 7\n"), Ok(7));
    assert_eq!(
        wrong("extends = \"skeleton\"\n\n[gpu.l1v]\nsiez = \"4 KiB\"\n"),
        "mine.toml:4: [gpu.l1v] has no key 'siez' (did you mean 'size'?); its keys: size, ways, mshrs, waiting, join_queue, write_back_queue, latency, line, replacement, ports, tags"
    );
    assert_eq!(
        wrong("extends = \"skeleton\"\n[gpu.l1v]\nsize = \"4 kb\"\n"),
        "mine.toml:3: [gpu.l1v] size: '4 kb' is not a number with a unit (KiB, MiB, GiB, B)"
    );
    assert_eq!(
        wrong("extends = \"skeleton\"\n[gpu.l3]\n"),
        "mine.toml:2: there is no section [gpu.l3]; did you mean [gpu.l2]?"
    );
    assert_eq!(wrong("extends = \"skelton\"\n"), Machine::load("skelton", &[]).err().unwrap().to_string());
    assert!(wrong("about = \"x\"\n").contains("protocol"));
    assert!(wrong("about = \"x\"\nprotocol = \"wb_nc\"\ngpus = 1\n").contains("section [gpu] is missing"));
    assert_eq!(
        wrong("extends = \"skeleton\"\nprotocol = \"mosi\"\n"),
        "mine.toml:2: protocol: must be one of wb_nc, wb_fetch, wt_nc, mesi, mesi_alone, nmoesi, nmoesi_wb, halcone, gtsc, hmg (did you mean 'mesi'?)"
    );
    assert!(wrong("[gpu\n").starts_with("mine.toml:1: "));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn what_the_host_writes_between_kernels_is_what_the_next_one_reads() {
    let mut sums = Sums::new();
    let (a, b, c) = (sums.vector(|_| 0.0), sums.vector(|_| 1.0), sums.vector(|_| 0.0));
    sums.add([a, b, c], COUNT);
    let machine = Machine::load("skeleton", &[]).expect("the machine is sound");
    let dispatch = sums.dispatches.remove(0);
    let places = sums.gpu.stage(&sums.program, &dispatch, 40).expect("it can be staged");
    let code = Arc::clone(sums.program.code_of(dispatch.kernel()).expect("it is loaded"));
    let kernel = Kernel { dispatch, places, code };
    let mut session = Session::start(&machine, &Options { check: true, ..Options::default() });
    let memory = &sums.gpu.memory;
    let regions: Vec<_> = memory.regions().map(|(base, size, _)| (base, size)).collect();
    memory_sync::push(&mut session, &regions, |address, bytes| memory.read(address, bytes).is_ok());
    let map = Arc::new(AddressMap::new(memory.regions()));
    let mut end = Time::ZERO;
    for round in 1..=3 {
        let value = round as f32;
        session.write(PhysAddr(a.0), &value.to_le_bytes().repeat(COUNT as usize));
        let at = Time(end.0 + Time::micros(3000).0);
        let ended =
            session.launch(Launch { kernel: kernel.clone(), map: Arc::clone(&map), at }).expect("it comes to its end");
        assert!(ended.start >= at && ended.end > ended.start, "{ended:?} for {at}");
        end = ended.end;
        let mut bytes = vec![0; 4 * COUNT as usize];
        session.read(PhysAddr(c.0), &mut bytes);
        assert!(bytes.as_chunks::<4>().0.iter().all(|bytes| f32::from_le_bytes(*bytes) == value + 1.0));
    }
    assert_eq!(session.finish().outcome, Outcome::Finished);
}

#[test]
fn several_gpus_see_what_the_others_wrote_in_the_kernel_before() {
    // If caches are homes of lines, writes in flight to them over a long link must reach memory as well.
    let cases = [("wb_nc", "5 ns"), ("wt_nc", "5 ns"), ("hmg", "5 ns"), ("hmg", "2 us")];
    for (protocol, latency) in cases {
        let mut sums = Sums::new();
        let (a, b, c) = (sums.vector(|n| n as f32), sums.vector(|_| 1.0), sums.vector(|_| 0.0));
        // Workgroups of 64 floats go to the three GPUs in turn; a different length shifts which GPU gets which.
        for count in [COUNT, COUNT - 64, COUNT] {
            sums.add([a, b, c], count);
            sums.add([c, b, a], count);
        }
        let protocol = format!("protocol={protocol}");
        let wire = format!("wires.l2_memory.latency={latency}");
        let changes = [protocol.as_str(), wire.as_str(), "gpus=3", "gpu.units_per_array=2", "gpu.l2.banks=2"];
        let finished = sums.run(&changes, 2, true);
        assert_eq!(finished.run.outcome, Outcome::Finished, "{protocol}, {latency}");
        assert_eq!(floats(&finished, a, 960), (0..960).map(|n| n as f32 + 6.0).collect::<Vec<_>>());
    }
}
