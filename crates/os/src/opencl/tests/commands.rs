//! Tests of commands: transfers, maps, events, order.

use super::{
    super::{PolicyKind, Settings, abi, cl, function::Function::*},
    support::{Program, Setup},
};

#[test]
fn bytes_are_written_read_copied_and_filled() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let (a, b) = (program.buffer(&setup, &[0; 8]), program.buffer(&setup, &[9; 8]));
    let host = program.put_ints(&[1, 2, 3, 4]);
    program.ok(EnqueueWriteBuffer, &[setup.queue, a, 0, 8, 16, host, 0, 0, 0]);
    program.ok(EnqueueCopyBuffer, &[setup.queue, a, b, 8, 4, 8, 0, 0, 0]);
    let pattern = program.put_ints(&[7, 8]);
    program.ok(EnqueueFillBuffer, &[setup.queue, b, pattern, 8, 16, 16, 0, 0, 0]);
    assert_eq!(program.read(&setup, a, 8), [0, 0, 1, 2, 3, 4, 0, 0]);
    assert_eq!(program.read(&setup, b, 8), [9, 1, 2, 9, 7, 8, 7, 8]);
    let queue = setup.queue;
    assert_eq!(program.status(EnqueueWriteBuffer, &[queue, a, 0, 24, 16, host, 0, 0, 0]), cl::INVALID_VALUE);
    assert_eq!(program.status(EnqueueWriteBuffer, &[queue, a, 0, 0, 16, 0, 0, 0, 0]), cl::INVALID_VALUE);
    assert_eq!(program.status(EnqueueCopyBuffer, &[queue, a, a, 0, 4, 8, 0, 0, 0]), cl::MEM_COPY_OVERLAP);
    assert_eq!(program.status(EnqueueFillBuffer, &[queue, b, pattern, 8, 4, 8, 0, 0, 0]), cl::INVALID_VALUE);
    assert_eq!(program.status(EnqueueFillBuffer, &[queue, b, pattern, 3, 0, 9, 0, 0, 0]), cl::INVALID_VALUE);
    let list = program.put_words(&[0x77]);
    let wait = [queue, a, 0, 0, 4, host, 1, list, 0];
    assert_eq!(program.status(EnqueueWriteBuffer, &wait), cl::INVALID_EVENT_WAIT_LIST);
    assert_eq!(program.status(EnqueueWriteBuffer, &[queue, a, 0, 0, 4, host, 1, 0, 0]), cl::INVALID_EVENT_WAIT_LIST);
}

#[test]
fn rectangles_are_cut_out_of_buffers() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let ints: Vec<i32> = (0..16).collect();
    let a = program.buffer(&setup, &ints);
    let host = program.put_ints(&[-1; 6]);
    let (from, to, region) =
        (program.put_words(&[4, 1, 0]), program.put_words(&[0, 0, 0]), program.put_words(&[8, 2, 1]));
    // Rows of 16 bytes in the buffer, of 12 in host memory.
    program.ok(EnqueueReadBufferRect, &[setup.queue, a, 1, from, to, region, 16, 0, 12, 0, host, 0, 0, 0]);
    assert_eq!(program.get_ints(host, 6), [5, 6, -1, 9, 10, -1]);
    let here = program.put_words(&[8, 2, 0]);
    program.ok(EnqueueCopyBufferRect, &[setup.queue, a, a, to, here, region, 16, 0, 16, 0, 0, 0, 0]);
    assert_eq!(program.read(&setup, a, 16)[8..], [8, 9, 0, 1, 12, 13, 4, 5]);
    let overlap = program.put_words(&[4, 1, 0]);
    let arguments = [setup.queue, a, a, to, overlap, region, 16, 0, 16, 0, 0, 0, 0];
    assert_eq!(program.status(EnqueueCopyBufferRect, &arguments), cl::MEM_COPY_OVERLAP);
    let arguments = [setup.queue, a, 1, from, to, region, 4, 0, 12, 0, host, 0, 0, 0];
    assert_eq!(program.status(EnqueueReadBufferRect, &arguments), cl::INVALID_VALUE, "a pitch below the row");
}

fn map(program: &mut Program, setup: &Setup, buffer: u64, flags: u64, offset: u64, size: u64) -> u64 {
    program.make(EnqueueMapBuffer, &[setup.queue, buffer, 1, flags, offset, size, 0, 0, 0]).unwrap()
}

#[test]
fn what_is_mapped_is_copied_or_shared_as_the_policy_says() {
    for (policy, copies) in [(PolicyKind::Memcpy, 3), (PolicyKind::Shared, 0)] {
        let mut program = Program::with(Settings { policy, ..Settings::default() });
        let setup = program.set_up(0);
        let buffer = program.buffer(&setup, &[1, 2, 3, 4]);
        let before = program.copies;
        let place = map(&mut program, &setup, buffer, cl::MAP_READ | cl::MAP_WRITE, 4, 8);
        assert_eq!(program.get_ints(place, 2), [2, 3]);
        crate::guest::GuestMemory::write(&mut program.memory, mem::VirtAddr(place), &[5, 0, 0, 0]).unwrap();
        assert_eq!(program.query_int(GetMemObjectInfo, &[buffer, cl::MEM_MAP_COUNT]), 1);
        program.ok(EnqueueUnmapMemObject, &[setup.queue, buffer, place, 0, 0, 0]);
        assert_eq!(program.query_int(GetMemObjectInfo, &[buffer, cl::MEM_MAP_COUNT]), 0);
        let again = map(&mut program, &setup, buffer, cl::MAP_READ, 0, 16);
        assert_eq!(program.copies - before, copies, "{policy:?}");
        assert_eq!(program.get_ints(again, 4), [1, 5, 3, 4]);
        let twice = program.status(EnqueueUnmapMemObject, &[setup.queue, buffer, place + 1, 0, 0, 0]);
        assert_eq!(twice, cl::INVALID_VALUE);
    }
}

#[test]
fn memory_of_the_program_is_what_it_maps() {
    for policy in [PolicyKind::Memcpy, PolicyKind::Shared] {
        let mut program = Program::with(Settings { policy, ..Settings::default() });
        let setup = program.set_up(0);
        let own = program.put_ints(&[1, 2, 3, 4]);
        let buffer = program.make(CreateBuffer, &[setup.context, cl::MEM_USE_HOST_PTR, 16, own]).unwrap();
        assert_eq!(program.query_word(GetMemObjectInfo, &[buffer, cl::MEM_HOST_PTR]), own);
        let pattern = program.put_ints(&[6]);
        program.ok(EnqueueFillBuffer, &[setup.queue, buffer, pattern, 4, 0, 8, 0, 0, 0]);
        assert_eq!(map(&mut program, &setup, buffer, cl::MAP_READ, 4, 12), own + 4);
        assert_eq!(program.get_ints(own + 4, 3), [6, 3, 4]);
    }
}

#[test]
fn commands_wait_for_user_events_and_callbacks_are_called() {
    let mut program = Program::new();
    let setup = program.set_up(cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::QUEUE_PROFILING_ENABLE);
    let gate = program.make(CreateUserEvent, &[setup.context]).unwrap();
    let buffer = program.buffer(&setup, &[0; 4]);
    let (first, second) = (program.put_ints(&[1; 4]), program.put_ints(&[2; 4]));
    let (list, place) = (program.put_words(&[gate]), program.put_words(&[0]));
    program.ok(EnqueueWriteBuffer, &[setup.queue, buffer, 0, 0, 16, first, 1, list, place]);
    let write = program.get_word(place);
    program.ok(SetEventCallback, &[write, cl::COMPLETE, 0x333, 99]);
    program.ok(SetEventCallback, &[write, cl::RUNNING, 0x444, 98]);
    // Out of order: this one need not wait.
    program.ok(EnqueueWriteBuffer, &[setup.queue, buffer, 1, 0, 16, second, 0, 0, 0]);
    assert_eq!(program.read(&setup, buffer, 4), [2; 4]);
    let status = |program: &mut Program, event| {
        program.query_int(GetEventInfo, &[event, cl::EVENT_COMMAND_EXECUTION_STATUS]) as u64
    };
    assert_eq!(status(&mut program, write), cl::QUEUED);
    assert!(program.called.is_empty());
    let early = program.query(GetEventProfilingInfo, &[write, cl::PROFILING_COMMAND_END]);
    assert_eq!(early, Err(cl::PROFILING_INFO_NOT_AVAILABLE));
    program.ok(SetUserEventStatus, &[gate, cl::COMPLETE]);
    assert_eq!(program.status(SetUserEventStatus, &[gate, cl::COMPLETE]), cl::INVALID_OPERATION);
    let list = program.put_words(&[write]);
    program.ok(WaitForEvents, &[1, list]);
    assert_eq!(status(&mut program, write), cl::COMPLETE);
    assert_eq!(program.called, [(0x444, [write, cl::RUNNING, 98, 0]), (0x333, [write, cl::COMPLETE, 99, 0])]);
    assert_eq!(program.read(&setup, buffer, 4), [1; 4]);
    let start = program.query_word(GetEventProfilingInfo, &[write, cl::PROFILING_COMMAND_START]);
    let end = program.query_word(GetEventProfilingInfo, &[write, cl::PROFILING_COMMAND_END]);
    assert!(start <= end);
    program.ok(SetEventCallback, &[write, cl::COMPLETE, 0x555, 1]);
    assert_eq!(program.called.last(), Some(&(0x555, [write, cl::COMPLETE, 1, 0])), "late, but told");
}

#[test]
fn an_error_goes_down_the_wait_lists() {
    let mut program = Program::new();
    let setup = program.set_up(cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let gate = program.make(CreateUserEvent, &[setup.context]).unwrap();
    let buffer = program.buffer(&setup, &[3; 4]);
    let host = program.put_ints(&[1; 4]);
    let (list, place) = (program.put_words(&[gate]), program.put_words(&[0]));
    program.ok(EnqueueWriteBuffer, &[setup.queue, buffer, 0, 0, 16, host, 1, list, place]);
    let write = program.get_word(place);
    let list = program.put_words(&[write]);
    program.ok(EnqueueMarkerWithWaitList, &[setup.queue, 1, list, place]);
    let marker = program.get_word(place);
    program.ok(SetEventCallback, &[marker, cl::COMPLETE, 0x666, 5]);
    program.ok(SetUserEventStatus, &[gate, -7i64 as u64]);
    let failed = cl::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    for event in [write, marker] {
        let status = program.query_int(GetEventInfo, &[event, cl::EVENT_COMMAND_EXECUTION_STATUS]);
        assert_eq!(status, failed.0);
    }
    assert_eq!(program.called, [(0x666, [marker, failed.0 as u32 as u64, 5, 0])]);
    let list = program.put_words(&[marker]);
    assert_eq!(program.status(WaitForEvents, &[1, list]), failed);
    assert_eq!(program.read(&setup, buffer, 4), [3; 4]);
}

#[test]
fn an_in_order_queue_keeps_its_order_and_barriers_hold_the_other() {
    for bits in [0, cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let mut program = Program::new();
        let setup = program.set_up(bits);
        let gate = program.make(CreateUserEvent, &[setup.context]).unwrap();
        let list = program.put_words(&[gate]);
        program.ok(EnqueueBarrierWithWaitList, &[setup.queue, 1, list, 0]);
        let buffer = program.buffer(&setup, &[0]);
        let (host, place) = (program.put_ints(&[4]), program.put_words(&[0]));
        program.ok(EnqueueWriteBuffer, &[setup.queue, buffer, 0, 0, 4, host, 0, 0, place]);
        let write = program.get_word(place);
        let status = program.query_int(GetEventInfo, &[write, cl::EVENT_COMMAND_EXECUTION_STATUS]);
        assert_eq!(status as u64, cl::QUEUED, "behind the barrier");
        program.ok(SetUserEventStatus, &[gate, 0]);
        program.ok(Finish, &[setup.queue]);
        assert_eq!(program.read(&setup, buffer, 1), [4]);
    }
}

#[test]
fn a_thread_serves_while_others_are_away() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let gate = program.make(CreateUserEvent, &[setup.context]).unwrap();
    program.ok(SetEventCallback, &[gate, cl::COMPLETE, 0x777, 8]);
    let mut bytes = vec![0; 400];
    bytes[..4].copy_from_slice(&super::super::function::SERVE.to_le_bytes());
    let server = program.put(&bytes);
    assert_eq!(program.trap(server), None, "nothing to do yet");
    // The thread that sets the event does not call the driver again by itself.
    let mut record = vec![0; 400];
    record[..4].copy_from_slice(&(SetUserEventStatus as u32).to_le_bytes());
    record[24..32].copy_from_slice(&gate.to_le_bytes());
    let setter = program.put(&record);
    assert_eq!(program.trap(setter), Some(4), "it could call the function itself");
    let _ = abi::RETURN;
    assert_eq!(program.trap(server), None);
}

#[test]
fn shared_virtual_memory_is_one_memory() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let svm = program.call(SVMAlloc, &[setup.context, cl::MEM_READ_WRITE, 4096, 0]);
    assert_ne!(svm, 0);
    assert_eq!(program.call(SVMAlloc, &[setup.context, 0, 0, 0]), 0);
    assert_eq!(program.call(SVMAlloc, &[setup.context, cl::MEM_SVM_ATOMICS, 64, 0]), 0, "atomics need fine grain");
    let built = program.build(
        &setup,
        "struct node { struct node __global *next; int value; };
        __kernel void walk(__global struct node *n, __global int *out) {
            int sum = 0; while (n) { sum += n->value; n = n->next; } *out = sum; }",
    );
    let kernel = program.kernel(built, "walk");
    program.ok(EnqueueSVMMap, &[setup.queue, 1, cl::MAP_WRITE, svm, 4096, 0, 0, 0]);
    for (at, words) in [(0, [svm + 64, 5]), (64, [svm + 128, 6]), (128, [0, 7])] {
        let bytes = super::super::call::words(&words);
        crate::guest::GuestMemory::write(&mut program.memory, mem::VirtAddr(svm + at), &bytes).unwrap();
    }
    program.ok(EnqueueSVMUnmap, &[setup.queue, svm, 0, 0, 0]);
    program.ok(SetKernelArgSVMPointer, &[kernel, 0, svm]);
    program.ok(SetKernelArgSVMPointer, &[kernel, 1, svm + 256]);
    let stray = program.put_words(&[0]);
    assert_eq!(program.status(SetKernelArgSVMPointer, &[kernel, 1, stray]), cl::INVALID_ARG_VALUE);
    program.run(&setup, kernel, 1, 1);
    program.ok(Finish, &[setup.queue]);
    assert_eq!(program.get_ints(svm + 256, 1), [18]);
    let pattern = program.put_ints(&[3]);
    program.ok(EnqueueSVMMemFill, &[setup.queue, svm, pattern, 4, 16, 0, 0, 0]);
    program.ok(EnqueueSVMMemcpy, &[setup.queue, 1, svm + 512, svm, 16, 0, 0, 0]);
    assert_eq!(program.get_ints(svm + 512, 4), [3; 4]);
    let pointers = program.put_words(&[svm]);
    program.ok(EnqueueSVMFree, &[setup.queue, 1, pointers, 0, 0, 0, 0, 0]);
    program.ok(Finish, &[setup.queue]);
    assert_eq!(program.status(EnqueueSVMUnmap, &[setup.queue, svm, 0, 0, 0]), cl::INVALID_VALUE);
}

#[test]
fn images_are_read_and_written_by_host_and_kernels() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(
        &setup,
        "__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
        __kernel void turn(__read_only image2d_t in, __write_only image2d_t out, __global int *size) {
            int2 at = (int2)(get_global_id(0), get_global_id(1));
            uint4 texel = read_imageui(in, s, at);
            write_imageui(out, (int2)(at.y, at.x), texel + 1);
            if (at.x == 0 && at.y == 0) { size[0] = get_image_width(in); size[1] = get_image_height(in);
                size[2] = get_image_channel_data_type(in); size[3] = get_image_channel_order(in); } }",
    );
    let format = program.put_ints(&[cl::RGBA as i32, cl::UNSIGNED_INT8 as i32]);
    let texels: Vec<u8> = (0..3 * 2 * 4).collect();
    let host = program.put(&texels);
    let image = |program: &mut Program, flags, width, height, host| {
        program.make(CreateImage2D, &[setup.context, flags, format, width, height, 0, host])
    };
    let from = image(&mut program, cl::MEM_COPY_HOST_PTR, 3, 2, host).unwrap();
    let to = image(&mut program, 0, 2, 3, 0).unwrap();
    assert_eq!(image(&mut program, 0, 0, 3, 0), Err(cl::INVALID_IMAGE_SIZE));
    assert_eq!(image(&mut program, 0, 1 << 20, 3, 0), Err(cl::INVALID_IMAGE_SIZE));
    let kernel = program.kernel(built, "turn");
    let size = program.buffer(&setup, &[0; 4]);
    for (n, handle) in [from, to, size].into_iter().enumerate() {
        program.set_arg(kernel, n as u64, &handle.to_le_bytes());
    }
    let global = program.put_words(&[3, 2]);
    program.ok(EnqueueNDRangeKernel, &[setup.queue, kernel, 2, 0, global, 0, 0, 0, 0]);
    let (origin, region) = (program.put_words(&[0, 0, 0]), program.put_words(&[2, 3, 1]));
    let out = program.put(&[0; 24]);
    program.ok(EnqueueReadImage, &[setup.queue, to, 1, origin, region, 0, 0, out, 0, 0, 0]);
    let result = program.get(out, 24);
    for y in 0..2 {
        for x in 0..3 {
            let expected: Vec<u8> = (0..4).map(|n| (y * 3 + x) * 4 + n + 1).collect();
            let at = (x * 2 + y) as usize * 4;
            assert_eq!(result[at..at + 4], expected, "{x}, {y}");
        }
    }
    let told = program.read(&setup, size, 4);
    assert_eq!(told, [3, 2, cl::UNSIGNED_INT8 as i32, cl::RGBA as i32]);
    let colour = program.put_ints(&[7, 8, 9, 300]);
    let corner = program.put_words(&[1, 1, 0]);
    let one = program.put_words(&[1, 1, 1]);
    program.ok(EnqueueFillImage, &[setup.queue, to, colour, corner, one, 0, 0, 0]);
    let pitch = program.put_words(&[0]);
    let mapped =
        program.make(EnqueueMapImage, &[setup.queue, to, 1, cl::MAP_READ, corner, one, pitch, 0, 0, 0, 0]).unwrap();
    assert_eq!(program.get(mapped, 4), [7, 8, 9, 255]);
    assert_eq!(program.get_word(pitch), 8);
    program.ok(EnqueueUnmapMemObject, &[setup.queue, to, mapped, 0, 0, 0]);
    let outside = program.put_words(&[2, 2, 1]);
    let arguments = [setup.queue, to, 1, corner, outside, 0, 0, out, 0, 0, 0];
    assert_eq!(program.status(EnqueueReadImage, &arguments), cl::INVALID_VALUE);
    assert_eq!(program.query_word(GetImageInfo, &[to, cl::IMAGE_ROW_PITCH]), 8);
    let count = program.put_ints(&[0]);
    program.ok(GetSupportedImageFormats, &[setup.context, cl::MEM_READ_WRITE, cl::MEM_OBJECT_IMAGE2D, 0, 0, count]);
    assert!(program.get_ints(count, 1)[0] >= 40);
}

#[test]
fn the_order_of_channels_is_kept_both_ways() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let built = program.build(
        &setup,
        "__kernel void put(__write_only image2d_t out) { write_imagef(out, (int2)(0, 0), (float4)(1, 0.2f, 0, 0.4f)); }
        __kernel void get(__read_only image2d_t in, sampler_t s, __global float4 *out) {
            *out = read_imagef(in, s, (int2)(0, 0)); }",
    );
    let format = program.put_ints(&[cl::BGRA as i32, cl::UNORM_INT8 as i32]);
    let image = program.make(CreateImage2D, &[setup.context, 0, format, 1, 1, 0, 0]).unwrap();
    let put = program.kernel(built, "put");
    program.set_arg(put, 0, &image.to_le_bytes());
    program.run(&setup, put, 1, 1);
    let (origin, region) = (program.put_words(&[0, 0, 0]), program.put_words(&[1, 1, 1]));
    let bytes = program.put(&[9; 4]);
    program.ok(EnqueueReadImage, &[setup.queue, image, 1, origin, region, 0, 0, bytes, 0, 0, 0]);
    assert_eq!(program.get(bytes, 4), [0, 51, 255, 102], "blue, green, red, alpha");
    let get = program.kernel(built, "get");
    let sampler = program.make(CreateSampler, &[setup.context, 0, cl::ADDRESS_CLAMP, cl::FILTER_NEAREST]).unwrap();
    let out = program.buffer(&setup, &[0; 4]);
    for (n, handle) in [image, sampler, out].into_iter().enumerate() {
        program.set_arg(get, n as u64, &handle.to_le_bytes());
    }
    program.run(&setup, get, 1, 1);
    // The enqueued command still uses the sampler.
    program.ok(ReleaseSampler, &[sampler]);
    let floats: Vec<f32> = program.read(&setup, out, 4).into_iter().map(|bits| f32::from_bits(bits as u32)).collect();
    assert_eq!(floats, [1.0, 51.0 / 255.0, 0.0, 102.0 / 255.0]);
    assert_eq!(program.status(ReleaseSampler, &[sampler]), cl::INVALID_SAMPLER);
    let repeat = program.make(CreateSampler, &[setup.context, 0, cl::ADDRESS_REPEAT, cl::FILTER_NEAREST]);
    assert_eq!(repeat, Err(cl::INVALID_VALUE), "repeating needs normalised coordinates");
}

/// Writes a `cl_image_desc` with these sizes and pitches.
fn describe(program: &mut Program, kind: u64, sizes: [u64; 4], pitches: [u64; 2], buffer: u64) -> u64 {
    let [width, height, depth, layers] = sizes;
    program.put_words(&[kind, width, height, depth, layers, pitches[0], pitches[1], 0, buffer])
}

#[test]
fn images_of_every_kind_can_be_created_and_queried() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let format = program.put_ints(&[cl::RGBA as i32, cl::UNORM_INT8 as i32]);
    let volume = describe(&mut program, cl::MEM_OBJECT_IMAGE3D, [5, 3, 2, 0], [0, 0], 0);
    let lines = describe(&mut program, cl::MEM_OBJECT_IMAGE1D_ARRAY, [5, 0, 0, 7], [0, 0], 0);
    let layers = describe(&mut program, cl::MEM_OBJECT_IMAGE2D_ARRAY, [5, 3, 0, 7], [0, 0], 0);
    let make = |program: &mut Program, descriptor| {
        program.make(CreateImage, &[setup.context, cl::MEM_READ_WRITE, format, descriptor, 0])
    };
    let sizes = [cl::IMAGE_WIDTH, cl::IMAGE_HEIGHT, cl::IMAGE_DEPTH, cl::IMAGE_ARRAY_SIZE, cl::IMAGE_SLICE_PITCH];
    for (descriptor, expected) in [(volume, [5, 3, 2, 0, 60]), (lines, [5, 0, 0, 7, 20]), (layers, [5, 3, 0, 7, 60])] {
        let image = make(&mut program, descriptor).expect("an image");
        assert_eq!(sizes.map(|what| program.query_word(GetImageInfo, &[image, what])), expected);
    }
    for (kind, sizes, code) in [
        (cl::MEM_OBJECT_IMAGE3D, [5, 3, 0, 0], cl::INVALID_IMAGE_DESCRIPTOR),
        (cl::MEM_OBJECT_IMAGE3D, [5, 3, 4096, 0], cl::INVALID_IMAGE_SIZE),
        (cl::MEM_OBJECT_IMAGE2D_ARRAY, [5, 3, 0, 4096], cl::INVALID_IMAGE_SIZE),
        (cl::MEM_OBJECT_IMAGE1D_BUFFER, [5, 0, 0, 0], cl::INVALID_IMAGE_DESCRIPTOR),
        (cl::MEM_OBJECT_BUFFER, [5, 0, 0, 0], cl::INVALID_IMAGE_DESCRIPTOR),
    ] {
        let descriptor = describe(&mut program, kind, sizes, [0, 0], 0);
        assert_eq!(make(&mut program, descriptor), Err(code), "{kind:x} of {sizes:?}");
    }
    let host = program.put(&[0; 4096]);
    for pitches in [[19, 0], [21, 0], [20, 59], [20, 70], [24, u64::MAX / 24 * 24], [1 << 63, 0]] {
        let descriptor = describe(&mut program, cl::MEM_OBJECT_IMAGE3D, [5, 3, 2, 0], pitches, 0);
        let made = program.make(CreateImage, &[setup.context, cl::MEM_COPY_HOST_PTR, format, descriptor, host]);
        assert_eq!(made, Err(cl::INVALID_IMAGE_DESCRIPTOR), "{pitches:?}");
    }
}

#[test]
fn an_image_over_a_buffer_is_the_buffer_and_keeps_it() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let format = program.put_ints(&[cl::R as i32, cl::SIGNED_INT32 as i32]);
    let buffer = program.buffer(&setup, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let line = describe(&mut program, cl::MEM_OBJECT_IMAGE1D_BUFFER, [8, 0, 0, 0], [0, 0], buffer);
    let rows = describe(&mut program, cl::MEM_OBJECT_IMAGE2D, [3, 2, 0, 0], [16, 0], buffer);
    let long = describe(&mut program, cl::MEM_OBJECT_IMAGE1D_BUFFER, [9, 0, 0, 0], [0, 0], buffer);
    let make = |program: &mut Program, flags, descriptor| {
        program.make(CreateImage, &[setup.context, flags, format, descriptor, 0])
    };
    assert_eq!(make(&mut program, 0, long), Err(cl::INVALID_IMAGE_DESCRIPTOR));
    assert_eq!(make(&mut program, cl::MEM_ALLOC_HOST_PTR, line), Err(cl::INVALID_VALUE));
    let (line, rows) = (make(&mut program, 0, line).expect("a line"), make(&mut program, 0, rows).expect("rows"));
    assert_eq!(program.query_word(GetImageInfo, &[line, cl::IMAGE_BUFFER]), buffer);
    assert_eq!(program.query_word(GetMemObjectInfo, &[rows, cl::MEM_ASSOCIATED_MEMOBJECT]), buffer);
    let (origin, texel, all) =
        (program.put_words(&[1, 1, 0]), program.put_words(&[1, 1, 1]), program.put_words(&[8, 1, 1]));
    let (nought, colour, out) =
        (program.put_words(&[0; 3]), program.put_ints(&[60, 0, 0, 0]), program.put_ints(&[0; 8]));
    program.ok(EnqueueFillImage, &[setup.queue, rows, colour, origin, texel, 0, 0, 0]);
    program.ok(ReleaseMemObject, &[buffer]);
    program.ok(EnqueueReadImage, &[setup.queue, line, 1, nought, all, 0, 0, out, 0, 0, 0]);
    assert_eq!(program.get_ints(out, 8), [1, 2, 3, 4, 5, 60, 7, 8]);
}

#[test]
fn what_no_engine_moves_the_program_moves_in_its_own_code() {
    let mut program = Program::new();
    let setup = program.set_up(0);
    let buffer = program.buffer(&setup, &(0..1000).collect::<Vec<i32>>());
    let before = program.copies;
    program.ok(EnqueueCopyBuffer, &[setup.queue, buffer, buffer, 0, 2000, 400, 0, 0, 0]);
    assert_eq!(program.copies, before + 1);
    let pattern = program.put_ints(&[7, 8]);
    program.ok(EnqueueFillBuffer, &[setup.queue, buffer, pattern, 8, 80, 1000, 0, 0, 0]);
    let ints = program.read(&setup, buffer, 1000);
    let expected = |n: usize| match n {
        20..270 => 7 + n as i32 % 2,
        500..600 => n as i32 - 500,
        n => n as i32,
    };
    assert_eq!(ints, (0..1000).map(expected).collect::<Vec<i32>>());
    // Rows that are longer than the pattern buffer that the driver writes, in three slices.
    let format = program.put_ints(&[cl::RGBA as i32, cl::UNSIGNED_INT32 as i32]);
    let volume = describe(&mut program, cl::MEM_OBJECT_IMAGE3D, [40, 4, 3, 0], [0, 0], 0);
    let image = program.make(CreateImage, &[setup.context, 0, format, volume, 0]).expect("an image");
    let (colour, origin, region) =
        (program.put_ints(&[1, 2, 3, 4]), program.put_words(&[2, 1, 0]), program.put_words(&[37, 3, 3]));
    program.ok(EnqueueFillImage, &[setup.queue, image, colour, origin, region, 0, 0, 0]);
    let (nought, whole, out) =
        (program.put_words(&[0; 3]), program.put_words(&[40, 4, 3]), program.put_ints(&[9; 40 * 4 * 3 * 4]));
    program.ok(EnqueueReadImage, &[setup.queue, image, 1, nought, whole, 0, 0, out, 0, 0, 0]);
    for (n, texel) in program.get_ints(out, 40 * 4 * 3 * 4).chunks(4).enumerate() {
        let filled = (2..39).contains(&(n % 40)) && n / 40 % 4 > 0;
        assert_eq!(texel, if filled { [1, 2, 3, 4] } else { [0; 4] }, "texel {n}");
    }
}
