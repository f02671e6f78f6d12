/* Shared virtual memory: a linked structure that host and kernel change in turn, mapped and unmapped around each. */
#include "cl_common.h"

struct node { struct node *next; cl_uint value; cl_uint pad; };

static const char *SOURCE =
    "struct node { __global struct node *next; uint value, pad; };\n"
    "__kernel void walk(__global struct node *first, uint count) {\n"
    "    __global struct node *node = first + get_global_id(0);\n"
    "    for (uint i = 0; i < count; i++) node = node->next;\n"
    "    first[get_global_id(0)].pad += node->value;\n"
    "}\n";

enum { NODES = 128 };

int main(void) {
    open_device();
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_kernel kernel = kernel_of(SOURCE, "walk");
    struct node *nodes = clSVMAlloc(context, CL_MEM_READ_WRITE, NODES * sizeof *nodes, 0);
    CHECK(clSetKernelArgSVMPointer(kernel, 0, nodes));
    unsigned long sum = 0;
    for (cl_uint round = 0; round < 4; round++) {
        CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, nodes, NODES * sizeof *nodes, 0, NULL, NULL));
        for (int i = 0; i < NODES; i++) {
            if (round == 0) nodes[i].pad = 0;
            nodes[i].next = &nodes[(i * 5 + 3 + round) % NODES];
            nodes[i].value = i + round;
            sum += nodes[i].pad;
        }
        CHECK(clEnqueueSVMUnmap(queue, nodes, 0, NULL, NULL));
        CHECK(clSetKernelArg(kernel, 1, sizeof round, &round));
        size_t grid = NODES, group = 64;
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &grid, &group, 0, NULL, NULL));
        CHECK(clFinish(queue));
    }
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, nodes, NODES * sizeof *nodes, 0, NULL, NULL));
    for (int i = 0; i < NODES; i++) sum = sum * 3 + nodes[i].pad;
    printf("%lu\n", sum);
    CHECK(clEnqueueSVMUnmap(queue, nodes, 0, NULL, NULL));
    CHECK(clFinish(queue));
    clSVMFree(context, nodes);
    return 0;
}
