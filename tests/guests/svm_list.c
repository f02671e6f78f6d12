// An OpenCL 2.0 program around shared virtual memory: a linked list that the host builds and a kernel walks, and fine-grained
// memory in which a kernel that runs and a thread of the host hand a counter back and forth with atomics.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 1000, TURNS = 50 };

struct node {
    struct node *next;
    int value, doubled;
};

static const char *SOURCE =
    "struct node { __global struct node *next; int value, doubled; };\n"
    "__kernel void walk(__global struct node *n, __global int *sum) {\n"
    "    for (; n; n = n->next) { n->doubled = 2 * n->value; *sum += n->value; }\n"
    "}\n"
    "__kernel void play(__global atomic_int *ball, int turns) {\n"
    "    for (int turn = 0; turn < turns; turn++) {\n"
    "        while (atomic_load_explicit(ball, memory_order_acquire, memory_scope_all_svm_devices) != 2 * turn + 1) {}\n"
    "        atomic_store_explicit(ball, 2 * turn + 2, memory_order_release, memory_scope_all_svm_devices);\n"
    "    }\n"
    "}\n";

static void check(cl_int code, int line)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "line %d: error %d\n", line, code);
        exit(2);
    }
}
#define CHECK(call) check(call, __LINE__)

int main(void)
{
    cl_int code;
    cl_platform_id platform;
    cl_device_id device;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &device, NULL));
    cl_device_svm_capabilities capabilities;
    CHECK(clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof capabilities, &capabilities, NULL));
    if (!(capabilities & CL_DEVICE_SVM_ATOMICS)) {
        puts("no atomics in shared virtual memory");
        return 2;
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CHECK(code);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    CHECK(code);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, &code);
    CHECK(code);
    CHECK(clBuildProgram(program, 0, NULL, "-cl-std=CL2.0", NULL, NULL));

    struct node *nodes = clSVMAlloc(context, CL_MEM_READ_WRITE, NODES * sizeof *nodes, 0);
    int *sum = clSVMAlloc(context, CL_MEM_READ_WRITE, sizeof *sum, 0);
    if (!nodes || !sum)
        return 2;
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, nodes, NODES * sizeof *nodes, 0, NULL, NULL));
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, sum, sizeof *sum, 0, NULL, NULL));
    *sum = 0;
    for (int n = 0; n < NODES; n++) {
        // Every seventh, so that neighbours in the list are none in memory.
        int next = (n + 7) % NODES;
        nodes[n].value = n;
        nodes[n].next = next == 0 ? NULL : &nodes[next];
    }
    CHECK(clEnqueueSVMUnmap(queue, nodes, 0, NULL, NULL));
    CHECK(clEnqueueSVMUnmap(queue, sum, 0, NULL, NULL));
    cl_kernel walk = clCreateKernel(program, "walk", &code);
    CHECK(code);
    CHECK(clSetKernelArgSVMPointer(walk, 0, nodes));
    CHECK(clSetKernelArgSVMPointer(walk, 1, sum));
    CHECK(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof nodes, &nodes));
    CHECK(clEnqueueNDRangeKernel(queue, walk, 1, NULL, (size_t[]){1}, (size_t[]){1}, 0, NULL, NULL));
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, nodes, NODES * sizeof *nodes, 0, NULL, NULL));
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, sum, sizeof *sum, 0, NULL, NULL));
    if (*sum != NODES * (NODES - 1) / 2 || nodes[NODES - 7].doubled != 2 * (NODES - 7)) {
        printf("wrong: the sum is %d\n", *sum);
        return 1;
    }

    cl_svm_mem_flags fine = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;
    atomic_int *ball = clSVMAlloc(context, fine, sizeof *ball, 0);
    if (!ball)
        return 2;
    atomic_init(ball, 0);
    int turns = TURNS;
    cl_kernel play = clCreateKernel(program, "play", &code);
    CHECK(code);
    CHECK(clSetKernelArgSVMPointer(play, 0, ball));
    CHECK(clSetKernelArg(play, 1, sizeof turns, &turns));
    CHECK(clEnqueueNDRangeKernel(queue, play, 1, NULL, (size_t[]){1}, (size_t[]){1}, 0, NULL, NULL));
    CHECK(clFlush(queue));
    for (int turn = 0; turn < TURNS; turn++) {
        while (atomic_load_explicit(ball, memory_order_acquire) != 2 * turn) {}
        atomic_store_explicit(ball, 2 * turn + 1, memory_order_release);
    }
    CHECK(clFinish(queue));
    if (atomic_load(ball) != 2 * TURNS) {
        printf("wrong: the ball is at %d\n", atomic_load(ball));
        return 1;
    }
    clSVMFree(context, ball);
    clSVMFree(context, sum);
    clSVMFree(context, nodes);
    puts("PASS");
    return 0;
}
