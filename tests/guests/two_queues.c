/* Two kernels that do not depend on each other, in two queues: of one device each, if there are two, else of one. Each sums what its buffer holds
   again and again; tells whether the kernels overlapped in time. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 4096
#define ROUNDS 40

static const char *source =
    "__kernel void rounds(__global uint *data, uint rounds) {\n"
    "    uint at = get_global_id(0), sum = data[at];\n"
    "    for (uint round = 0; round < rounds; round++) sum = sum * 1664525u + data[(at + round * 61) % 4096] * 0u + 1013904223u;\n"
    "    data[at] = sum;\n"
    "}\n";

static void check(cl_int error, const char *what) {
    if (error != CL_SUCCESS) {
        printf("%s: error %d\n", what, error);
        exit(1);
    }
}

int main(void) {
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_uint count;
    cl_int error;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, devices, &count), "clGetDeviceIDs");
    if (count > 2) count = 2;
    cl_context context = clCreateContext(NULL, count, devices, NULL, NULL, &error);
    check(error, "clCreateContext");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    check(error, "clCreateProgramWithSource");
    check(clBuildProgram(program, count, devices, "", NULL, NULL), "clBuildProgram");
    cl_command_queue queues[2];
    cl_mem buffers[2];
    cl_event events[2];
    cl_uint *input = malloc(COUNT * sizeof *input), rounds = ROUNDS;
    for (int i = 0; i < COUNT; i++) input[i] = i;
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueue(context, devices[i % count], CL_QUEUE_PROFILING_ENABLE, &error);
        check(error, "clCreateCommandQueue");
        buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof *input, NULL, &error);
        check(error, "clCreateBuffer");
        check(clEnqueueWriteBuffer(queues[i], buffers[i], CL_TRUE, 0, COUNT * sizeof *input, input, 0, NULL, NULL), "write");
    }
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = clCreateKernel(program, "rounds", &error);
        check(error, "clCreateKernel");
        check(clSetKernelArg(kernel, 0, sizeof buffers[i], &buffers[i]), "clSetKernelArg");
        check(clSetKernelArg(kernel, 1, sizeof rounds, &rounds), "clSetKernelArg");
        size_t size = COUNT, group = 64;
        check(clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &size, &group, 0, NULL, &events[i]), "launch");
        check(clFlush(queues[i]), "clFlush");
    }
    check(clWaitForEvents(2, events), "clWaitForEvents");
    cl_ulong start[2], end[2];
    for (int i = 0; i < 2; i++) {
        cl_uint *output = malloc(COUNT * sizeof *output);
        check(clEnqueueReadBuffer(queues[i], buffers[i], CL_TRUE, 0, COUNT * sizeof *output, output, 0, NULL, NULL), "read");
        for (cl_uint at = 0; at < COUNT; at++) {
            cl_uint sum = at;
            for (int round = 0; round < ROUNDS; round++) sum = sum * 1664525u + 1013904223u;
            if (output[at] != sum) {
                printf("element %u of buffer %d is %u and should be %u\n", at, i, output[at], sum);
                return 1;
            }
        }
        check(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof start[i], &start[i], NULL), "start");
        check(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof end[i], &end[i], NULL), "end");
    }
    int overlap = start[0] < end[1] && start[1] < end[0];
    cl_ulong first = start[0] < start[1] ? start[0] : start[1], last = end[0] > end[1] ? end[0] : end[1];
    printf("%u devices: right; %s\n", count, overlap ? "the kernels overlapped" : "one kernel after the other");
    printf("both together took %llu ns, one by one %llu ns\n", (unsigned long long)(last - first),
           (unsigned long long)(end[0] - start[0] + end[1] - start[1]));
    return 0;
}
