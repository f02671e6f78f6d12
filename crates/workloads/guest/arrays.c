// Arrays that CPU and GPU both use, in the three ways of `--copies`.
//
// Programs map what they touch and unmap it for kernels. What that does is decided here: writes and reads of OpenCL 1.2's
// buffers, maps of shared virtual memory, or nothing but waiting where both may touch memory at any time.
#include "opencl.h"

#include <stdlib.h>

typedef struct {
    char *start;
    size_t bytes;
    cl_map_flags mapped; // for what; 0 if it is not
    cl_mem buffer;       // the GPU's copy, from its first use on (COPIES_EXPLICIT)
    bool fine;           // CPU and GPU may write at once: there is nothing to map
    bool borrowed;       // not an allocation of its own
} Array;

#define MAX_ARRAYS 64
static Array arrays[MAX_ARRAYS];
static size_t array_count;
static Copies copies;
static bool fine_grained; // whether the device can

void arrays_open(Copies how)
{
    cl_device_svm_capabilities can = 0;
    copies = how;
    fine_grained = clGetDeviceInfo(gpu.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL) == CL_SUCCESS &&
                   (can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
    require(how != COPIES_NONE || fine_grained, "--copies none: this device has no fine-grained shared memory");
}

static void *remember(Array array)
{
    require(array_count < MAX_ARRAYS, "more than %d arrays", MAX_ARRAYS);
    arrays[array_count++] = array;
    return array.start;
}

static void *allocate(bool fine, size_t bytes)
{
    cl_svm_mem_flags flags = fine ? CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER : CL_MEM_READ_WRITE;
    void *start = clSVMAlloc(gpu.context, flags, bytes, 0);
    require(start != NULL, "clSVMAlloc gave no memory for %zu bytes", bytes);
    return start;
}

void *svm_alloc(size_t count, size_t element_size)
{
    size_t bytes = count * element_size;
    bool fine = copies == COPIES_NONE;
    bool borrowed = copies == COPIES_EXPLICIT;
    void *start = borrowed ? host_alloc(count, element_size) : allocate(fine, bytes);
    return remember((Array){.start = start, .bytes = bytes, .fine = fine, .borrowed = borrowed});
}

void *input_alloc(size_t count, size_t element_size)
{
    void *start = svm_alloc(count, element_size);
    map_to_write(start);
    return start;
}

Split svm_split(size_t gpu_count, size_t cpu_count, size_t element_size)
{
    size_t by_gpu = gpu_count * element_size, by_cpu = cpu_count * element_size;
    Array gpu_part = {.bytes = by_gpu, .fine = true}, cpu_part = {.bytes = by_cpu, .fine = true, .borrowed = true};
    if (by_gpu && by_cpu && fine_grained && copies != COPIES_EXPLICIT) {
        gpu_part.start = allocate(true, by_gpu + by_cpu);
        cpu_part.start = gpu_part.start + by_gpu;
        return (Split){remember(gpu_part), remember(cpu_part)};
    }
    Split split = {NULL, NULL};
    if (by_gpu)
        split.gpu = svm_alloc(gpu_count, element_size);
    if (by_cpu) {
        cpu_part.start = host_alloc(cpu_count, element_size);
        split.cpu = remember(cpu_part);
    }
    return split;
}

static Array *array_at(const void *start)
{
    for (size_t i = 0; i < array_count; i++)
        if (arrays[i].start == start)
            return &arrays[i];
    fail("%p is not the start of a shared array", start);
}

static cl_mem buffer_of(Array *array)
{
    if (!array->buffer)
        CL_MAKE(array->buffer, clCreateBuffer(gpu.context, CL_MEM_READ_WRITE, array->bytes, NULL, &error));
    return array->buffer;
}

static void map(const void *start, cl_map_flags how)
{
    if (start == NULL)
        return;
    Array *array = array_at(start);
    require(!array->mapped, "%p is mapped already", start);
    array->mapped = how;
    if (array->fine)
        finish();
    else if (copies == COPIES_MAPPED)
        CL(clEnqueueSVMMap(gpu.queue, CL_TRUE, how, array->start, array->bytes, 0, NULL, NULL));
    else if ((how & CL_MAP_READ) && array->buffer)
        CL(clEnqueueReadBuffer(gpu.queue, array->buffer, CL_TRUE, 0, array->bytes, array->start, 0, NULL, NULL));
}

void map_to_read(const void *start) { map(start, CL_MAP_READ); }
void map_to_write(void *start) { map(start, CL_MAP_WRITE_INVALIDATE_REGION); }
void map_to_update(void *start) { map(start, CL_MAP_READ | CL_MAP_WRITE); }

void unmap(const void *start)
{
    if (start == NULL)
        return;
    Array *array = array_at(start);
    require(array->mapped, "%p is not mapped", start);
    cl_map_flags how = array->mapped;
    array->mapped = 0;
    if (array->fine)
        return;
    if (copies == COPIES_MAPPED)
        CL(clEnqueueSVMUnmap(gpu.queue, array->start, 0, NULL, NULL));
    else if (how != CL_MAP_READ)
        CL(clEnqueueWriteBuffer(gpu.queue, buffer_of(array), CL_TRUE, 0, array->bytes, array->start, 0, NULL, NULL));
}

void unmap_all(void)
{
    for (size_t i = 0; i < array_count; i++)
        if (arrays[i].mapped)
            unmap(arrays[i].start);
}

void read_mapped(void)
{
    for (size_t i = 0; i < array_count; i++) {
        const volatile uint64_t *words = (const volatile uint64_t *)arrays[i].start;
        if (arrays[i].mapped & CL_MAP_READ)
            for (size_t n = 0; n < arrays[i].bytes / sizeof *words; n++)
                (void)words[n];
    }
}

void set_array(cl_kernel kernel, cl_uint index, const void *start)
{
    if (copies != COPIES_EXPLICIT) {
        CL(clSetKernelArgSVMPointer(kernel, index, start));
        return;
    }
    cl_mem buffer = buffer_of(array_at(start));
    CL(clSetKernelArg(kernel, index, sizeof buffer, &buffer));
}

void arrays_close(void)
{
    while (array_count > 0) {
        Array *array = &arrays[--array_count];
        if (array->buffer)
            CL(clReleaseMemObject(array->buffer));
        if (!array->borrowed)
            clSVMFree(gpu.context, array->start);
    }
}
