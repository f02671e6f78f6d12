// Wavefronts read a flag until the CPU has written it. Meanwhile the CPU maps memory, takes it away and changes the rights of
// pages that the kernel uses: their translations and lines leave the GPU's caches while it reads them.
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ITEMS = 256, WORDS = 4096, CHANGES = 20 };

static const char *source =
    "__kernel void wait_for(__global volatile uint *flag, __global uint *result, __global const uint *data) {\n"
    "    uint item = get_global_id(0), turns = 0;\n"
    "    while (flag[0] == 0 && turns < 100000) turns++;\n"
    "    result[item] = flag[0] + data[item];\n"
    "}\n";

static void require(int good, const char *what)
{
    if (!good) {
        printf("%s\n", what);
        exit(1);
    }
}

static cl_uint *pages(size_t bytes)
{
    void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(place != MAP_FAILED, "no memory");
    return place;
}

static cl_mem buffer_at(cl_context context, void *place, size_t bytes)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, place, &status);
    require(status == CL_SUCCESS, "no buffer");
    return buffer;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    require(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "no platform");
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL) == CL_SUCCESS, "no GPU");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    require(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "no program");
    cl_kernel kernel = clCreateKernel(program, "wait_for", &status);
    size_t bytes = WORDS * sizeof(cl_uint), items = ITEMS, group = 64;
    cl_uint *flag = pages(4096), *result = pages(bytes), *data = pages(bytes);
    for (cl_uint word = 0; word < WORDS; word++)
        data[word] = 3 * word;
    cl_mem buffers[] = {buffer_at(context, flag, 4096), buffer_at(context, result, bytes),
                        buffer_at(context, data, bytes)};
    for (cl_uint number = 0; number < 3; number++)
        require(clSetKernelArg(kernel, number, sizeof(cl_mem), &buffers[number]) == CL_SUCCESS, "no argument");
    require(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL) == CL_SUCCESS, "no kernel");
    clFlush(queue);
    for (int change = 0; change < CHANGES; change++) {
        char *place = (char *)pages(16384);
        memset(place, change, 16384);
        mprotect(place, 4096, PROT_READ);
        mprotect(place, 4096, PROT_READ | PROT_WRITE);
        mprotect(data, 4096, PROT_READ);
        mprotect(data, 4096, PROT_READ | PROT_WRITE);
        place = mremap(place, 16384, 65536, MREMAP_MAYMOVE);
        require(place != MAP_FAILED && place[16383] == change && place[16384] == 0, "not moved");
        munmap(place, 65536);
    }
    ((volatile cl_uint *)flag)[0] = 1;
    clFinish(queue);
    cl_uint *read = clEnqueueMapBuffer(queue, buffers[1], CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &status);
    for (cl_uint item = 0; item < ITEMS; item++)
        require(read[item] == 1 + 3 * item, "a wavefront did not see what the CPU wrote");
    printf("seen\n");
    return 0;
}
