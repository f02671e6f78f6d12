// An OpenCL 2.0 program whose system calls read to and write from shared virtual memory, across as many pages as a pipe holds.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 12 * 1024, BYTES = 4 * WORDS, ROUNDS = 3 };

static const char *SOURCE = "__kernel void add(__global int *data) { data[get_global_id(0)] += get_global_id(0); }\n";

static void check(cl_int code, int line)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "line %d: error %d\n", line, code);
        exit(2);
    }
}
#define CHECK(call) check(call, __LINE__)

static int here[WORDS];

int main(void)
{
    cl_int code;
    cl_platform_id platform;
    cl_device_id device;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CHECK(code);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    CHECK(code);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, &code);
    CHECK(code);
    CHECK(clBuildProgram(program, 0, NULL, "-cl-std=CL2.0", NULL, NULL));
    cl_kernel add = clCreateKernel(program, "add", &code);
    CHECK(code);
    int *data = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    int ends[2];
    if (!data || pipe(ends))
        return 2;
    CHECK(clSetKernelArgSVMPointer(add, 0, data));
    for (int round = 0; round < ROUNDS; round++) {
        for (int n = 0; n < WORDS; n++)
            here[n] = 1000 * round + n;
        CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, data, BYTES, 0, NULL, NULL));
        if (write(ends[1], here, BYTES) != BYTES || read(ends[0], data, BYTES) != BYTES) {
            printf("round %d: not all was read\n", round);
            return 1;
        }
        CHECK(clEnqueueSVMUnmap(queue, data, 0, NULL, NULL));
        CHECK(clEnqueueNDRangeKernel(queue, add, 1, NULL, (size_t[]){WORDS}, NULL, 0, NULL, NULL));
        CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, data, BYTES, 0, NULL, NULL));
        if (write(ends[1], data, BYTES) != BYTES || read(ends[0], here, BYTES) != BYTES) {
            printf("round %d: not all was written\n", round);
            return 1;
        }
        CHECK(clEnqueueSVMUnmap(queue, data, 0, NULL, NULL));
        CHECK(clFinish(queue));
        for (int n = 0; n < WORDS; n++)
            if (here[n] != 1000 * round + 2 * n) {
                printf("round %d: word %d is %d\n", round, n, here[n]);
                return 1;
            }
    }
    clSVMFree(context, data);
    puts("PASS");
    return 0;
}
