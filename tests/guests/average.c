// The program of docs/tutorial.md: the GPU averages neighbours, the CPU checks.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

// What lies between these marks is measured: no-operations that a simulator recognises and a processor ignores.
#define REGION_BEGIN() __asm__ volatile("nopl 0x0c0e51b0(%%rax,%%rax,1)" ::: "memory")
#define REGION_END() __asm__ volatile("nopl 0x0c0e51b1(%%rax,%%rax,1)" ::: "memory")

static const char *SOURCE =
    "__kernel void average(__global const float *in, __global float *out, uint count)\n"
    "{\n"
    "    uint i = get_global_id(0);\n"
    "    if (i + 1 < count)\n"
    "        out[i] = (in[i] + in[i + 1]) / 2;\n"
    "}\n";

int main(int argc, char **argv)
{
    cl_uint count = argc > 1 ? (cl_uint)atoi(argv[1]) : 100000;
    if (count < 2) {
        fprintf(stderr, "at least 2 numbers are needed\n");
        return 2;
    }
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        fprintf(stderr, "there is no OpenCL device\n");
        return 2;
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL)) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
        return 2;
    }
    cl_kernel kernel = clCreateKernel(program, "average", NULL);

    // One pointer for CPU and GPU: whoever touches memory on the CPU maps it first.
    size_t bytes = count * sizeof(float);
    float *in = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    float *out = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, in, bytes, 0, NULL, NULL);
    for (cl_uint i = 0; i < count; i++)
        in[i] = (float)(i % 1000);

    REGION_BEGIN();
    clEnqueueSVMUnmap(queue, in, 0, NULL, NULL);
    size_t group = 64, grid = (count + group - 1) / group * group;
    clSetKernelArgSVMPointer(kernel, 0, in);
    clSetKernelArgSVMPointer(kernel, 1, out);
    clSetKernelArg(kernel, 2, sizeof count, &count);
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &grid, &group, 0, NULL, NULL)) {
        fprintf(stderr, "the kernel can't be launched\n");
        return 2;
    }
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, out, bytes, 0, NULL, NULL);
    REGION_END();

    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, in, bytes, 0, NULL, NULL);
    for (cl_uint i = 0; i + 1 < count; i++)
        if (out[i] != (in[i] + in[i + 1]) / 2) {
            printf("wrong at %u: %g\n", i, out[i]);
            return 1;
        }
    printf("%u averages are right\n", count - 1);
    return 0;
}
