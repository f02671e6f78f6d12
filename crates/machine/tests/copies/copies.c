// Moves bytes between host and buffers in every way that OpenCL 1.2 has, and says whether they arrived or how long that took.
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cl_context context;
static cl_command_queue queue;

static void require(int good, const char *what)
{
    if (!good) {
        printf("%s\n", what);
        exit(1);
    }
}

#define CL(call) require((call) == CL_SUCCESS, #call)

static unsigned next(void)
{
    static unsigned state = 1;
    return (state = state * 1664525u + 1013904223u) >> 8;
}

static unsigned char *some(size_t bytes)
{
    unsigned char *array = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        array[i] = next();
    return array;
}

static cl_mem buffer_of(size_t bytes)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    require(status == CL_SUCCESS, "clCreateBuffer");
    return buffer;
}

// Every transfer is also done with memcpy and memset on an array that stands for the buffer.
static int right(void)
{
    enum { SIZE = 20000, OTHER = 7000, FILLED = 12032 };
    unsigned char *host = some(SIZE), *model = some(SIZE), *other = some(OTHER), *back = malloc(SIZE);
    cl_mem buffer = buffer_of(SIZE), second = buffer_of(OTHER);
    CL(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, model, 0, NULL, NULL));
    CL(clEnqueueWriteBuffer(queue, second, CL_FALSE, 0, OTHER, other, 0, NULL, NULL));
    for (int round = 0; round < 12; round++) {
        size_t at = next() % 4000, from = next() % 4000, bytes = 1 + next() % 3000;
        memcpy(model + at, host + from, bytes);
        CL(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, at, bytes, host + from, 0, NULL, NULL));
        memcpy(model + 8000 + at, other + from, bytes);
        CL(clEnqueueCopyBuffer(queue, second, buffer, from, 8000 + at, bytes, 0, NULL, NULL));
        size_t pattern = (size_t)1 << next() % 8, start = next() % 10 * pattern, count = (1 + next() % 20) * pattern;
        for (size_t i = 0; i < count; i++)
            model[FILLED + start + i] = host[i % pattern];
        CL(clEnqueueFillBuffer(queue, buffer, host, pattern, FILLED + start, count, 0, NULL, NULL));
        // Rows of 37 bytes, 101 apart here and 80 there.
        size_t there[3] = {3, 170, 0}, here[3] = {1, 2, 0}, region[3] = {37, 5, 1};
        for (size_t row = 0; row < region[1]; row++)
            memcpy(model + (there[1] + row) * 101 + there[0], host + (here[1] + row) * 80 + here[0], region[0]);
        CL(clEnqueueWriteBufferRect(queue, buffer, CL_FALSE, there, here, region, 101, 0, 80, 0, host, 0, NULL, NULL));
        CL(clFinish(queue));
    }
    cl_int status;
    unsigned char *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 100, 5000, 0, NULL, NULL, &status);
    require(status == CL_SUCCESS, "clEnqueueMapBuffer");
    require(memcmp(mapped + 4000, model + 4100, 1000) == 0, "what is mapped is something else");
    memset(mapped + 50, 7, 3000);
    memset(model + 150, 7, 3000);
    CL(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, back, 0, NULL, NULL));
    for (size_t i = 0; i < SIZE; i++)
        if (back[i] != model[i]) {
            printf("byte %zu is %d, not %d\n", i, back[i], model[i]);
            return 1;
        }
    puts("copies as they should be");
    return 0;
}

static long long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static long long length(cl_event event)
{
    cl_ulong start, end;
    CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    return end - start;
}

// How long a write and a read take.
static int lengths(size_t bytes)
{
    unsigned char *host = some(bytes);
    cl_mem buffer = buffer_of(bytes);
    cl_event events[3];
    // The first brings pages in.
    for (int i = 0; i < 2; i++)
        CL(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, host, 0, NULL, &events[i]));
    CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, host, 0, NULL, &events[2]));
    printf("%lld %lld\n", length(events[1]), length(events[2]));
    return 0;
}

// How long a write takes, some work, and both together.
static int overlap(size_t bytes, unsigned turns)
{
    unsigned char *host = some(bytes);
    cl_mem buffer = buffer_of(bytes);
    CL(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, host, 0, NULL, NULL));
    long long begin = nanoseconds();
    CL(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, host, 0, NULL, NULL));
    long long copied = nanoseconds();
    for (volatile unsigned i = 0; i < turns; i++) {
    }
    long long worked = nanoseconds();
    CL(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, host, 0, NULL, NULL));
    for (volatile unsigned i = 0; i < turns; i++) {
    }
    CL(clFinish(queue));
    printf("%lld %lld %lld\n", copied - begin, worked - copied, nanoseconds() - worked);
    return 0;
}

// A write from where nothing is.
static int nowhere(void)
{
    cl_mem buffer = buffer_of(4096);
    cl_event event;
    cl_int status;
    clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, (void *)64, 0, NULL, &event);
    clFinish(queue);
    CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    printf("status %d\n", status);
    return 0;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    require(status == CL_SUCCESS, "clCreateContext");
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
    require(status == CL_SUCCESS, "clCreateCommandQueue");
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "right") == 0)
        return right();
    if (strcmp(what, "lengths") == 0 && argc == 3)
        return lengths(strtoul(argv[2], NULL, 0));
    if (strcmp(what, "overlap") == 0 && argc == 4)
        return overlap(strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
    if (strcmp(what, "nowhere") == 0)
        return nowhere();
    puts("right, lengths BYTES, overlap BYTES TURNS or nowhere is needed");
    return 2;
}
