//! Tests of programs and kernels.

use super::{
    super::{PolicyKind, Settings, cl, function::Function::*},
    support::Program,
};

const ADD: &str = "__kernel void add(__global int *a, __global const int *b, int c) {
    int i = get_global_id(0); a[i] += b[i] + c; }
__kernel void sums(__global int *out, __local int *part) {
    int i = get_local_id(0); part[i] = get_global_id(0); barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) { int s = 0; for (int k = 0; k < get_local_size(0); k++) s += part[k]; out[get_group_id(0)] = s; } }
__kernel void lost(__global int *p) { p[1 << 28] = 1; }
__kernel void forever(volatile __global int *p) { while (p[0] == 0) {} }";

fn added(policy: PolicyKind) {
    let mut program = Program::with(Settings { policy, ..Settings::default() });
    let setup = program.set_up(0);
    let built = program.build(&setup, ADD);
    let kernel = program.kernel(built, "add");
    let (a, b) = (program.buffer(&setup, &[1; 256]), program.buffer(&setup, &(0..256).collect::<Vec<_>>()));
    program.set_arg(kernel, 0, &a.to_le_bytes());
    program.set_arg(kernel, 1, &b.to_le_bytes());
    program.set_arg(kernel, 2, &100i32.to_le_bytes());
    program.run(&setup, kernel, 256, 64);
    assert_eq!(program.read(&setup, a, 256), (0..256).map(|n| n + 101).collect::<Vec<_>>());
}

#[test]
fn a_kernel_from_source_computes_under_every_policy() {
    added(PolicyKind::Memcpy);
    added(PolicyKind::Shared);
}

#[test]
fn work_groups_are_dealt_to_all_gpus_or_to_the_one_that_is_the_device() {
    for (device_per_gpu, expected) in [(false, [2, 2, 1]), (true, [5, 0, 0])] {
        let mut program = Program::with(Settings { gpus: 3, device_per_gpu, ..Settings::default() });
        let setup = program.set_up(0);
        let built = program.build(&setup, ADD);
        let kernel = program.kernel(built, "add");
        let (a, b) = (program.buffer(&setup, &[1; 320]), program.buffer(&setup, &[2; 320]));
        program.set_arg(kernel, 0, &a.to_le_bytes());
        program.set_arg(kernel, 1, &b.to_le_bytes());
        program.set_arg(kernel, 2, &3i32.to_le_bytes());
        program.run(&setup, kernel, 320, 64);
        assert_eq!(program.read(&setup, a, 320), [6; 320]);
        assert_eq!(program.driver.usage().borrow().groups, expected);
    }
}

#[test]
fn local_arguments_and_large_work_groups_work() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(&setup, ADD);
    let kernel = program.kernel(built, "sums");
    let out = program.buffer(&setup, &[0; 4]);
    program.set_arg(kernel, 0, &out.to_le_bytes());
    program.ok(SetKernelArg, &[kernel, 1, 4 * 1024, 0]);
    for group in [128u64, 1024] {
        program.run(&setup, kernel, 2 * group, group);
        let sum = |first: u64| (first..first + group).sum::<u64>() as i32;
        assert_eq!(program.read(&setup, out, 2), [sum(0), sum(group)], "groups of {group}");
    }
    let most = program.query_word(GetKernelWorkGroupInfo, &[kernel, setup.device, cl::KERNEL_WORK_GROUP_SIZE]);
    assert_eq!(most, 1024);
    assert_eq!(program.query_word(GetKernelWorkGroupInfo, &[kernel, 0, cl::KERNEL_LOCAL_MEM_SIZE]), 4096);
}

#[test]
fn arguments_are_checked() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(&setup, ADD);
    let kernel = program.kernel(built, "add");
    let place = program.put_words(&[0x1234]);
    assert_eq!(program.status(SetKernelArg, &[kernel, 3, 4, place]), cl::INVALID_ARG_INDEX);
    assert_eq!(program.status(SetKernelArg, &[kernel, 2, 8, place]), cl::INVALID_ARG_SIZE);
    assert_eq!(program.status(SetKernelArg, &[kernel, 2, 4, 0]), cl::INVALID_ARG_VALUE);
    assert_eq!(program.status(SetKernelArg, &[kernel, 0, 4, place]), cl::INVALID_ARG_SIZE);
    assert_eq!(program.status(SetKernelArg, &[kernel, 0, 8, place]), cl::INVALID_MEM_OBJECT);
    assert_eq!(program.status(SetKernelArg, &[kernel + 16, 0, 8, place]), cl::INVALID_KERNEL);
    program.ok(SetKernelArg, &[kernel, 0, 8, 0]);
    let sums = program.kernel(built, "sums");
    assert_eq!(program.status(SetKernelArg, &[sums, 1, 64, place]), cl::INVALID_ARG_VALUE);
    assert_eq!(program.status(SetKernelArg, &[sums, 1, 0, 0]), cl::INVALID_ARG_SIZE);
    let size = program.put_words(&[64]);
    let enqueue = [setup.queue, kernel, 1, 0, size, size, 0, 0, 0];
    assert_eq!(program.status(EnqueueNDRangeKernel, &enqueue), cl::INVALID_KERNEL_ARGS);
    let name = program.text("nobody");
    assert_eq!(program.make(CreateKernel, &[built, name]), Err(cl::INVALID_KERNEL_NAME));
}

#[test]
fn sizes_of_a_launch_are_checked() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(
        &setup,
        "__kernel void one(__global int *p) { p[get_global_id(0)] = get_global_size(0); }
        __kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eight(__global int *p) { p[0] = 1; }",
    );
    let kernel = program.kernel(built, "one");
    let out = program.buffer(&setup, &[0; 128]);
    program.set_arg(kernel, 0, &out.to_le_bytes());
    let mut launch = |kernel: u64, dims: u64, global: &[u64], local: &[u64]| {
        let global = if global.is_empty() { 0 } else { program.put_words(global) };
        let local = if local.is_empty() { 0 } else { program.put_words(local) };
        program.status(EnqueueNDRangeKernel, &[setup.queue, kernel, dims, 0, global, local, 0, 0, 0])
    };
    assert_eq!(launch(kernel, 0, &[1], &[]), cl::INVALID_WORK_DIMENSION);
    assert_eq!(launch(kernel, 4, &[1], &[]), cl::INVALID_WORK_DIMENSION);
    assert_eq!(launch(kernel, 1, &[], &[]), cl::INVALID_GLOBAL_WORK_SIZE);
    assert_eq!(launch(kernel, 1, &[0], &[]), cl::INVALID_GLOBAL_WORK_SIZE);
    assert_eq!(launch(kernel, 1, &[100], &[64]), cl::INVALID_WORK_GROUP_SIZE, "no multiple");
    assert_eq!(launch(kernel, 1, &[4096], &[2048]), cl::INVALID_WORK_ITEM_SIZE);
    assert_eq!(launch(kernel, 2, &[64, 64], &[64, 64]), cl::INVALID_WORK_GROUP_SIZE);
    assert_eq!(launch(kernel, 1, &[64], &[0]), cl::INVALID_WORK_GROUP_SIZE);
    assert_eq!(launch(kernel, 1, &[100], &[]), cl::SUCCESS, "the driver chooses");
    assert_eq!(program.read(&setup, out, 101), [vec![100; 100], vec![0]].concat());
    let eight = program.kernel(built, "eight");
    program.set_arg(eight, 0, &out.to_le_bytes());
    let (sixteen, four) = (program.put_words(&[16]), program.put_words(&[4]));
    let enqueue = [setup.queue, eight, 1, 0, sixteen, four, 0, 0, 0];
    assert_eq!(program.status(EnqueueNDRangeKernel, &enqueue), cl::INVALID_WORK_GROUP_SIZE);
    program.ok(EnqueueNDRangeKernel, &[setup.queue, eight, 1, 0, sixteen, 0, 0, 0, 0]);
}

#[test]
fn offsets_move_global_ids() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(
        &setup,
        "__kernel void ids(__global int *p) {
        p[get_global_id(0)] = 10 * get_global_offset(0) + get_group_id(0); }",
    );
    let kernel = program.kernel(built, "ids");
    let out = program.buffer(&setup, &[-1; 8]);
    program.set_arg(kernel, 0, &out.to_le_bytes());
    let (offset, global, local) = (program.put_words(&[3]), program.put_words(&[4]), program.put_words(&[2]));
    program.ok(EnqueueNDRangeKernel, &[setup.queue, kernel, 1, offset, global, local, 0, 0, 0]);
    assert_eq!(program.read(&setup, out, 8), [-1, -1, -1, 30, 30, 31, 31, -1]);
}

#[test]
fn a_kernel_with_an_error_fails_its_event_and_says_why() {
    for name in ["lost", "forever"] {
        let mut program = Program::with(Settings { kernel_limit: Some(100_000), ..Settings::default() });
        let setup = program.set_up(0);
        let built = program.build(&setup, ADD);
        let kernel = program.kernel(built, name);
        let out = program.buffer(&setup, &[0]);
        program.set_arg(kernel, 0, &out.to_le_bytes());
        let (one, event) = (program.put_words(&[1]), program.put_words(&[0]));
        program.ok(EnqueueNDRangeKernel, &[setup.queue, kernel, 1, 0, one, one, 0, 0, event]);
        assert_eq!(program.status(Finish, &[setup.queue]), cl::OUT_OF_RESOURCES);
        let event = program.get_word(event);
        let status = program.query_int(GetEventInfo, &[event, cl::EVENT_COMMAND_EXECUTION_STATUS]);
        assert_eq!(status, cl::OUT_OF_RESOURCES.0);
        let said = program.said.borrow().join("\n");
        assert!(said.contains(&format!("kernel '{name}'")), "{said}");
    }
}

#[test]
fn the_output_of_a_kernel_is_printed() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let source = r#"__kernel void talk(__global int *p) {
        int i = get_global_id(0);
        printf("%d: %5.2f|%-4u|%x %s%% %c\n", i, 1.5f * i, 7u, 255, "end", 'z');
        if (i == 1) printf("v=%v4d %v2f\n", (int4)(1, 2, 3, 4), (float2)(0.5f, 2.0f));
    }"#;
    let built = program.build(&setup, source);
    let kernel = program.kernel(built, "talk");
    let out = program.buffer(&setup, &[0]);
    program.set_arg(kernel, 0, &out.to_le_bytes());
    program.run(&setup, kernel, 2, 1);
    program.ok(Finish, &[setup.queue]);
    let text = String::from_utf8(program.printed.clone()).unwrap();
    assert_eq!(text, "0:  0.00|7   |ff end% z\n1:  1.50|7   |ff end% z\nv=1,2,3,4 0.500000,2.000000\n");
}

#[test]
fn a_wrong_source_gives_a_log() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let text = program.text("__kernel void broken(__global int *p) { p[0] = oops; }");
    let strings = program.put_words(&[text]);
    let made = program.make(CreateProgramWithSource, &[setup.context, 1, strings, 0]).unwrap();
    assert_eq!(program.status(BuildProgram, &[made, 0, 0, 0, 0, 0]), cl::BUILD_PROGRAM_FAILURE);
    let log = program.query_text(GetProgramBuildInfo, &[made, setup.device, cl::PROGRAM_BUILD_LOG]);
    assert!(log.contains("program.cl:1:48: error: use of undeclared identifier 'oops'"), "{log}");
    let status = program.query_int(GetProgramBuildInfo, &[made, setup.device, cl::PROGRAM_BUILD_STATUS]);
    assert_eq!(status, cl::BUILD_ERROR.0);
    let name = program.text("broken");
    assert_eq!(program.make(CreateKernel, &[made, name]), Err(cl::INVALID_PROGRAM_EXECUTABLE));
    let options = program.text("-fplugin=x.so");
    assert_eq!(program.status(BuildProgram, &[made, 0, 0, options, 0, 0]), cl::INVALID_BUILD_OPTIONS);
    let log = program.query_text(GetProgramBuildInfo, &[made, setup.device, cl::PROGRAM_BUILD_LOG]);
    assert_eq!(log, "error: unknown option '-fplugin=x.so'\n");
}

#[test]
fn a_binary_can_be_taken_out_and_put_back_without_a_compiler() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(&setup, ADD);
    let size = program.query_word(GetProgramInfo, &[built, cl::PROGRAM_BINARY_SIZES]);
    let place = program.put(&vec![0; size as usize]);
    let places = program.put_words(&[place]);
    program.ok(GetProgramInfo, &[built, cl::PROGRAM_BINARIES, 8, places, 0]);
    let names = program.query_text(GetProgramInfo, &[built, cl::PROGRAM_KERNEL_NAMES]);
    assert_eq!(names, "add;sums;lost;forever");
    let settings = crate::compiler::Settings { clang: "/nowhere/clang".into(), ..crate::compiler::Settings::default() };
    program.driver.compiler = crate::compiler::Compiler::new(settings, &engine::Monitor::default());
    let (lengths, devices, state) =
        (program.put_words(&[size]), program.put_words(&[setup.device]), program.put_ints(&[9]));
    let again = program.make(CreateProgramWithBinary, &[setup.context, 1, devices, lengths, places, state]).unwrap();
    assert_eq!(program.get_ints(state, 1), [0]);
    program.ok(BuildProgram, &[again, 1, devices, 0, 0, 0]);
    program.kernel(again, "sums");
    let junk = program.text("not a code object");
    let places = program.put_words(&[junk]);
    let made = program.make(CreateProgramWithBinary, &[setup.context, 1, devices, lengths, places, state]);
    assert!(made.is_err());
    let text = program.text("__kernel void k() {}");
    let strings = program.put_words(&[text]);
    let source = program.make(CreateProgramWithSource, &[setup.context, 1, strings, 0]).unwrap();
    assert_eq!(program.status(BuildProgram, &[source, 0, 0, 0, 0, 0]), cl::COMPILER_NOT_AVAILABLE);
    assert!(program.said.borrow().join("").contains("apt install clang-19 lld-19 rocm-device-libs"));
}

#[test]
fn programs_are_compiled_in_parts_and_linked() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let mut source = |text: &str| {
        let text = program.text(text);
        let strings = program.put_words(&[text]);
        program.make(CreateProgramWithSource, &[setup.context, 1, strings, 0]).unwrap()
    };
    let header = source("int twice(int x);\n");
    let library = source("int twice(int x) { return 2 * x; }");
    let main = source("#include \"lib/twice.h\"\n__kernel void k(__global int *p) { p[0] = twice(p[0]); }");
    let (headers, name) = (program.put_words(&[header]), program.text("lib/twice.h"));
    let names = program.put_words(&[name]);
    program.ok(CompileProgram, &[main, 0, 0, 0, 1, headers, names, 0, 0]);
    program.ok(CompileProgram, &[library, 0, 0, 0, 0, 0, 0, 0, 0]);
    let parts = program.put_words(&[main, library]);
    let linked = program.make(LinkProgram, &[setup.context, 0, 0, 0, 2, parts, 0, 0]).unwrap();
    let kernel = program.kernel(linked, "k");
    let buffer = program.buffer(&setup, &[21]);
    program.set_arg(kernel, 0, &buffer.to_le_bytes());
    program.run(&setup, kernel, 1, 1);
    assert_eq!(program.read(&setup, buffer, 1), [42]);
    let kind = program.query_int(GetProgramBuildInfo, &[main, setup.device, cl::PROGRAM_BINARY_TYPE]);
    assert_eq!(kind as u64, cl::PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    let parts = program.put_words(&[main]);
    let place = program.put_ints(&[1]);
    program.call(LinkProgram, &[setup.context, 0, 0, 0, 1, parts, 0, 0, place]);
    assert_eq!(program.get_ints(place, 1), [cl::LINK_PROGRAM_FAILURE.0], "half of it");
}

#[test]
fn kernels_tell_of_their_arguments() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(
        &setup,
        "__kernel void k(__global const float *restrict a, __constant int *b,
        __local int *c, uint4 d, __read_only image2d_t e) { }",
    );
    let kernel = program.kernel(built, "k");
    assert_eq!(program.query_int(GetKernelInfo, &[kernel, cl::KERNEL_NUM_ARGS]), 5);
    assert_eq!(program.query_text(GetKernelInfo, &[kernel, cl::KERNEL_FUNCTION_NAME]), "k");
    let address = |program: &mut Program, n| {
        program.query_int(GetKernelArgInfo, &[kernel, n, cl::KERNEL_ARG_ADDRESS_QUALIFIER]) as u64
    };
    assert_eq!(address(&mut program, 0), cl::KERNEL_ARG_ADDRESS_GLOBAL);
    assert_eq!(address(&mut program, 1), cl::KERNEL_ARG_ADDRESS_CONSTANT);
    assert_eq!(address(&mut program, 2), cl::KERNEL_ARG_ADDRESS_LOCAL);
    assert_eq!(address(&mut program, 3), cl::KERNEL_ARG_ADDRESS_PRIVATE);
    assert_eq!(program.query_text(GetKernelArgInfo, &[kernel, 0, cl::KERNEL_ARG_TYPE_NAME]), "float*");
    assert_eq!(program.query_text(GetKernelArgInfo, &[kernel, 3, cl::KERNEL_ARG_NAME]), "d");
    let qualifiers = program.query_word(GetKernelArgInfo, &[kernel, 0, cl::KERNEL_ARG_TYPE_QUALIFIER]);
    assert_eq!(qualifiers, cl::KERNEL_ARG_TYPE_CONST | cl::KERNEL_ARG_TYPE_RESTRICT);
    let access = program.query_int(GetKernelArgInfo, &[kernel, 4, cl::KERNEL_ARG_ACCESS_QUALIFIER]);
    assert_eq!(access as u64, cl::KERNEL_ARG_ACCESS_READ_ONLY);
    let beyond = [kernel, 5, cl::KERNEL_ARG_NAME];
    assert_eq!(program.query(GetKernelArgInfo, &beyond), Err(cl::INVALID_ARG_INDEX));
}

#[test]
fn a_kernel_that_other_compilers_accept_gets_the_fix_with_the_error() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let text = program.text("__kernel void k() { __local atomic_int n; n = 0; }");
    let strings = program.put_words(&[text]);
    let made = program.make(CreateProgramWithSource, &[setup.context, 1, strings, 0]).unwrap();
    let mut log = |options: &str| {
        let options = program.text(options);
        let status = program.status(BuildProgram, &[made, 0, 0, options, 0, 0]);
        assert_eq!(status, cl::BUILD_PROGRAM_FAILURE);
        program.query_text(GetProgramBuildInfo, &[made, setup.device, cl::PROGRAM_BUILD_LOG])
    };
    let plain = log("-cl-std=CL2.0");
    assert!(plain.contains("error: ") && plain.contains("hint: ") && plain.contains("atomic_store(&x, v)"), "{plain}");
    let old = log("");
    assert!(old.contains("unknown type name 'atomic_int'") && old.contains("add -cl-std=CL2.0"), "{old}");
}
