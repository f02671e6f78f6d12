// The GPU behind guest.h: one device, one in-order queue, one program.
#include "opencl.h"

#include <string.h>

Gpu gpu;

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

void succeed(const char *call, cl_int code)
{
    if (code != CL_SUCCESS)
        fail("%.*s answered %d (%s)", (int)strcspn(call, "("), call, code, name_of(code));
}

// gfx803 code flushes denormal floats; so must whatever else runs these kernels.
static const char BUILD_OPTIONS[] = "-cl-std=CL1.2 -cl-denorms-are-zero";

// A device that takes the committed code object needs no compiler.
static bool build_from_object(const Kernels *kernels)
{
    size_t bytes = (size_t)(kernels->object_end - kernels->object);
    const unsigned char *object = kernels->object;
    cl_int error;
    gpu.program = clCreateProgramWithBinary(gpu.context, 1, &gpu.device, &bytes, &object, NULL, &error);
    if (error != CL_SUCCESS)
        return false;
    if (clBuildProgram(gpu.program, 1, &gpu.device, "", NULL, NULL) == CL_SUCCESS)
        return true;
    clReleaseProgram(gpu.program);
    return false;
}

static void build_from_source(const Kernels *kernels)
{
    size_t bytes = (size_t)(kernels->source_end - kernels->source);
    const char *source = kernels->source;
    CL_MAKE(gpu.program, clCreateProgramWithSource(gpu.context, 1, &source, &bytes, &error));
    cl_int built = clBuildProgram(gpu.program, 1, &gpu.device, BUILD_OPTIONS, NULL, NULL);
    if (built != CL_SUCCESS) {
        char log[4096] = "";
        clGetProgramBuildInfo(gpu.program, gpu.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fail("clBuildProgram answered %d (%s)\n%s", built, name_of(built), log);
    }
}

void open_program(const Program *program, const Options *options)
{
    cl_platform_id platform;
    CL(clGetPlatformIDs(1, &platform, NULL));
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &gpu.device, NULL) != CL_SUCCESS)
        CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &gpu.device, NULL));
    CL_MAKE(gpu.context, clCreateContext(NULL, 1, &gpu.device, NULL, NULL, &error));
    CL_MAKE(gpu.queue, clCreateCommandQueueWithProperties(gpu.context, gpu.device, NULL, &error));
    if (!build_from_object(program->kernels))
        build_from_source(program->kernels);
    set_threads(options->threads);
    arrays_open(options->copies);
}

size_t compute_units(void)
{
    cl_uint units;
    CL(clGetDeviceInfo(gpu.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    return units;
}

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
    CL_MAKE(made[i].kernel, clCreateKernel(gpu.program, name, &error));
    made[i].name = name;
    return made[i].kernel;
}

static bool busy; // with something launched after the last `finish`

void launch_with(const char *name, Range range, const Arg *args, size_t count)
{
    cl_kernel kernel = kernel_called(name);
    for (cl_uint i = 0; i < count; i++) {
        const Arg *arg = &args[i];
        if (arg->kind == ARG_SVM)
            set_array(kernel, i, arg->pointer);
        else if (arg->kind == ARG_LOCAL)
            CL(clSetKernelArg(kernel, i, arg->bytes, NULL));
        else
            CL(clSetKernelArg(kernel, i, sizeof arg->word, &arg->word));
    }
    CL(clEnqueueNDRangeKernel(gpu.queue, kernel, range.dimensions, NULL, range.grid, range.group, 0, NULL, NULL));
    busy = true;
}

void start(void) { CL(clFlush(gpu.queue)); }

void finish(void)
{
    if (busy)
        CL(clFinish(gpu.queue));
    busy = false;
}

void close_program(void)
{
    unmap_all();
    CL(clFinish(gpu.queue));
    arrays_close();
    for (size_t i = 0; i < MAX_KERNELS && made[i].name; i++)
        CL(clReleaseKernel(made[i].kernel));
    CL(clReleaseProgram(gpu.program));
    CL(clReleaseCommandQueue(gpu.queue));
    CL(clReleaseContext(gpu.context));
}
