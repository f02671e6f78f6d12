/* Moves bytes by every function of OpenCL that does so, and checks all of them.
 *
 * Before each move a kernel changes both ends, so that the newest bytes are in caches of the GPU; what the host hands over it has
 * just written, so that it is in caches of the CPU. After each a kernel reads what arrived and changes it once more. Everything is
 * also done to arrays of the host's, which say what must come out. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 700, WIDTH = 9, HEIGHT = 5, DEPTH = 3 };

static cl_context context;
static cl_command_queue queue;
static cl_kernel stir_kernel, paint_kernel, peek_kernel, say_kernel;
static int failures;

static void check(cl_int status, const char *what, int line)
{
    if (status != CL_SUCCESS) {
        printf("line %d: %s gives %d\n", line, what, status);
        fflush(stdout);
        exit(1);
    }
}
#define CL(call) check(call, #call, __LINE__)
#define MADE(object) ({ __typeof__(object) made = object; check(status, #object, __LINE__); made; })
static cl_int status;
static cl_event event;

static unsigned next(void)
{
    static unsigned state = 7;
    return (state = state * 1664525u + 1013904223u) >> 8;
}

static void scribble(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = next();
}

static void compare(const char *what, const unsigned char *got, const unsigned char *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (got[i] != want[i]) {
            printf("%s: byte %zu is %d, not %d\n", what, i, got[i], want[i]);
            failures++;
            return;
        }
    printf("%s: right\n", what);
}

static const char *source =
    "__kernel void stir(__global uchar *p, uint n, uint k) {\n"
    "    uint i = get_global_id(0);\n"
    "    if (i < n) p[i] = p[i] * 5 + i + k;\n"
    "}\n"
    "__kernel void paint(write_only image3d_t to, uint k) {\n"
    "    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);\n"
    "    uint c = at.x + 16 * at.y + 80 * at.z + k;\n"
    "    write_imageui(to, at, (uint4)(c, c + 1, c * 3, c * 7) & 255u);\n"
    "}\n"
    "__kernel void peek(read_only image3d_t from, __global uchar4 *to) {\n"
    "    const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
    "    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);\n"
    "    to[(at.z * get_global_size(1) + at.y) * get_global_size(0) + at.x] = convert_uchar4(read_imageui(from, s, at));\n"
    "}\n";

/* A program of its own: kernels of one that prints get room for that at every launch. */
static const char *talkative =
    "__kernel void say(__global uchar *p, uint n) {\n"
    "    if (get_global_id(0) == 0) { uint sum = 0; for (uint i = 0; i < n; i++) sum += p[i]; p[0] = sum; printf(\"sum %u\\n\", sum); }\n"
    "}\n";

/* A kernel changes bytes, and so does the host to the array that stands for them. */
static void stir(cl_mem buffer, void *svm, unsigned char *model, size_t count)
{
    cl_uint n = count, k = next() & 255;
    size_t global = (count + 63) / 64 * 64, local = 64;
    if (svm)
        CL(clSetKernelArgSVMPointer(stir_kernel, 0, svm));
    else
        CL(clSetKernelArg(stir_kernel, 0, sizeof buffer, &buffer));
    CL(clSetKernelArg(stir_kernel, 1, sizeof n, &n));
    CL(clSetKernelArg(stir_kernel, 2, sizeof k, &k));
    CL(clEnqueueNDRangeKernel(queue, stir_kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    for (size_t i = 0; i < count; i++)
        model[i] = model[i] * 5 + i + k;
}

/* Moving bytes takes time. */
static void took_time(const char *what, cl_event event)
{
    cl_ulong start, end;
    CL(clWaitForEvents(1, &event));
    CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    if (end <= start) {
        printf("%s takes no time\n", what);
        failures++;
    }
    clReleaseEvent(event);
}

static unsigned char got[SIZE];

/* What is there now: through a kernel, then as the host reads it. */
static void verify(const char *what, cl_mem buffer, unsigned char *model)
{
    stir(buffer, NULL, model, SIZE);
    memset(got, 0x80, SIZE);
    CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, got, 0, NULL, NULL));
    compare(what, got, model, SIZE);
}

static void rows(unsigned char *to, const unsigned char *from, const size_t *region, const size_t *to_pitch, const size_t *from_pitch)
{
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++)
            memcpy(to + z * to_pitch[1] + y * to_pitch[0], from + z * from_pitch[1] + y * from_pitch[0], region[0]);
}

static unsigned char a[SIZE], b[SIZE], host[SIZE];

static void buffers(void)
{
    scribble(a, SIZE);
    scribble(b, SIZE);
    cl_mem first = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, a, &status));
    cl_mem second = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status));
    verify("CL_MEM_COPY_HOST_PTR", first, a);

    CL(clEnqueueWriteBuffer(queue, second, CL_TRUE, 0, SIZE, b, 0, NULL, NULL));
    stir(second, NULL, b, SIZE);
    scribble(host, SIZE);
    CL(clEnqueueWriteBuffer(queue, second, CL_FALSE, 37, 500, host + 5, 0, NULL, &event));
    took_time("clEnqueueWriteBuffer", event);
    memcpy(b + 37, host + 5, 500);
    verify("clEnqueueWriteBuffer", second, b);

    stir(first, NULL, a, SIZE);
    stir(second, NULL, b, SIZE);
    CL(clEnqueueCopyBuffer(queue, first, second, 100, 161, 401, 0, NULL, &event));
    took_time("clEnqueueCopyBuffer", event);
    memcpy(b + 161, a + 100, 401);
    verify("clEnqueueCopyBuffer", second, b);
    stir(first, NULL, a, SIZE);
    CL(clEnqueueCopyBuffer(queue, first, first, 0, 400, 300, 0, NULL, NULL));
    memcpy(a + 400, a, 300);
    verify("clEnqueueCopyBuffer within a buffer", first, a);

    size_t here[3] = {3, 2, 1}, there[3] = {1, 0, 1}, region[3] = {17, 6, 2};
    size_t first_pitch[2] = {23, 161}, second_pitch[2] = {25, 175}, host_pitch[2] = {19, 133};
    size_t first_at = 3 + 2 * 23 + 161, second_at = 1 + 175, host_at = 1 + 133;
    stir(first, NULL, a, SIZE);
    stir(second, NULL, b, SIZE);
    CL(clEnqueueCopyBufferRect(queue, first, second, here, there, region, 23, 161, 25, 175, 0, NULL, &event));
    took_time("clEnqueueCopyBufferRect", event);
    rows(b + second_at, a + first_at, region, second_pitch, first_pitch);
    verify("clEnqueueCopyBufferRect", second, b);
    scribble(host, SIZE);
    stir(first, NULL, a, SIZE);
    CL(clEnqueueWriteBufferRect(queue, first, CL_FALSE, here, there, region, 23, 161, 19, 133, host, 0, NULL, NULL));
    rows(a + first_at, host + host_at, region, first_pitch, host_pitch);
    verify("clEnqueueWriteBufferRect", first, a);
    stir(second, NULL, b, SIZE);
    scribble(host, SIZE);
    memcpy(got, host, SIZE);
    CL(clEnqueueReadBufferRect(queue, second, CL_TRUE, here, there, region, 25, 175, 19, 133, host, 0, NULL, &event));
    took_time("clEnqueueReadBufferRect", event);
    rows(got + host_at, b + 3 + 2 * 25 + 175, region, host_pitch, second_pitch);
    compare("clEnqueueReadBufferRect", host, got, SIZE);

    for (size_t pattern = 1; pattern <= 128; pattern *= 4) {
        stir(first, NULL, a, SIZE);
        scribble(host, pattern);
        size_t count = 550 / pattern * pattern;
        CL(clEnqueueFillBuffer(queue, first, host, pattern, pattern, count, 0, NULL, &event));
        took_time("clEnqueueFillBuffer", event);
        for (size_t i = 0; i < count; i++)
            a[pattern + i] = host[i % pattern];
        verify("clEnqueueFillBuffer", first, a);
    }

    stir(first, NULL, a, SIZE);
    unsigned char *mapped = MADE(clEnqueueMapBuffer(queue, first, CL_TRUE, CL_MAP_READ, 70, 600, 0, NULL, NULL, &status));
    compare("clEnqueueMapBuffer", mapped, a + 70, 600);
    CL(clEnqueueUnmapMemObject(queue, first, mapped, 0, NULL, NULL));
    stir(first, NULL, a, SIZE);
    mapped = MADE(clEnqueueMapBuffer(queue, first, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 70, 600, 0, NULL, NULL, &status));
    memset(mapped + 10, 9, 400);
    memset(a + 80, 9, 400);
    CL(clEnqueueUnmapMemObject(queue, first, mapped, 0, NULL, NULL));
    verify("clEnqueueUnmapMemObject", first, a);
    stir(first, NULL, a, SIZE);
    mapped = MADE(clEnqueueMapBuffer(queue, first, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 70, 600, 0, NULL, NULL, &status));
    scribble(mapped, 600);
    memcpy(a + 70, mapped, 600);
    CL(clEnqueueUnmapMemObject(queue, first, mapped, 0, NULL, NULL));
    verify("CL_MAP_WRITE_INVALIDATE_REGION", first, a);

    cl_buffer_region part = {512, 180};
    cl_mem sub = MADE(clCreateSubBuffer(first, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part, &status));
    stir(first, NULL, a, SIZE);
    stir(sub, NULL, a + 512, 180);
    stir(second, NULL, b, SIZE);
    CL(clEnqueueCopyBuffer(queue, sub, second, 9, 11, 160, 0, NULL, NULL));
    memcpy(b + 11, a + 512 + 9, 160);
    verify("clEnqueueCopyBuffer of a sub-buffer", second, b);
    verify("clCreateSubBuffer", first, a);

    stir(first, NULL, a, SIZE);
    CL(clEnqueueMigrateMemObjects(queue, 1, &first, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    verify("clEnqueueMigrateMemObjects to the host", first, a);
    stir(first, NULL, a, SIZE);
    CL(clEnqueueMigrateMemObjects(queue, 1, &first, 0, 0, NULL, NULL));
    verify("clEnqueueMigrateMemObjects to the device", first, a);

    static unsigned char own[SIZE] __attribute__((aligned(4096)));
    scribble(own, SIZE);
    memcpy(a, own, SIZE);
    cl_mem used = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, SIZE, own, &status));
    stir(used, NULL, a, SIZE);
    stir(second, NULL, b, SIZE);
    CL(clEnqueueCopyBuffer(queue, second, used, 0, 320, 300, 0, NULL, NULL));
    memcpy(a + 320, b, 300);
    stir(used, NULL, a, SIZE);
    mapped = MADE(clEnqueueMapBuffer(queue, used, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &status));
    compare("CL_MEM_USE_HOST_PTR", mapped == own ? own : mapped + SIZE, a, mapped == own ? SIZE : 1);
    scribble(own, SIZE);
    memcpy(a, own, SIZE);
    CL(clEnqueueUnmapMemObject(queue, used, mapped, 0, NULL, NULL));
    verify("CL_MEM_USE_HOST_PTR after a map", used, a);

    cl_mem alloc = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, SIZE, NULL, &status));
    mapped = MADE(clEnqueueMapBuffer(queue, alloc, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &status));
    scribble(mapped, SIZE);
    memcpy(b, mapped, SIZE);
    CL(clEnqueueUnmapMemObject(queue, alloc, mapped, 0, NULL, NULL));
    verify("CL_MEM_ALLOC_HOST_PTR", alloc, b);

    cl_uint n = SIZE;
    size_t one = 64;
    unsigned sum = 0;
    stir(first, NULL, a, SIZE);
    CL(clSetKernelArg(say_kernel, 0, sizeof alloc, &alloc));
    CL(clSetKernelArg(say_kernel, 1, sizeof n, &n));
    for (size_t i = 0; i < SIZE; i++)
        sum += b[i];
    printf("printf: the sum must be %u\n", sum);
    fflush(stdout);
    CL(clEnqueueNDRangeKernel(queue, say_kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    CL(clFinish(queue));
    b[0] = sum;
    verify("printf", alloc, b);
    clReleaseMemObject(sub);
    clReleaseMemObject(first);
    clReleaseMemObject(second);
    clReleaseMemObject(used);
    clReleaseMemObject(alloc);
}

static void shared(void)
{
    unsigned char *one = clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0);
    unsigned char *other = clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0);
    if (!one || !other)
        check(CL_OUT_OF_RESOURCES, "clSVMAlloc", __LINE__);
    CL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, one, SIZE, 0, NULL, NULL));
    scribble(one, SIZE);
    memcpy(a, one, SIZE);
    CL(clEnqueueSVMUnmap(queue, one, 0, NULL, NULL));
    stir(NULL, one, a, SIZE);
    CL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, one, SIZE, 0, NULL, NULL));
    compare("clEnqueueSVMMap", one, a, SIZE);
    CL(clEnqueueSVMUnmap(queue, one, 0, NULL, NULL));

    scribble(b, SIZE);
    CL(clEnqueueSVMMemcpy(queue, CL_TRUE, other, b, SIZE, 0, NULL, NULL));
    stir(NULL, one, a, SIZE);
    stir(NULL, other, b, SIZE);
    CL(clEnqueueSVMMemcpy(queue, CL_FALSE, other + 33, one + 100, 550, 0, NULL, &event));
    took_time("clEnqueueSVMMemcpy", event);
    memcpy(b + 33, a + 100, 550);
    stir(NULL, other, b, SIZE);
    CL(clEnqueueSVMMemcpy(queue, CL_TRUE, got, other, SIZE, 0, NULL, NULL));
    compare("clEnqueueSVMMemcpy", got, b, SIZE);

    scribble(host, 16);
    stir(NULL, other, b, SIZE);
    CL(clEnqueueSVMMemFill(queue, other + 32, host, 16, 560, 0, NULL, &event));
    took_time("clEnqueueSVMMemFill", event);
    for (size_t i = 0; i < 560; i++)
        b[32 + i] = host[i % 16];
    stir(NULL, other, b, SIZE);
    CL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, other, SIZE, 0, NULL, NULL));
    compare("clEnqueueSVMMemFill", other, b, SIZE);
    CL(clEnqueueSVMUnmap(queue, other, 0, NULL, NULL));

    cl_mem over = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, SIZE, one, &status));
    stir(over, NULL, a, SIZE);
    verify("a buffer over shared virtual memory", over, a);
    clReleaseMemObject(over);
    CL(clFinish(queue));
    clSVMFree(context, one);
    clSVMFree(context, other);
}

enum { TEXELS = WIDTH * HEIGHT * DEPTH, IMAGE = 4 * TEXELS };

/* Images of 8-bit RGBA. */
static void paint(cl_mem image, unsigned char *model)
{
    cl_uint k = next() & 255;
    size_t global[3] = {WIDTH, HEIGHT, DEPTH};
    CL(clSetKernelArg(paint_kernel, 0, sizeof image, &image));
    CL(clSetKernelArg(paint_kernel, 1, sizeof k, &k));
    CL(clEnqueueNDRangeKernel(queue, paint_kernel, 3, NULL, global, NULL, 0, NULL, NULL));
    for (unsigned z = 0; z < DEPTH; z++)
        for (unsigned y = 0; y < HEIGHT; y++)
            for (unsigned x = 0; x < WIDTH; x++) {
                unsigned c = x + 16 * y + 80 * z + k;
                unsigned char *texel = model + 4 * ((z * HEIGHT + y) * WIDTH + x);
                texel[0] = c, texel[1] = c + 1, texel[2] = c * 3, texel[3] = c * 7;
            }
}

static void verify_image(const char *what, cl_mem image, const unsigned char *model)
{
    size_t global[3] = {WIDTH, HEIGHT, DEPTH}, origin[3] = {0, 0, 0};
    cl_mem seen = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE, IMAGE, NULL, &status));
    CL(clSetKernelArg(peek_kernel, 0, sizeof image, &image));
    CL(clSetKernelArg(peek_kernel, 1, sizeof seen, &seen));
    CL(clEnqueueNDRangeKernel(queue, peek_kernel, 3, NULL, global, NULL, 0, NULL, NULL));
    CL(clEnqueueReadBuffer(queue, seen, CL_TRUE, 0, IMAGE, got, 0, NULL, NULL));
    compare(what, got, model, IMAGE);
    memset(got, 0x80, IMAGE);
    CL(clEnqueueReadImage(queue, image, CL_TRUE, origin, global, 0, 0, got, 0, NULL, NULL));
    compare("  read back", got, model, IMAGE);
    clReleaseMemObject(seen);
}

/* The place of a region in a model. */
static unsigned char *at(unsigned char *model, const size_t *origin)
{
    return model + 4 * ((origin[2] * HEIGHT + origin[1]) * WIDTH + origin[0]);
}

static void images(void)
{
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc desc = {CL_MEM_OBJECT_IMAGE3D, WIDTH, HEIGHT, DEPTH};
    size_t tight[2] = {4 * WIDTH, 4 * WIDTH * HEIGHT}, loose[2] = {48, 300};
    size_t origin[3] = {2, 1, 1}, other_origin[3] = {1, 2, 0}, region[3] = {6, 3, 2}, bytes[3] = {24, 3, 2};
    size_t whole[3] = {WIDTH, HEIGHT, DEPTH}, nought[3] = {0, 0, 0};
    cl_mem first = MADE(clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status));
    cl_mem second = MADE(clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status));
    cl_mem buffer = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status));

    paint(first, a);
    verify_image("write_imageui", first, a);
    scribble(host, SIZE);
    CL(clEnqueueWriteImage(queue, first, CL_FALSE, origin, region, 48, 300, host, 0, NULL, NULL));
    rows(at(a, origin), host, bytes, tight, loose);
    verify_image("clEnqueueWriteImage", first, a);
    paint(first, a);
    scribble(host, SIZE);
    memcpy(got, host, SIZE);
    CL(clEnqueueReadImage(queue, first, CL_TRUE, origin, region, 48, 300, host, 0, NULL, NULL));
    rows(got, at(a, origin), bytes, loose, tight);
    compare("clEnqueueReadImage", host, got, SIZE);

    paint(first, a);
    paint(second, b);
    CL(clEnqueueCopyImage(queue, first, second, origin, other_origin, region, 0, NULL, &event));
    took_time("clEnqueueCopyImage", event);
    rows(at(b, other_origin), at(a, origin), bytes, tight, tight);
    verify_image("clEnqueueCopyImage", second, b);

    cl_uint colour[4] = {1, 200, 30, 77};
    paint(second, b);
    CL(clEnqueueFillImage(queue, second, colour, origin, region, 0, NULL, &event));
    took_time("clEnqueueFillImage", event);
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++)
            for (size_t x = 0; x < 4 * region[0]; x++)
                at(b, origin)[z * tight[1] + y * tight[0] + x] = colour[x % 4];
    verify_image("clEnqueueFillImage", second, b);

    size_t packed[2] = {24, 72};
    unsigned char flat[SIZE];
    scribble(flat, SIZE);
    CL(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, flat, 0, NULL, NULL));
    stir(buffer, NULL, flat, SIZE);
    paint(first, a);
    CL(clEnqueueCopyImageToBuffer(queue, first, buffer, origin, region, 101, 0, NULL, &event));
    took_time("clEnqueueCopyImageToBuffer", event);
    rows(flat + 101, at(a, origin), bytes, packed, tight);
    verify("clEnqueueCopyImageToBuffer", buffer, flat);
    stir(buffer, NULL, flat, SIZE);
    paint(second, b);
    CL(clEnqueueCopyBufferToImage(queue, buffer, second, 203, other_origin, region, 0, NULL, &event));
    took_time("clEnqueueCopyBufferToImage", event);
    rows(at(b, other_origin), flat + 203, bytes, tight, packed);
    verify_image("clEnqueueCopyBufferToImage", second, b);

    size_t pitch[2];
    paint(first, a);
    unsigned char *mapped = MADE(clEnqueueMapImage(queue, first, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin, region, &pitch[0], &pitch[1], 0, NULL, NULL, &status));
    memset(host, 0, SIZE);
    memset(got, 0, SIZE);
    rows(host, mapped, bytes, loose, pitch);
    rows(got, at(a, origin), bytes, loose, tight);
    compare("clEnqueueMapImage", host, got, SIZE);
    scribble(host, SIZE);
    rows(mapped, host, bytes, pitch, loose);
    rows(at(a, origin), host, bytes, tight, loose);
    CL(clEnqueueUnmapMemObject(queue, first, mapped, 0, NULL, NULL));
    verify_image("clEnqueueUnmapMemObject of an image", first, a);

    /* Rows of 40 and slices of 280 bytes in the program's memory. */
    static unsigned char own[3 * 280] __attribute__((aligned(4096)));
    size_t own_pitch[2] = {40, 280}, all[3] = {4 * WIDTH, HEIGHT, DEPTH};
    for (int use = 0; use < 2; use++) {
        scribble(own, sizeof own);
        rows(a, own, all, tight, own_pitch);
        desc.image_row_pitch = 40;
        desc.image_slice_pitch = 280;
        cl_mem_flags how = use ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
        cl_mem from = MADE(clCreateImage(context, CL_MEM_READ_WRITE | how, &format, &desc, own, &status));
        verify_image(use ? "an image with CL_MEM_USE_HOST_PTR" : "an image with CL_MEM_COPY_HOST_PTR", from, a);
        paint(from, a);
        mapped = MADE(clEnqueueMapImage(queue, from, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, nought, whole, &pitch[0], &pitch[1], 0, NULL, NULL, &status));
        memset(host, 0, SIZE);
        rows(host, use ? own : mapped, all, tight, use ? own_pitch : pitch);
        compare("  mapped", host, a, IMAGE);
        mapped[pitch[1] + pitch[0] + 1] = 99;
        a[tight[1] + tight[0] + 1] = 99;
        CL(clEnqueueUnmapMemObject(queue, from, mapped, 0, NULL, NULL));
        verify_image("  and unmapped", from, a);
        clReleaseMemObject(from);
    }
    clReleaseMemObject(first);
    clReleaseMemObject(second);
    clReleaseMemObject(buffer);
}

static cl_program build(cl_device_id device, const char *text)
{
    cl_program program = MADE(clCreateProgramWithSource(context, 1, &text, NULL, &status));
    if (clBuildProgram(program, 1, &device, "-cl-std=CL2.0", NULL, NULL) != CL_SUCCESS) {
        char log[10000];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        printf("%s\n", log);
        exit(1);
    }
    return program;
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = MADE(clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    cl_queue_properties profiled[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    queue = MADE(clCreateCommandQueueWithProperties(context, device, profiled, &status));
    cl_program program = build(device, source), prints = build(device, talkative);
    stir_kernel = MADE(clCreateKernel(program, "stir", &status));
    paint_kernel = MADE(clCreateKernel(program, "paint", &status));
    peek_kernel = MADE(clCreateKernel(program, "peek", &status));
    say_kernel = MADE(clCreateKernel(prints, "say", &status));
    buffers();
    shared();
    images();
    printf("%d moves were wrong\n", failures);
    return failures > 0;
}
