/*
 * OpenCL for programs that run inside cohesim.
 *
 * Every function of CL/cl.h packs its arguments into a record and traps with a system call that Linux does not have.
 * The simulated driver answers what is to be done next: copy, flush, call a function of the program, print; it is done
 * here, in the program's own code, so that it costs what it costs on the core that does it. Then the record traps
 * again, until the driver says that the call is over. Waiting happens inside the system call.
 *
 * A program that runs natively gets ENOSYS from the kernel: it is told so once, and finds no platform.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "functions.h"

#ifndef CL_PLATFORM_NOT_FOUND_KHR
#define CL_PLATFORM_NOT_FOUND_KHR -1001
#endif

/* What a call brought: the word the driver gave, and what an error-code function returns. */
struct outcome {
    uint64_t word;
    cl_int status;
};

static int64_t trap(struct cohesim_record *record)
{
    int64_t answer;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"((int64_t)COHESIM_TRAP), "D"(record), "S"((uint64_t)COHESIM_ABI)
                     : "rcx", "r11", "memory");
    return answer;
}

/* Moves words of four bytes one by one, as copies of 32-bit programs do. */
static void copy_words(char *to, const char *from, uint64_t bytes)
{
    for (; bytes >= sizeof(uint32_t); bytes -= sizeof(uint32_t)) {
        *(volatile uint32_t *)to = *(const volatile uint32_t *)from;
        to += sizeof(uint32_t);
        from += sizeof(uint32_t);
    }
    memmove(to, from, bytes);
}

/* Copies a box of bytes: rows of slices, each row in one piece, or in words of four bytes. */
static void copy(const uint64_t *box)
{
    char *to_slice = (char *)(uintptr_t)box[0];
    const char *from_slice = (const char *)(uintptr_t)box[1];
    for (uint64_t slice = 0; slice < box[4]; slice++) {
        char *to = to_slice;
        const char *from = from_slice;
        for (uint64_t row = 0; row < box[3]; row++) {
            if (box[9] == sizeof(uint32_t))
                copy_words(to, from, box[2]);
            else
                memmove(to, from, box[2]);
            to += box[5];
            from += box[6];
        }
        to_slice += box[7];
        from_slice += box[8];
    }
}

static void flush(const uint64_t *range)
{
    enum { LINE = 64 };
    uint64_t end = range[0] + range[1];
    for (uint64_t line = range[0] & ~(uint64_t)(LINE - 1); line < end; line += LINE)
        __asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
    __asm__ volatile("mfence" : : : "memory");
}

/* Calls a function of the program with up to four words or pointers, as the convention passes all of them alike. */
static void call_back(const uint64_t *to)
{
    void (*function)(uint64_t, uint64_t, uint64_t, uint64_t);
    memcpy(&function, &to[0], sizeof function);
    function(to[1], to[2], to[3], to[4]);
}

static void say_native(void)
{
    static int said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        fputs("libOpenCL.a of cohesim: this program runs natively; start it with `cohesim run`\n", stderr);
}

static void *serve(void *nothing);

/* A thread that calls functions of the program while its other threads do other things. */
static void start_server(void)
{
    pthread_t server;
    if (pthread_create(&server, NULL, serve, NULL) == 0)
        pthread_detach(server);
}

static struct outcome ask(cl_int unavailable, cl_int *errcode_ret, uint32_t function, uint64_t count,
                          const uint64_t *arguments)
{
    struct cohesim_record record;
    memset(&record, 0, sizeof record);
    record.function = function;
    record.count = count;
    for (uint64_t n = 0; n < count; n++)
        record.arguments[n] = arguments[n];
    for (;;) {
        switch (trap(&record)) {
        case COHESIM_RETURN:
            return (struct outcome){record.result, (cl_int)record.result};
        case COHESIM_COPY:
            copy(record.action);
            break;
        case COHESIM_FLUSH:
            flush(record.action);
            break;
        case COHESIM_CALL:
            call_back(record.action);
            break;
        case COHESIM_PRINT:
            fwrite((const void *)(uintptr_t)record.action[0], 1, record.action[1], stdout);
            break;
        case COHESIM_SERVE:
            start_server();
            break;
        case COHESIM_REFUSED:
            if (errcode_ret)
                *errcode_ret = unavailable;
            return (struct outcome){0, unavailable};
        default:
            say_native();
            if (errcode_ret)
                *errcode_ret = unavailable;
            return (struct outcome){0, unavailable};
        }
    }
}

static void *serve(void *nothing)
{
    (void)nothing;
    ask(CL_DEVICE_NOT_AVAILABLE, NULL, COHESIM_SERVER, 0, NULL);
    return NULL;
}

/* The arguments of a call as words: their number, and where they are. */
#define W1(a) (uint64_t)(a)
#define W2(a, ...) (uint64_t)(a), W1(__VA_ARGS__)
#define W3(a, ...) (uint64_t)(a), W2(__VA_ARGS__)
#define W4(a, ...) (uint64_t)(a), W3(__VA_ARGS__)
#define W5(a, ...) (uint64_t)(a), W4(__VA_ARGS__)
#define W6(a, ...) (uint64_t)(a), W5(__VA_ARGS__)
#define W7(a, ...) (uint64_t)(a), W6(__VA_ARGS__)
#define W8(a, ...) (uint64_t)(a), W7(__VA_ARGS__)
#define W9(a, ...) (uint64_t)(a), W8(__VA_ARGS__)
#define W10(a, ...) (uint64_t)(a), W9(__VA_ARGS__)
#define W11(a, ...) (uint64_t)(a), W10(__VA_ARGS__)
#define W12(a, ...) (uint64_t)(a), W11(__VA_ARGS__)
#define W13(a, ...) (uint64_t)(a), W12(__VA_ARGS__)
#define W14(a, ...) (uint64_t)(a), W13(__VA_ARGS__)
#define PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, name, ...) name
#define CASTS(...) \
    PICK(__VA_ARGS__, W14, W13, W12, W11, W10, W9, W8, W7, W6, W5, W4, W3, W2, W1, )(__VA_ARGS__)
#define WORDS(...) \
    sizeof((uint64_t[]){CASTS(__VA_ARGS__)}) / sizeof(uint64_t), (uint64_t[]){CASTS(__VA_ARGS__)}

#define INT(function, ...) \
    return ask(CL_DEVICE_NOT_AVAILABLE, NULL, function##_NUMBER, WORDS(__VA_ARGS__)).status
#define NONE(function, ...) (void)ask(CL_DEVICE_NOT_AVAILABLE, NULL, function##_NUMBER, WORDS(__VA_ARGS__))
#define HANDLE(type, function, errcode, ...) \
    return (type)(uintptr_t)ask(CL_DEVICE_NOT_AVAILABLE, errcode, function##_NUMBER, WORDS(__VA_ARGS__)).word

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint num_entries, cl_platform_id *platforms,
    cl_uint *num_platforms)
{
    return ask(CL_PLATFORM_NOT_FOUND_KHR, NULL, clGetPlatformIDs_NUMBER, WORDS(num_entries, platforms,
        num_platforms)).status;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetPlatformInfo, platform, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type device_type,
    cl_uint num_entries, cl_device_id *devices, cl_uint *num_devices)
{
    INT(clGetDeviceIDs, platform, device_type, num_entries, devices, num_devices);
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetDeviceInfo, device, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clCreateSubDevices(cl_device_id in_device,
    const cl_device_partition_property *properties, cl_uint num_devices, cl_device_id *out_devices,
    cl_uint *num_devices_ret)
{
    INT(clCreateSubDevices, in_device, properties, num_devices, out_devices, num_devices_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainDevice(cl_device_id device)
{
    INT(clRetainDevice, device);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseDevice(cl_device_id device)
{
    INT(clReleaseDevice, device);
}

CL_API_ENTRY cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context, cl_device_id device,
    cl_command_queue command_queue)
{
    INT(clSetDefaultDeviceCommandQueue, context, device, command_queue);
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_timestamp,
    cl_ulong *host_timestamp)
{
    INT(clGetDeviceAndHostTimer, device, device_timestamp, host_timestamp);
}

CL_API_ENTRY cl_int CL_API_CALL clGetHostTimer(cl_device_id device, cl_ulong *host_timestamp)
{
    INT(clGetHostTimer, device, host_timestamp);
}

CL_API_ENTRY cl_context CL_API_CALL clCreateContext(const cl_context_properties *properties, cl_uint num_devices,
    const cl_device_id *devices, void (CL_CALLBACK *pfn_notify)(const char *errinfo, const void *private_info,
    size_t cb, void *user_data), void *user_data, cl_int *errcode_ret)
{
    HANDLE(cl_context, clCreateContext, errcode_ret, properties, num_devices, devices, pfn_notify, user_data,
        errcode_ret);
}

CL_API_ENTRY cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties *properties,
    cl_device_type device_type, void (CL_CALLBACK *pfn_notify)(const char *errinfo, const void *private_info,
    size_t cb, void *user_data), void *user_data, cl_int *errcode_ret)
{
    HANDLE(cl_context, clCreateContextFromType, errcode_ret, properties, device_type, pfn_notify, user_data,
        errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainContext(cl_context context)
{
    INT(clRetainContext, context);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseContext(cl_context context)
{
    INT(clReleaseContext, context);
}

CL_API_ENTRY cl_int CL_API_CALL clGetContextInfo(cl_context context, cl_context_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetContextInfo, context, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clSetContextDestructorCallback(cl_context context,
    void (CL_CALLBACK *pfn_notify)(cl_context context, void *user_data), void *user_data)
{
    INT(clSetContextDestructorCallback, context, pfn_notify, user_data);
}

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context,
    cl_device_id device, const cl_queue_properties *properties, cl_int *errcode_ret)
{
    HANDLE(cl_command_queue, clCreateCommandQueueWithProperties, errcode_ret, context, device, properties,
        errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue command_queue)
{
    INT(clRetainCommandQueue, command_queue);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue command_queue)
{
    INT(clReleaseCommandQueue, command_queue);
}

CL_API_ENTRY cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue command_queue,
    cl_command_queue_info param_name, size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetCommandQueueInfo, command_queue, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr,
    cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreateBuffer, errcode_ret, context, flags, size, host_ptr, errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
    cl_buffer_create_type buffer_create_type, const void *buffer_create_info, cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreateSubBuffer, errcode_ret, buffer, flags, buffer_create_type, buffer_create_info,
        errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags,
    const cl_image_format *image_format, const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreateImage, errcode_ret, context, flags, image_format, image_desc, host_ptr, errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint pipe_packet_size,
    cl_uint pipe_max_packets, const cl_pipe_properties *properties, cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreatePipe, errcode_ret, context, flags, pipe_packet_size, pipe_max_packets, properties,
        errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context,
    const cl_mem_properties *properties, cl_mem_flags flags, size_t size, void *host_ptr, cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreateBufferWithProperties, errcode_ret, context, properties, flags, size, host_ptr,
        errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
    cl_mem_flags flags, const cl_image_format *image_format, const cl_image_desc *image_desc, void *host_ptr,
    cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreateImageWithProperties, errcode_ret, context, properties, flags, image_format, image_desc,
        host_ptr, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainMemObject(cl_mem memobj)
{
    INT(clRetainMemObject, memobj);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseMemObject(cl_mem memobj)
{
    INT(clReleaseMemObject, memobj);
}

CL_API_ENTRY cl_int CL_API_CALL clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
    cl_mem_object_type image_type, cl_uint num_entries, cl_image_format *image_formats, cl_uint *num_image_formats)
{
    INT(clGetSupportedImageFormats, context, flags, image_type, num_entries, image_formats, num_image_formats);
}

CL_API_ENTRY cl_int CL_API_CALL clGetMemObjectInfo(cl_mem memobj, cl_mem_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret)
{
    INT(clGetMemObjectInfo, memobj, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetImageInfo(cl_mem image, cl_image_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret)
{
    INT(clGetImageInfo, image, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetPipeInfo(cl_mem pipe, cl_pipe_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret)
{
    INT(clGetPipeInfo, pipe, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem memobj,
    void (CL_CALLBACK *pfn_notify)(cl_mem memobj, void *user_data), void *user_data)
{
    INT(clSetMemObjectDestructorCallback, memobj, pfn_notify, user_data);
}

CL_API_ENTRY void *CL_API_CALL clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    HANDLE(void *, clSVMAlloc, NULL, context, flags, size, alignment);
}

CL_API_ENTRY void CL_API_CALL clSVMFree(cl_context context, void *svm_pointer)
{
    NONE(clSVMFree, context, svm_pointer);
}

CL_API_ENTRY cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context,
    const cl_sampler_properties *sampler_properties, cl_int *errcode_ret)
{
    HANDLE(cl_sampler, clCreateSamplerWithProperties, errcode_ret, context, sampler_properties, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainSampler(cl_sampler sampler)
{
    INT(clRetainSampler, sampler);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseSampler(cl_sampler sampler)
{
    INT(clReleaseSampler, sampler);
}

CL_API_ENTRY cl_int CL_API_CALL clGetSamplerInfo(cl_sampler sampler, cl_sampler_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetSamplerInfo, sampler, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count,
    const char **strings, const size_t *lengths, cl_int *errcode_ret)
{
    HANDLE(cl_program, clCreateProgramWithSource, errcode_ret, context, count, strings, lengths, errcode_ret);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint num_devices,
    const cl_device_id *device_list, const size_t *lengths, const unsigned char **binaries, cl_int *binary_status,
    cl_int *errcode_ret)
{
    HANDLE(cl_program, clCreateProgramWithBinary, errcode_ret, context, num_devices, device_list, lengths, binaries,
        binary_status, errcode_ret);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context context, cl_uint num_devices,
    const cl_device_id *device_list, const char *kernel_names, cl_int *errcode_ret)
{
    HANDLE(cl_program, clCreateProgramWithBuiltInKernels, errcode_ret, context, num_devices, device_list,
        kernel_names, errcode_ret);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void *il, size_t length,
    cl_int *errcode_ret)
{
    HANDLE(cl_program, clCreateProgramWithIL, errcode_ret, context, il, length, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainProgram(cl_program program)
{
    INT(clRetainProgram, program);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseProgram(cl_program program)
{
    INT(clReleaseProgram, program);
}

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint num_devices,
    const cl_device_id *device_list, const char *options, void (CL_CALLBACK *pfn_notify)(cl_program program,
    void *user_data), void *user_data)
{
    INT(clBuildProgram, program, num_devices, device_list, options, pfn_notify, user_data);
}

CL_API_ENTRY cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint num_devices,
    const cl_device_id *device_list, const char *options, cl_uint num_input_headers,
    const cl_program *input_headers, const char **header_include_names,
    void (CL_CALLBACK *pfn_notify)(cl_program program, void *user_data), void *user_data)
{
    INT(clCompileProgram, program, num_devices, device_list, options, num_input_headers, input_headers,
        header_include_names, pfn_notify, user_data);
}

CL_API_ENTRY cl_program CL_API_CALL clLinkProgram(cl_context context, cl_uint num_devices,
    const cl_device_id *device_list, const char *options, cl_uint num_input_programs,
    const cl_program *input_programs, void (CL_CALLBACK *pfn_notify)(cl_program program, void *user_data),
    void *user_data, cl_int *errcode_ret)
{
    HANDLE(cl_program, clLinkProgram, errcode_ret, context, num_devices, device_list, options, num_input_programs,
        input_programs, pfn_notify, user_data, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program program,
    void (CL_CALLBACK *pfn_notify)(cl_program program, void *user_data), void *user_data)
{
    INT(clSetProgramReleaseCallback, program, pfn_notify, user_data);
}

CL_API_ENTRY cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program program, cl_uint spec_id,
    size_t spec_size, const void *spec_value)
{
    INT(clSetProgramSpecializationConstant, program, spec_id, spec_size, spec_value);
}

CL_API_ENTRY cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id platform)
{
    INT(clUnloadPlatformCompiler, platform);
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetProgramInfo, program, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device,
    cl_program_build_info param_name, size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetProgramBuildInfo, program, device, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char *kernel_name, cl_int *errcode_ret)
{
    HANDLE(cl_kernel, clCreateKernel, errcode_ret, program, kernel_name, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint num_kernels,
    cl_kernel *kernels, cl_uint *num_kernels_ret)
{
    INT(clCreateKernelsInProgram, program, num_kernels, kernels, num_kernels_ret);
}

CL_API_ENTRY cl_kernel CL_API_CALL clCloneKernel(cl_kernel source_kernel, cl_int *errcode_ret)
{
    HANDLE(cl_kernel, clCloneKernel, errcode_ret, source_kernel, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainKernel(cl_kernel kernel)
{
    INT(clRetainKernel, kernel);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel)
{
    INT(clReleaseKernel, kernel);
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint arg_index, size_t arg_size,
    const void *arg_value)
{
    INT(clSetKernelArg, kernel, arg_index, arg_size, arg_value);
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint arg_index, const void *arg_value)
{
    INT(clSetKernelArgSVMPointer, kernel, arg_index, arg_value);
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info param_name,
    size_t param_value_size, const void *param_value)
{
    INT(clSetKernelExecInfo, kernel, param_name, param_value_size, param_value);
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelInfo(cl_kernel kernel, cl_kernel_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetKernelInfo, kernel, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel kernel, cl_uint arg_indx,
    cl_kernel_arg_info param_name, size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetKernelArgInfo, kernel, arg_indx, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
    cl_kernel_work_group_info param_name, size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetKernelWorkGroupInfo, kernel, device, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device,
    cl_kernel_sub_group_info param_name, size_t input_value_size, const void *input_value, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret)
{
    INT(clGetKernelSubGroupInfo, kernel, device, param_name, input_value_size, input_value, param_value_size,
        param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clWaitForEvents(cl_uint num_events, const cl_event *event_list)
{
    INT(clWaitForEvents, num_events, event_list);
}

CL_API_ENTRY cl_int CL_API_CALL clGetEventInfo(cl_event event, cl_event_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret)
{
    INT(clGetEventInfo, event, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_event CL_API_CALL clCreateUserEvent(cl_context context, cl_int *errcode_ret)
{
    HANDLE(cl_event, clCreateUserEvent, errcode_ret, context, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainEvent(cl_event event)
{
    INT(clRetainEvent, event);
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseEvent(cl_event event)
{
    INT(clReleaseEvent, event);
}

CL_API_ENTRY cl_int CL_API_CALL clSetUserEventStatus(cl_event event, cl_int execution_status)
{
    INT(clSetUserEventStatus, event, execution_status);
}

CL_API_ENTRY cl_int CL_API_CALL clSetEventCallback(cl_event event, cl_int command_exec_callback_type,
    void (CL_CALLBACK *pfn_notify)(cl_event event, cl_int event_command_status, void *user_data), void *user_data)
{
    INT(clSetEventCallback, event, command_exec_callback_type, pfn_notify, user_data);
}

CL_API_ENTRY cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_profiling_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
    INT(clGetEventProfilingInfo, event, param_name, param_value_size, param_value, param_value_size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clFlush(cl_command_queue command_queue)
{
    INT(clFlush, command_queue);
}

CL_API_ENTRY cl_int CL_API_CALL clFinish(cl_command_queue command_queue)
{
    INT(clFinish, command_queue);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue command_queue, cl_mem buffer,
    cl_bool blocking_read, size_t offset, size_t size, void *ptr, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueReadBuffer, command_queue, buffer, blocking_read, offset, size, ptr, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue command_queue, cl_mem buffer,
    cl_bool blocking_read, const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
    size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, void *ptr,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueReadBufferRect, command_queue, buffer, blocking_read, buffer_origin, host_origin, region,
        buffer_row_pitch, buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue command_queue, cl_mem buffer,
    cl_bool blocking_write, size_t offset, size_t size, const void *ptr, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueWriteBuffer, command_queue, buffer, blocking_write, offset, size, ptr, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue command_queue, cl_mem buffer,
    cl_bool blocking_write, const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
    size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
    const void *ptr, cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueWriteBufferRect, command_queue, buffer, blocking_write, buffer_origin, host_origin, region,
        buffer_row_pitch, buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue command_queue, cl_mem buffer,
    const void *pattern, size_t pattern_size, size_t offset, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueFillBuffer, command_queue, buffer, pattern, pattern_size, offset, size, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue command_queue, cl_mem src_buffer,
    cl_mem dst_buffer, size_t src_offset, size_t dst_offset, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueCopyBuffer, command_queue, src_buffer, dst_buffer, src_offset, dst_offset, size,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue command_queue, cl_mem src_buffer,
    cl_mem dst_buffer, const size_t *src_origin, const size_t *dst_origin, const size_t *region,
    size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch, size_t dst_slice_pitch,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueCopyBufferRect, command_queue, src_buffer, dst_buffer, src_origin, dst_origin, region,
        src_row_pitch, src_slice_pitch, dst_row_pitch, dst_slice_pitch, num_events_in_wait_list, event_wait_list,
        event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue command_queue, cl_mem image,
    cl_bool blocking_read, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
    void *ptr, cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueReadImage, command_queue, image, blocking_read, origin, region, row_pitch, slice_pitch, ptr,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue command_queue, cl_mem image,
    cl_bool blocking_write, const size_t *origin, const size_t *region, size_t input_row_pitch,
    size_t input_slice_pitch, const void *ptr, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
    cl_event *event)
{
    INT(clEnqueueWriteImage, command_queue, image, blocking_write, origin, region, input_row_pitch,
        input_slice_pitch, ptr, num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue command_queue, cl_mem image,
    const void *fill_color, const size_t *origin, const size_t *region, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueFillImage, command_queue, image, fill_color, origin, region, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue command_queue, cl_mem src_image,
    cl_mem dst_image, const size_t *src_origin, const size_t *dst_origin, const size_t *region,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueCopyImage, command_queue, src_image, dst_image, src_origin, dst_origin, region,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue command_queue, cl_mem src_image,
    cl_mem dst_buffer, const size_t *src_origin, const size_t *region, size_t dst_offset,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueCopyImageToBuffer, command_queue, src_image, dst_buffer, src_origin, region, dst_offset,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue command_queue, cl_mem src_buffer,
    cl_mem dst_image, size_t src_offset, const size_t *dst_origin, const size_t *region,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueCopyBufferToImage, command_queue, src_buffer, dst_image, src_offset, dst_origin, region,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer,
    cl_bool blocking_map, cl_map_flags map_flags, size_t offset, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event, cl_int *errcode_ret)
{
    HANDLE(void *, clEnqueueMapBuffer, errcode_ret, command_queue, buffer, blocking_map, map_flags, offset, size,
        num_events_in_wait_list, event_wait_list, event, errcode_ret);
}

CL_API_ENTRY void *CL_API_CALL clEnqueueMapImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking_map,
    cl_map_flags map_flags, const size_t *origin, const size_t *region, size_t *image_row_pitch,
    size_t *image_slice_pitch, cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event,
    cl_int *errcode_ret)
{
    HANDLE(void *, clEnqueueMapImage, errcode_ret, command_queue, image, blocking_map, map_flags, origin, region,
        image_row_pitch, image_slice_pitch, num_events_in_wait_list, event_wait_list, event, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memobj,
    void *mapped_ptr, cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueUnmapMemObject, command_queue, memobj, mapped_ptr, num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue command_queue, cl_uint num_mem_objects,
    const cl_mem *mem_objects, cl_mem_migration_flags flags, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueMigrateMemObjects, command_queue, num_mem_objects, mem_objects, flags, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue command_queue, cl_kernel kernel,
    cl_uint work_dim, const size_t *global_work_offset, const size_t *global_work_size,
    const size_t *local_work_size, cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueNDRangeKernel, command_queue, kernel, work_dim, global_work_offset, global_work_size,
        local_work_size, num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue command_queue,
    void (CL_CALLBACK *user_func)(void *), void *args, size_t cb_args, cl_uint num_mem_objects,
    const cl_mem *mem_list, const void **args_mem_loc, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueNativeKernel, command_queue, user_func, args, cb_args, num_mem_objects, mem_list, args_mem_loc,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue command_queue,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueMarkerWithWaitList, command_queue, num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue command_queue,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueBarrierWithWaitList, command_queue, num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue command_queue, cl_uint num_svm_pointers,
    void *svm_pointers[], void (CL_CALLBACK *pfn_free_func)(cl_command_queue queue, cl_uint num_svm_pointers,
    void *svm_pointers[], void *user_data), void *user_data, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueSVMFree, command_queue, num_svm_pointers, svm_pointers, pfn_free_func, user_data,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue command_queue, cl_bool blocking_copy,
    void *dst_ptr, const void *src_ptr, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueSVMMemcpy, command_queue, blocking_copy, dst_ptr, src_ptr, size, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue command_queue, void *svm_ptr,
    const void *pattern, size_t pattern_size, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueSVMMemFill, command_queue, svm_ptr, pattern, pattern_size, size, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue command_queue, cl_bool blocking_map,
    cl_map_flags flags, void *svm_ptr, size_t size, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueSVMMap, command_queue, blocking_map, flags, svm_ptr, size, num_events_in_wait_list,
        event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue command_queue, void *svm_ptr,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueSVMUnmap, command_queue, svm_ptr, num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue command_queue, cl_uint num_svm_pointers,
    const void **svm_pointers, const size_t *sizes, cl_mem_migration_flags flags, cl_uint num_events_in_wait_list,
    const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueSVMMigrateMem, command_queue, num_svm_pointers, svm_pointers, sizes, flags,
        num_events_in_wait_list, event_wait_list, event);
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
    const char *func_name)
{
    HANDLE(void *, clGetExtensionFunctionAddressForPlatform, NULL, platform, func_name);
}

CL_API_ENTRY cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue command_queue,
    cl_command_queue_properties properties, cl_bool enable, cl_command_queue_properties *old_properties)
{
    INT(clSetCommandQueueProperty, command_queue, properties, enable, old_properties);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags,
    const cl_image_format *image_format, size_t image_width, size_t image_height, size_t image_row_pitch,
    void *host_ptr, cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreateImage2D, errcode_ret, context, flags, image_format, image_width, image_height,
        image_row_pitch, host_ptr, errcode_ret);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags,
    const cl_image_format *image_format, size_t image_width, size_t image_height, size_t image_depth,
    size_t image_row_pitch, size_t image_slice_pitch, void *host_ptr, cl_int *errcode_ret)
{
    HANDLE(cl_mem, clCreateImage3D, errcode_ret, context, flags, image_format, image_width, image_height,
        image_depth, image_row_pitch, image_slice_pitch, host_ptr, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarker(cl_command_queue command_queue, cl_event *event)
{
    INT(clEnqueueMarker, command_queue, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue command_queue, cl_uint num_events,
    const cl_event *event_list)
{
    INT(clEnqueueWaitForEvents, command_queue, num_events, event_list);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue command_queue)
{
    INT(clEnqueueBarrier, command_queue);
}

CL_API_ENTRY cl_int CL_API_CALL clUnloadCompiler(void)
{
    INT(clUnloadCompiler, 0);
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *func_name)
{
    HANDLE(void *, clGetExtensionFunctionAddress, NULL, func_name);
}

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
    cl_command_queue_properties properties, cl_int *errcode_ret)
{
    HANDLE(cl_command_queue, clCreateCommandQueue, errcode_ret, context, device, properties, errcode_ret);
}

CL_API_ENTRY cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized_coords,
    cl_addressing_mode addressing_mode, cl_filter_mode filter_mode, cl_int *errcode_ret)
{
    HANDLE(cl_sampler, clCreateSampler, errcode_ret, context, normalized_coords, addressing_mode, filter_mode,
        errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueTask(cl_command_queue command_queue, cl_kernel kernel,
    cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
{
    INT(clEnqueueTask, command_queue, kernel, num_events_in_wait_list, event_wait_list, event);
}
