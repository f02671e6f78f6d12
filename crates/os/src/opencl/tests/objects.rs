//! Tests of platforms, devices, contexts, and the lifetimes of objects.

use super::{
    super::{PolicyKind, Settings, abi, cl, device::PLATFORM, function::Function::*},
    support::Program,
};
use crate::guest::{Answer, Tid, Trap};

#[test]
fn platforms_and_devices_are_found_as_programs_look_for_them() {
    let mut program = Program::new();
    let count = program.put_ints(&[77]);
    program.ok(GetPlatformIDs, &[0, 0, count]);
    assert_eq!(program.get_ints(count, 1), [1]);
    assert_eq!(program.status(GetPlatformIDs, &[0, count, 0]), cl::INVALID_VALUE);
    assert_eq!(program.status(GetPlatformIDs, &[0, 0, 0]), cl::INVALID_VALUE);
    program.ok(GetDeviceIDs, &[PLATFORM, cl::DEVICE_TYPE_ALL, 0, 0, count]);
    assert_eq!(program.get_ints(count, 1), [1]);
    let devices = |kind| [PLATFORM, kind, 0, 0, count];
    assert_eq!(program.status(GetDeviceIDs, &devices(cl::DEVICE_TYPE_CPU)), cl::DEVICE_NOT_FOUND);
    assert_eq!(program.get_ints(count, 1), [0]);
    assert_eq!(program.status(GetDeviceIDs, &devices(1 << 20)), cl::INVALID_DEVICE_TYPE);
    assert_eq!(program.status(GetDeviceIDs, &[5, cl::DEVICE_TYPE_ALL, 0, 0, count]), cl::INVALID_PLATFORM);
    assert_eq!(program.query_text(GetPlatformInfo, &[PLATFORM, cl::PLATFORM_NAME]), "cohesim");
    assert_eq!(program.query(GetPlatformInfo, &[PLATFORM, 0]), Err(cl::INVALID_VALUE));
}

#[test]
fn every_question_about_a_device_has_an_answer_of_the_right_size() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let mut answered = 0;
    for what in 0x1000..0x1070 {
        answered += usize::from(program.query(GetDeviceInfo, &[setup.device, what]).is_ok());
    }
    assert!(answered >= 90, "{answered}");
    assert_eq!(program.query(GetDeviceInfo, &[setup.device, cl::DEVICE_MAX_WORK_ITEM_SIZES]).unwrap().len(), 24);
    assert_eq!(program.query_int(GetDeviceInfo, &[setup.device, cl::DEVICE_HOST_UNIFIED_MEMORY]), 0);
    assert_eq!(program.query(GetDeviceInfo, &[setup.device + 1, cl::DEVICE_NAME]), Err(cl::INVALID_DEVICE));
}

#[test]
fn several_gpus_are_one_device_or_several() {
    for (device_per_gpu, expected) in [(false, 1), (true, 4)] {
        let mut program = Program::with(Settings { gpus: 4, device_per_gpu, ..Settings::default() });
        let count = program.put_ints(&[0]);
        program.ok(GetDeviceIDs, &[PLATFORM, cl::DEVICE_TYPE_GPU, 0, 0, count]);
        assert_eq!(program.get_ints(count, 1), [expected]);
    }
}

#[test]
fn contexts_are_made_of_types_and_properties() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let properties = program.put_words(&[cl::CONTEXT_PLATFORM, PLATFORM, 0]);
    let context = program.make(CreateContextFromType, &[properties, cl::DEVICE_TYPE_GPU, 0, 0]).unwrap();
    assert_eq!(program.query_word(GetContextInfo, &[context, cl::CONTEXT_DEVICES]), setup.device);
    assert_eq!(program.query(GetContextInfo, &[context, cl::CONTEXT_PROPERTIES]).unwrap().len(), 24);
    let (cpu, others) = (cl::DEVICE_TYPE_CPU, cl::DEVICE_TYPE_ACCELERATOR | cl::DEVICE_TYPE_CUSTOM);
    let list = program.put_words(&[0]);
    for kind in [cpu, others, cpu | others] {
        for properties in [0, properties] {
            let made = program.make(CreateContextFromType, &[properties, kind, 0, 0]);
            assert_eq!(made, Err(cl::DEVICE_NOT_FOUND), "a machine has GPUs alone");
        }
        assert_eq!(program.status(GetDeviceIDs, &[PLATFORM, kind, 1, list, 0]), cl::DEVICE_NOT_FOUND);
    }
    program.ok(GetDeviceIDs, &[PLATFORM, cpu | cl::DEVICE_TYPE_GPU, 1, list, 0]);
    assert_eq!(program.get_word(list), setup.device);
    let wrong = program.put_words(&[cl::CONTEXT_PLATFORM, 1, 0]);
    assert_eq!(program.make(CreateContextFromType, &[wrong, cl::DEVICE_TYPE_GPU, 0, 0]), Err(cl::INVALID_PLATFORM));
    let wrong = program.put_words(&[0x9999, 1, 0]);
    assert_eq!(program.make(CreateContextFromType, &[wrong, cl::DEVICE_TYPE_GPU, 0, 0]), Err(cl::INVALID_PROPERTY));
}

#[test]
fn objects_outlive_what_they_were_made_of() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let buffer = program.buffer(&setup, &[1, 2, 3, 4]);
    let region = program.put_words(&[0, 8]);
    let part = program.make(CreateSubBuffer, &[buffer, 0, cl::BUFFER_CREATE_TYPE_REGION, region]).unwrap();
    program.ok(ReleaseMemObject, &[buffer]);
    assert_eq!(program.status(ReleaseMemObject, &[buffer]), cl::INVALID_MEM_OBJECT);
    program.ok(ReleaseContext, &[setup.context]);
    assert_eq!(program.status(RetainContext, &[setup.context]), cl::INVALID_CONTEXT);
    assert_eq!(program.read(&setup, part, 2), [1, 2], "the part holds the whole, and the queue the context");
    program.ok(ReleaseMemObject, &[part]);
    assert_eq!(program.query_int(GetCommandQueueInfo, &[setup.queue, cl::QUEUE_REFERENCE_COUNT]), 1);
    program.ok(RetainCommandQueue, &[setup.queue]);
    assert_eq!(program.query_int(GetCommandQueueInfo, &[setup.queue, cl::QUEUE_REFERENCE_COUNT]), 2);
    program.ok(ReleaseCommandQueue, &[setup.queue]);
    program.ok(ReleaseCommandQueue, &[setup.queue]);
    assert_eq!(program.status(Finish, &[setup.queue]), cl::INVALID_COMMAND_QUEUE);
}

#[test]
fn destructors_are_called_last_one_first() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let buffer = program.buffer(&setup, &[1]);
    program.ok(SetMemObjectDestructorCallback, &[buffer, 0x111, 1]);
    program.ok(SetMemObjectDestructorCallback, &[buffer, 0x222, 2]);
    program.ok(ReleaseMemObject, &[buffer]);
    assert_eq!(program.called, [(0x222, [buffer, 2, 0, 0]), (0x111, [buffer, 1, 0, 0])]);
}

#[test]
fn wrong_buffers_are_refused() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let place = program.put_words(&[0]);
    let mut make = |flags, size, host| program.make(CreateBuffer, &[setup.context, flags, size, host]);
    assert_eq!(make(0, 0, 0), Err(cl::INVALID_BUFFER_SIZE));
    assert_eq!(make(0, 1 << 40, 0), Err(cl::INVALID_BUFFER_SIZE));
    assert_eq!(make(0, 8, place), Err(cl::INVALID_HOST_PTR));
    assert_eq!(make(cl::MEM_USE_HOST_PTR, 8, 0), Err(cl::INVALID_HOST_PTR));
    assert_eq!(make(cl::MEM_USE_HOST_PTR | cl::MEM_COPY_HOST_PTR, 8, place), Err(cl::INVALID_VALUE));
    assert_eq!(make(cl::MEM_READ_ONLY | cl::MEM_WRITE_ONLY, 8, 0), Err(cl::INVALID_VALUE));
    assert_eq!(make(1 << 40, 8, 0), Err(cl::INVALID_VALUE));
    assert_eq!(program.make(CreateBuffer, &[setup.queue, 0, 8, 0]), Err(cl::INVALID_CONTEXT));
    let buffer = program.buffer(&setup, &[0; 64]);
    let mut part = |origin, size| {
        let region = program.put_words(&[origin, size]);
        program.make(CreateSubBuffer, &[buffer, 0, cl::BUFFER_CREATE_TYPE_REGION, region])
    };
    assert_eq!(part(4, 4), Err(cl::MISALIGNED_SUB_BUFFER_OFFSET));
    assert_eq!(part(128, 129), Err(cl::INVALID_VALUE));
    assert_eq!(part(128, 0), Err(cl::INVALID_BUFFER_SIZE));
    assert!(part(128, 128).is_ok());
}

#[test]
fn a_library_of_another_version_is_refused_with_a_word() {
    let mut program = Program::new();
    let record = program.put(&[0; 400]);
    let answer =
        program.driver.trap([record, abi::VERSION + 1, 0, 0, 0, 0], Tid(1), &mut program.memory, engine::Time::ZERO);
    assert_eq!(answer, Answer::Return(abi::REFUSED));
    assert!(program.said.borrow()[0].contains("link the program with the library that `cohesim sdk DIR` writes"));
}

#[test]
fn a_call_that_reads_what_is_with_a_device_is_made_again() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let buffer = program.buffer(&setup, &[0; 16]);
    let pattern = program.put_ints(&[5]);
    program.memory.away = Some(pattern);
    program.ok(EnqueueFillBuffer, &[setup.queue, buffer, pattern, 4, 0, 64, 0, 0, 0]);
    assert_eq!(program.away, 1);
    assert_eq!(program.read(&setup, buffer, 16), [5; 16]);
}

#[test]
fn records_and_arguments_that_make_no_sense_do_no_harm() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    assert_eq!(program.trap(0x10), Some(abi::REFUSED), "no record there");
    let forged = program.put_words(&[1, 12345, 0]);
    assert_eq!(program.trap(forged), Some(abi::REFUSED));
    // Every function, with invalid handles, pointers and sizes.
    let handles = [setup.context, setup.queue, setup.device, PLATFORM];
    for number in 1..200u32 {
        let Some(function) = super::super::function::Function::by_number(number) else { continue };
        if matches!(function, ReleaseContext | ReleaseCommandQueue | WaitForEvents | Finish) {
            continue;
        }
        for seed in 0..40u64 {
            let pick = |n: u64| match (seed * 7 + n * 13 + seed * n) % 9 {
                0 => 0,
                1 => 1,
                2 => u64::MAX,
                3 => 0x1000,
                4 => handles[(seed + n) as usize % 4],
                5 => cl::DEVICE_NAME,
                6 => 1 << 31,
                7 => handles[(seed * 3 + n) as usize % 4] + 16,
                _ => 64,
            };
            let arguments: Vec<u64> = (0..14).map(pick).collect();
            program.call(function, &arguments);
        }
    }
}

#[test]
fn sharing_memory_is_reported() {
    let mut program = Program::with(Settings { policy: PolicyKind::Shared, ..Settings::default() });
    let setup = program.set_up(0);
    assert_eq!(program.query_int(GetDeviceInfo, &[setup.device, cl::DEVICE_HOST_UNIFIED_MEMORY]), 1);
}
