// A kernel whose work-items have an array of their own, which lies in scratch memory, launched over and over: each work-item
// shuffles numbers that depend on the launch and follows them, and the CPU does the same.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS 64
#define OWN 40

#define FOLLOW                                                                                                         \
    for (uint i = 0; i < 40; i++)                                                                                      \
        own[i] = i * 7 + item;                                                                                         \
    for (uint i = 0; i < 8; i++) {                                                                                     \
        uint a = (x + i) % 40, b = own[a] % 40, value = own[b];                                                        \
        own[b] = own[a] + x;                                                                                           \
        own[a] = value;                                                                                                \
        x = x * 1664525u + own[(x >> 8) % 40];                                                                         \
    }

#define TEXT(...) #__VA_ARGS__
#define EXPANDED(...) TEXT(__VA_ARGS__)

typedef cl_uint uint;

static const char *SOURCE = "__kernel void follow(__global uint *out, uint seed)\n"
                            "{\n"
                            "    uint own[40], item = get_global_id(0), x = item * 2654435761u + seed;\n"
                            "    " EXPANDED(FOLLOW) "\n"
                                                    "    out[item] = x;\n"
                                                    "}\n";

static uint follow(uint item, uint seed)
{
    uint own[OWN], x = item * 2654435761u + seed;
    FOLLOW
    return x;
}

int main(int argc, char **argv)
{
    uint launches = argc > 1 ? (uint)atoi(argv[1]) : 50;
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 2;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL))
        return 2;
    cl_kernel kernel = clCreateKernel(program, "follow", NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(uint), NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    for (uint launch = 0; launch < launches; launch++) {
        size_t grid = ITEMS, group = 64;
        uint out[ITEMS];
        clSetKernelArg(kernel, 1, sizeof launch, &launch);
        if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &grid, &group, 0, NULL, NULL) ||
            clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL))
            return 2;
        for (uint item = 0; item < ITEMS; item++)
            if (out[item] != follow(item, launch)) {
                printf("wrong in launch %u, item %u: %u\n", launch, item, out[item]);
                return 1;
            }
    }
    printf("%u launches are right\n", launches);
    return 0;
}
