// The GPU behind guest.h: one device, one in-order queue, one program.
#define CL_TARGET_OPENCL_VERSION 200
#include "internal.h"

#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(cl_int code)
{
    switch (code) {
#define NAME(code) case code: return #code;
    NAME(CL_DEVICE_NOT_FOUND) NAME(CL_DEVICE_NOT_AVAILABLE) NAME(CL_COMPILER_NOT_AVAILABLE)
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE) NAME(CL_OUT_OF_RESOURCES) NAME(CL_OUT_OF_HOST_MEMORY)
    NAME(CL_BUILD_PROGRAM_FAILURE) NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) NAME(CL_INVALID_VALUE)
    NAME(CL_INVALID_DEVICE) NAME(CL_INVALID_CONTEXT) NAME(CL_INVALID_COMMAND_QUEUE) NAME(CL_INVALID_BINARY)
    NAME(CL_INVALID_PROGRAM) NAME(CL_INVALID_PROGRAM_EXECUTABLE) NAME(CL_INVALID_KERNEL_NAME) NAME(CL_INVALID_KERNEL)
    NAME(CL_INVALID_ARG_INDEX) NAME(CL_INVALID_ARG_VALUE) NAME(CL_INVALID_ARG_SIZE) NAME(CL_INVALID_KERNEL_ARGS)
    NAME(CL_INVALID_WORK_DIMENSION) NAME(CL_INVALID_WORK_GROUP_SIZE) NAME(CL_INVALID_WORK_ITEM_SIZE)
    NAME(CL_INVALID_OPERATION) NAME(CL_INVALID_BUFFER_SIZE) NAME(CL_INVALID_GLOBAL_WORK_SIZE)
#undef NAME
    default: return "an error code of OpenCL";
    }
}

static void succeed(const char *call, cl_int code)
{
    if (code != CL_SUCCESS)
        fail("%.*s answered %d (%s)", (int)strcspn(call, "("), call, code, name_of(code));
}
#define CL(call) succeed(#call, call)
// For calls that answer with an object and leave their code in `error`.
#define CL_MAKE(target, call) (target = call, succeed(#call, error))

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_int error;

// gfx803 code flushes denormal floats; so must whatever else runs these kernels.
static const char BUILD_OPTIONS[] = "-cl-std=CL1.2 -cl-denorms-are-zero";

// A device that takes the committed code object needs no compiler.
static bool build_from_object(const Kernels *kernels)
{
    size_t bytes = (size_t)(kernels->object_end - kernels->object);
    const unsigned char *object = kernels->object;
    program = clCreateProgramWithBinary(context, 1, &device, &bytes, &object, NULL, &error);
    if (error != CL_SUCCESS)
        return false;
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS)
        return true;
    clReleaseProgram(program);
    return false;
}

static void build_from_source(const Kernels *kernels)
{
    size_t bytes = (size_t)(kernels->source_end - kernels->source);
    const char *source = kernels->source;
    CL_MAKE(program, clCreateProgramWithSource(context, 1, &source, &bytes, &error));
    cl_int built = clBuildProgram(program, 1, &device, BUILD_OPTIONS, NULL, NULL);
    if (built != CL_SUCCESS) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fail("clBuildProgram answered %d (%s)\n%s", built, name_of(built), log);
    }
}

void gpu_open(const Kernels *kernels)
{
    cl_platform_id platform;
    CL(clGetPlatformIDs(1, &platform, NULL));
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL) != CL_SUCCESS)
        CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CL_MAKE(context, clCreateContext(NULL, 1, &device, NULL, NULL, &error));
    CL_MAKE(queue, clCreateCommandQueueWithProperties(context, device, NULL, &error));
    if (!build_from_object(kernels))
        build_from_source(kernels);
}

// --- Shared memory ---------------------------------------------------------------------------------------------

typedef struct {
    char *start;
    size_t bytes;
    bool mapped;
    bool fine; // CPU and GPU may write at once: there is nothing to map
    bool part; // of the allocation before it
} Allocation;

#define MAX_ALLOCATIONS 64
static Allocation allocations[MAX_ALLOCATIONS];
static size_t allocation_count;

static void *remember(Allocation allocation)
{
    require(allocation_count < MAX_ALLOCATIONS, "more than %d allocations", MAX_ALLOCATIONS);
    allocations[allocation_count++] = allocation;
    return allocation.start;
}

static void *allocate(cl_svm_mem_flags flags, size_t bytes)
{
    void *start = clSVMAlloc(context, flags, bytes, 0);
    require(start != NULL, "clSVMAlloc gave no memory for %zu bytes", bytes);
    return start;
}

void *svm_alloc(size_t count, size_t element_size)
{
    size_t bytes = count * element_size;
    return remember((Allocation){.start = allocate(CL_MEM_READ_WRITE, bytes), .bytes = bytes});
}

void *input_alloc(size_t count, size_t element_size)
{
    void *start = svm_alloc(count, element_size);
    map_to_write(start);
    return start;
}

Split svm_split(size_t gpu_count, size_t cpu_count, size_t element_size)
{
    cl_device_svm_capabilities can = 0;
    size_t gpu = gpu_count * element_size, cpu = cpu_count * element_size;
    CL(clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL));
    if (gpu == 0 || cpu == 0 || !(can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER))
        return (Split){gpu ? svm_alloc(gpu_count, element_size) : NULL, cpu ? svm_alloc(cpu_count, element_size) : NULL};
    char *start = allocate(CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, gpu + cpu);
    return (Split){remember((Allocation){.start = start, .bytes = gpu, .fine = true}),
                   remember((Allocation){.start = start + gpu, .bytes = cpu, .fine = true, .part = true})};
}

static Allocation *allocation_at(const void *start)
{
    for (size_t i = 0; i < allocation_count; i++)
        if (allocations[i].start == start)
            return &allocations[i];
    fail("%p is not the start of shared memory", start);
}

static void map(const void *start, cl_map_flags how)
{
    if (start == NULL)
        return;
    Allocation *allocation = allocation_at(start);
    require(!allocation->mapped, "%p is mapped already", start);
    allocation->mapped = true;
    if (allocation->fine)
        finish();
    else
        CL(clEnqueueSVMMap(queue, CL_TRUE, how, allocation->start, allocation->bytes, 0, NULL, NULL));
}

void map_to_read(const void *start) { map(start, CL_MAP_READ); }
void map_to_write(void *start) { map(start, CL_MAP_WRITE_INVALIDATE_REGION); }
void map_to_update(void *start) { map(start, CL_MAP_READ | CL_MAP_WRITE); }

void unmap(const void *start)
{
    if (start == NULL)
        return;
    Allocation *allocation = allocation_at(start);
    require(allocation->mapped, "%p is not mapped", start);
    allocation->mapped = false;
    if (!allocation->fine)
        CL(clEnqueueSVMUnmap(queue, allocation->start, 0, NULL, NULL));
}

static void unmap_all(void)
{
    for (size_t i = 0; i < allocation_count; i++)
        if (allocations[i].mapped)
            unmap(allocations[i].start);
}

#define MARK(displacement) __asm__ volatile("nopl " displacement "(%%rax,%%rax,1)" ::: "memory")

void region_begin(void)
{
    MARK("0x0c0e51b0");
    unmap_all();
}

void region_end(void) { MARK("0x0c0e51b1"); }

// --- Launches --------------------------------------------------------------------------------------------------

static size_t round_up(size_t count, size_t unit) { return (count + unit - 1) / unit * unit; }

Range space(size_t x, size_t y, size_t z, size_t group_x, size_t group_y, size_t group_z)
{
    return (Range){3, {round_up(x, group_x), round_up(y, group_y), round_up(z, group_z)}, {group_x, group_y, group_z}};
}

Range plane(size_t x, size_t y, size_t group_x, size_t group_y)
{
    Range range = space(x, y, 1, group_x, group_y, 1);
    range.dimensions = 2;
    return range;
}

Range line(size_t items, size_t group)
{
    Range range = space(items, 1, 1, group, 1, 1);
    range.dimensions = 1;
    return range;
}

Arg svm(const void *pointer) { return (Arg){.kind = ARG_SVM, .pointer = pointer}; }
Arg local_memory(size_t bytes) { return (Arg){.kind = ARG_LOCAL, .bytes = bytes}; }
Arg u32(size_t value) { return (Arg){.kind = ARG_VALUE, .word = (uint32_t)value}; }
Arg i32(int value) { return (Arg){.kind = ARG_VALUE, .word = (uint32_t)value}; }

Arg f32(float value)
{
    Arg arg = {.kind = ARG_VALUE};
    memcpy(&arg.word, &value, sizeof value);
    return arg;
}

#define MAX_KERNELS 8
static struct {
    const char *name;
    cl_kernel kernel;
} made[MAX_KERNELS];

static cl_kernel kernel_called(const char *name)
{
    size_t i = 0;
    for (; i < MAX_KERNELS && made[i].name; i++)
        if (strcmp(made[i].name, name) == 0)
            return made[i].kernel;
    require(i < MAX_KERNELS, "more than %d kernels", MAX_KERNELS);
    CL_MAKE(made[i].kernel, clCreateKernel(program, name, &error));
    made[i].name = name;
    return made[i].kernel;
}

void launch_with(const char *name, Range range, const Arg *args, size_t count)
{
    cl_kernel kernel = kernel_called(name);
    for (cl_uint i = 0; i < count; i++) {
        const Arg *arg = &args[i];
        if (arg->kind == ARG_SVM)
            CL(clSetKernelArgSVMPointer(kernel, i, arg->pointer));
        else if (arg->kind == ARG_LOCAL)
            CL(clSetKernelArg(kernel, i, arg->bytes, NULL));
        else
            CL(clSetKernelArg(kernel, i, sizeof arg->word, &arg->word));
    }
    CL(clEnqueueNDRangeKernel(queue, kernel, range.dimensions, NULL, range.grid, range.group, 0, NULL, NULL));
}

void start(void) { CL(clFlush(queue)); }
void finish(void) { CL(clFinish(queue)); }

void gpu_close(void)
{
    unmap_all();
    finish();
    while (allocation_count > 0)
        if (!allocations[--allocation_count].part)
            clSVMFree(context, allocations[allocation_count].start);
    for (size_t i = 0; i < MAX_KERNELS && made[i].name; i++)
        CL(clReleaseKernel(made[i].kernel));
    CL(clReleaseProgram(program));
    CL(clReleaseCommandQueue(queue));
    CL(clReleaseContext(context));
}
