/* A kernel with private arrays that lie in scratch memory, launched again and again, with grids of several sizes. */
#include "cl_common.h"

static const char *SOURCE =
    "__kernel void k(__global uint *data, uint turns) {\n"
    "    uint own[64], gid = get_global_id(0);\n"
    "    for (uint i = 0; i < 64; i++) own[i] = gid + i;\n"
    "    for (uint i = 0; i < turns; i++) own[(gid * 7 + i * 13) & 63] += own[(i + data[gid]) & 63];\n"
    "    uint sum = 0;\n"
    "    for (uint i = 0; i < 64; i++) sum += own[i];\n"
    "    data[gid] = sum;\n"
    "}\n";

int main(void) {
    open_device();
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_kernel kernel = kernel_of(SOURCE, "k");
    enum { ITEMS = 256 };
    cl_uint data[ITEMS], turns = 20;
    for (cl_uint i = 0; i < ITEMS; i++) data[i] = i;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, NULL);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    CHECK(clSetKernelArg(kernel, 1, sizeof turns, &turns));
    for (int launch = 0; launch < 8; launch++) {
        size_t grid = ITEMS >> launch % 3, group = 64;
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &grid, &group, 0, NULL, NULL));
        if (launch % 2) CHECK(clFinish(queue));
    }
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
    cl_uint sum = 0;
    for (int i = 0; i < ITEMS; i++) sum = sum * 31 + data[i];
    printf("%u\n", sum);
    return 0;
}
