/* Every call that moves bytes of buffers: read, write, copy, rectangles, fill, map and unmap, sub-buffers. */
#include "cl_common.h"

enum { SIDE = 32, BYTES = SIDE * SIDE };

static unsigned sum_of(const unsigned char *bytes) {
    unsigned sum = 0;
    for (int i = 0; i < BYTES; i++) sum = sum * 33 + bytes[i];
    return sum;
}

int main(void) {
    open_device();
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    unsigned char bytes[BYTES], back[BYTES];
    for (int i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(i * 7 + i / SIDE);
    cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    CHECK(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, BYTES, bytes, 0, NULL, NULL));
    CHECK(clEnqueueCopyBuffer(queue, a, b, 0, 0, BYTES, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    printf("copy %u\n", sum_of(back));
    size_t from[3] = {3, 4, 0}, to[3] = {9, 1, 0}, size[3] = {11, 17, 1};
    CHECK(clEnqueueCopyBufferRect(queue, a, b, from, to, size, SIDE, 0, SIDE, 0, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    printf("rectangle %u\n", sum_of(back));
    CHECK(clEnqueueWriteBufferRect(queue, a, CL_TRUE, to, from, size, SIDE, 0, SIDE, 0, bytes, 0, NULL, NULL));
    memset(back, 0, BYTES);
    CHECK(clEnqueueReadBufferRect(queue, a, CL_TRUE, from, to, size, SIDE, 0, SIDE, 0, back, 0, NULL, NULL));
    printf("rectangles in and out %u\n", sum_of(back));
    cl_uint pattern = 0x04030201;
    CHECK(clEnqueueFillBuffer(queue, b, &pattern, 4, 64, 512, 0, NULL, NULL));
    cl_buffer_region region = {256, 512};
    cl_int error;
    cl_mem part = clCreateSubBuffer(b, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    CHECK(error);
    CHECK(clEnqueueCopyBuffer(queue, a, part, 100, 200, 300, 0, NULL, NULL));
    unsigned char *mapped = clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &error);
    CHECK(error);
    printf("fill and part %u\n", sum_of(mapped));
    mapped[5] ^= 0xff;
    CHECK(clEnqueueUnmapMemObject(queue, b, mapped, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    printf("mapped %u\n", sum_of(back));
    return 0;
}
