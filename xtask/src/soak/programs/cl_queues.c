/* Threads with a queue each, and a queue out of order whose commands wait for each other by events. */
#include "cl_common.h"
#include <pthread.h>

static const char *SOURCE =
    "__kernel void add(__global uint *data, uint n) { data[get_global_id(0)] += n + get_local_id(0); }\n";

enum { ITEMS = 512, ROUNDS = 4 };

static cl_program shared_program;

static void *work(void *argument) {
    cl_uint number = (cl_uint)(long)argument, data[ITEMS] = {0};
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_kernel kernel = clCreateKernel(shared_program, "add", NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, NULL);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    CHECK(clSetKernelArg(kernel, 1, sizeof number, &number));
    size_t grid = ITEMS, group = 64;
    for (int i = 0; i < ROUNDS; i++) CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &grid, &group, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
    long sum = 0;
    for (int i = 0; i < ITEMS; i++) sum += data[i];
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
    return (void *)sum;
}

int main(void) {
    open_device();
    cl_kernel kernel = kernel_of(SOURCE, "add");
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof shared_program, &shared_program, NULL));
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 3; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("queue %d: %ld\n", i, (long)sum);
    }
    cl_command_queue any_order =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, NULL);
    cl_uint data[ITEMS] = {0}, n = 5;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, NULL);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    CHECK(clSetKernelArg(kernel, 1, sizeof n, &n));
    size_t grid = ITEMS, group = 128;
    cl_event gate = clCreateUserEvent(context, NULL), last = gate;
    for (int i = 0; i < ROUNDS; i++) {
        cl_event next;
        CHECK(clEnqueueNDRangeKernel(any_order, kernel, 1, NULL, &grid, &group, 1, &last, &next));
        last = next;
    }
    CHECK(clEnqueueReadBuffer(any_order, buffer, CL_FALSE, 0, sizeof data, data, 1, &last, NULL));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(any_order));
    cl_ulong begin, end;
    CHECK(clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL));
    CHECK(clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    long sum = 0;
    for (int i = 0; i < ITEMS; i++) sum += data[i];
    printf("out of order: %ld, %s\n", sum, end >= begin ? "in time" : "backwards in time");
    return 0;
}
