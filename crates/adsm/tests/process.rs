//! Effects on the whole process: other signal handlers, forks, accesses that can't be served. Each case runs in its own
//! process.

use adsm::{
    Config, DeviceError, Error, KernelSource, Runtime,
    accel::{
        Abilities, Accelerator, Argument, DeviceMemory, KernelHandle, Ticket,
        sim::{Operation, Sim, SimSpec},
    },
};
use std::{
    env,
    os::unix::process::ExitStatusExt,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Runs one of the cases below in a new process.
fn case(name: &str) -> Output {
    let test = env::current_exe().expect("a test knows itself");
    Command::new(test).args(["--exact", name, "--ignored", "--nocapture"]).output().expect("it can be started")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn runtime() -> (Arc<Sim>, Runtime) {
    let sim = Arc::new(Sim::new(SimSpec::default()));
    let runtime = Runtime::with(vec![Arc::<Sim>::clone(&sim)], Config::default()).unwrap();
    (sim, runtime)
}

fn touch_device(runtime: &Runtime, x: &mut adsm::Shared<[u8]>) {
    let kernel = runtime.kernel(KernelSource::new("nothing").native(|_| {}));
    kernel.call(1, 1).write(x).launch().unwrap().sync().unwrap();
}

static FOREIGN: AtomicUsize = AtomicUsize::new(0);
static OPENED: AtomicUsize = AtomicUsize::new(0);

/// Another library's handler: opens one page and counts.
extern "C" fn foreign(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: a handler with SA_SIGINFO gets one; the page is the test's.
    unsafe {
        let page = OPENED.load(Ordering::Relaxed);
        if (*info).si_addr() as usize == page {
            libc::mprotect(page as *mut libc::c_void, 4096, libc::PROT_READ | libc::PROT_WRITE);
            FOREIGN.fetch_add(1, Ordering::Relaxed);
        } else {
            libc::abort();
        }
    }
}

fn install_foreign() {
    // SAFETY: a handler of the right type, in a process of its own.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = foreign;
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
    }
}

/// A closed page that the foreign handler opens.
fn touch_foreign() {
    // SAFETY: a new page; the handler opens it.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0);
        OPENED.store(page as usize, Ordering::Relaxed);
        page.cast::<u8>().write_volatile(1);
    }
}

#[test]
fn a_handler_that_was_there_before_still_gets_its_faults() {
    let output = case("case_handler_before");
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
#[ignore = "a case of its own process"]
fn case_handler_before() {
    install_foreign();
    let (_, runtime) = runtime();
    let mut x = runtime.alloc::<u8>(100).unwrap();
    x[3] = 4;
    touch_foreign();
    touch_device(&runtime, &mut x);
    assert_eq!((x[3], FOREIGN.load(Ordering::Relaxed)), (4, 1));
}

#[test]
fn a_handler_installed_later_is_called_second_from_the_next_call_on() {
    let output = case("case_handler_later");
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
#[ignore = "a case of its own process"]
fn case_handler_later() {
    let (_, runtime) = runtime();
    let mut x = runtime.alloc::<u8>(100).unwrap();
    x[3] = 4;
    install_foreign();
    touch_device(&runtime, &mut x);
    assert_eq!(x[3], 4);
    touch_foreign();
    assert_eq!(FOREIGN.load(Ordering::Relaxed), 1);
}

#[test]
fn a_bad_access_still_ends_the_process_by_sigsegv() {
    let output = case("case_bad_access");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{}", told(&output));
}

#[test]
#[ignore = "a case of its own process"]
fn case_bad_access() {
    let (_, _runtime) = runtime();
    // SAFETY: none; this is the bad access that the test checks.
    unsafe { std::ptr::without_provenance_mut::<u8>(64).write_volatile(1) };
}

#[test]
fn a_stack_overflow_is_still_reported_by_the_handler_of_the_standard_library() {
    let output = case("case_stack_overflow");
    let told = told(&output);
    assert!(!output.status.success() && told.contains("has overflowed its stack"), "{:?} {told}", output.status);
}

#[test]
#[ignore = "a case of its own process"]
fn case_stack_overflow() {
    fn dive(depth: u64) -> u64 {
        let room = std::hint::black_box([depth; 512]);
        if depth == u64::MAX { 0 } else { dive(depth + 1) + room[7] }
    }
    let (_, _runtime) = runtime();
    println!("{}", dive(0));
}

/// A simulated device whose driver needs much more stack than a small thread has.
struct Deep(Sim);

impl Deep {
    fn dive(&self) {
        std::hint::black_box([1u8; 300 << 10]);
    }
}

impl Accelerator for Deep {
    fn name(&self) -> String {
        self.0.name()
    }
    fn abilities(&self) -> Abilities {
        self.0.abilities()
    }
    fn allocate(&self, len: usize) -> Result<DeviceMemory, DeviceError> {
        self.0.allocate(len)
    }
    fn free(&self, memory: DeviceMemory) -> Result<(), DeviceError> {
        self.0.free(memory)
    }
    unsafe fn upload(&self, to: &DeviceMemory, at: usize, from: *const u8, len: usize) -> Result<Ticket, DeviceError> {
        self.dive();
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.upload(to, at, from, len) }
    }
    unsafe fn download(&self, from: &DeviceMemory, at: usize, to: *mut u8, len: usize) -> Result<(), DeviceError> {
        self.dive();
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.download(from, at, to, len) }
    }
    unsafe fn start_download(
        &self,
        from: &DeviceMemory,
        at: usize,
        to: *mut u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.start_download(from, at, to, len) }
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
    fn fill(&self, memory: &DeviceMemory, at: usize, len: usize, byte: u8) -> Result<(), DeviceError> {
        self.0.fill(memory, at, len, byte)
    }
    fn is_done(&self, ticket: Ticket) -> Result<bool, DeviceError> {
        self.0.is_done(ticket)
    }
    fn wait(&self, ticket: Ticket) -> Result<(), DeviceError> {
        self.0.wait(ticket)
    }
    fn load(&self, source: &KernelSource) -> Result<KernelHandle, DeviceError> {
        self.0.load(source)
    }
    fn launch(
        &self,
        kernel: &KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Ticket, DeviceError> {
        self.0.launch(kernel, grid, block, arguments)
    }
}

/// The body of the small thread: a load of data that the device has, and a store.
extern "C" fn touch_on_a_small_stack(at: *mut libc::c_void) -> *mut libc::c_void {
    let at = at.cast::<u8>();
    // SAFETY: a byte of a shared object.
    unsafe { at.write_volatile(at.read_volatile() + 3) };
    std::ptr::null_mut()
}

#[test]
fn a_fault_on_a_small_stack_is_served_on_a_large_one() {
    let output = case("case_small_stack");
    assert!(output.status.success(), "{:?} {}", output.status, told(&output));
}

#[test]
#[ignore = "a case of its own process"]
fn case_small_stack() {
    let runtime = Runtime::with(vec![Arc::new(Deep(Sim::new(SimSpec::default())))], Config::default()).unwrap();
    let mut x = runtime.alloc::<u8>(100).unwrap();
    x[0] = 4;
    touch_device(&runtime, &mut x);
    // SAFETY: a thread with the smallest stack, which is joined; it has no alternative signal stack either.
    unsafe {
        let (mut attributes, mut thread) = (std::mem::zeroed(), std::mem::zeroed());
        libc::pthread_attr_init(&mut attributes);
        assert_eq!(libc::pthread_attr_setstacksize(&mut attributes, 32 << 10), 0);
        let at = x.as_mut_ptr().cast();
        assert_eq!(libc::pthread_create(&mut thread, &attributes, touch_on_a_small_stack, at), 0);
        libc::pthread_join(thread, std::ptr::null_mut());
    }
    assert_eq!(x[0], 7);
}

#[test]
fn bytes_that_cannot_be_fetched_end_the_process_with_the_reason() {
    let output = case("case_cannot_fetch");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{}", told(&output));
    let told = told(&output);
    assert!(
        told.contains("was accessed, but its data can't be fetched: the simulated device: a download failed: broken"),
        "{told}"
    );
}

#[test]
#[ignore = "a case of its own process"]
fn case_cannot_fetch() {
    let (sim, runtime) = runtime();
    let mut x = runtime.alloc::<u8>(100).unwrap();
    touch_device(&runtime, &mut x);
    let (device, why) = ("the simulated device".to_owned(), "broken".to_owned());
    sim.fail_after(0, Operation::Download, DeviceError::Failed { device, what: "a download", why });
    assert_eq!(x[0], 0);
}

#[test]
fn a_forked_child_has_no_objects_and_does_its_parent_no_harm() {
    let output = case("case_fork");
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
#[ignore = "a case of its own process"]
fn case_fork() {
    let (_, runtime) = runtime();
    let mut x = runtime.alloc::<u8>(100).unwrap();
    x[0] = 1;
    let kernel = runtime.kernel(KernelSource::new("nothing").native(|_| {}));
    // SAFETY: the child only calls functions that are allowed there, and exits at once.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let refused = matches!(runtime.alloc::<u8>(1), Err(Error::Forked))
                && matches!(kernel.call(1, 1).write(&mut x).launch().map(drop), Err(Error::Forked))
                && matches!(runtime.sync(), Err(Error::Forked));
            libc::_exit(if refused { 0 } else { 1 });
        }
        let mut status = 0;
        libc::waitpid(child, &mut status, 0);
        assert_eq!(status, 0, "the child was refused everything");
        // An access in the child is a bad access there and does not affect the parent.
        let child = libc::fork();
        if child == 0 {
            (x.as_ptr() as *mut u8).write_volatile(9);
            libc::_exit(0);
        }
        libc::waitpid(child, &mut status, 0);
        assert!(libc::WIFSIGNALED(status));
    }
    touch_device(&runtime, &mut x);
    assert_eq!(x[0], 1);
}

#[test]
fn more_mappings_than_the_system_has_open_the_whole_object() {
    let output = case("case_mappings");
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
#[ignore = "a case of its own process"]
fn case_mappings() {
    const PAGE: usize = 4096;
    let config = Config { block: PAGE, rolling: 10_000, ahead: 0, ..Config::default() };
    let sim = Arc::new(Sim::new(SimSpec::default()));
    let runtime = Runtime::with(vec![Arc::<Sim>::clone(&sim)], config).unwrap();
    let blocks = 4_000;
    let mut x = runtime.alloc::<u8>(blocks * PAGE).unwrap();
    let add_one = runtime.kernel(KernelSource::new("add_one").native(|call| {
        call.memory[0].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    }));
    use_up_mappings();
    // Every other page would need a mapping of its own.
    for block in (0..blocks).step_by(2) {
        x[block * PAGE] = 4;
    }
    assert!(runtime.stats().coarsened > 0, "the limit was met");
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert!((0..blocks).all(|block| x[block * PAGE] == if block % 2 == 0 { 5 } else { 1 }));
}

/// Uses up all but about 500 of the mappings that the system allows a process.
fn use_up_mappings() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let pages = limit + 16;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a range of our own that is never accessed; every other page gets another protection.
    unsafe {
        let base = libc::mmap(std::ptr::null_mut(), pages * 4096, libc::PROT_NONE, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        let page = |index: usize| base.cast::<u8>().add(index * 4096).cast();
        let mut split = 1;
        while split < pages && libc::mprotect(page(split), 4096, libc::PROT_READ) == 0 {
            split += 2;
        }
        assert!(split < pages, "the limit was met");
        for index in (split - 500..split - 2).step_by(2) {
            libc::mprotect(page(index), 4096, libc::PROT_NONE);
        }
    }
}
