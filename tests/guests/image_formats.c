/* Reads, writes and samples images of every kind in every format that the device has, and compares with plain C.
 *
 * The formats that OpenCL 1.2 requires (5.3.2.1) must be there. With the argument "few", three formats stand for all. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_int status;
static int failures;

static void check(cl_int code, const char *what, int line)
{
    if (code != CL_SUCCESS) {
        printf("line %d: %s gives %d\n", line, what, code);
        exit(1);
    }
}
#define CL(call) check(call, #call, __LINE__)
#define MADE(object) ({ __typeof__(object) made = object; check(status, #object, __LINE__); made; })

static unsigned next(void)
{
    static unsigned state = 99;
    return (state = state * 1664525u + 1013904223u) >> 8;
}

/* The kinds: how kernels call them, how their coordinates are made of x, y and z, and their sizes. */
static const struct kind {
    cl_mem_object_type type;
    const char *name, *coordinate, *sampled;
    size_t size[3]; /* as regions count them */
    int axes, layered;
} kinds[] = {
    {CL_MEM_OBJECT_IMAGE1D, "image1d_t", "c.x", "c.x", {7, 1, 1}, 1, 0},
    {CL_MEM_OBJECT_IMAGE1D_BUFFER, "image1d_buffer_t", "c.x", NULL, {7, 1, 1}, 1, 0},
    {CL_MEM_OBJECT_IMAGE1D_ARRAY, "image1d_array_t", "c.xy", "c.xy", {7, 3, 1}, 1, 1},
    {CL_MEM_OBJECT_IMAGE2D, "image2d_t", "c.xy", "c.xy", {7, 5, 1}, 2, 0},
    {CL_MEM_OBJECT_IMAGE2D_ARRAY, "image2d_array_t", "c", "c", {7, 5, 3}, 2, 1},
    {CL_MEM_OBJECT_IMAGE3D, "image3d_t", "c", "c", {7, 5, 3}, 3, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST = 7 * 5 * 3, SAMPLES = 256 };

static const char *template_source =
    "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n"
    "#define HERE int4 c = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0); "
    "size_t i = (c.z * get_global_size(1) + c.y) * get_global_size(0) + c.x\n"
    "#define ACCESS(KIND, C, F, T) \\\n"
    "__kernel void read##F##_##KIND(read_only KIND from, __global T *to) { HERE; to[i] = read_image##F(from, C); } \\\n"
    "__kernel void write##F##_##KIND(write_only KIND to, __global T *from) { HERE; write_image##F(to, C, from[i]); }\n"
    "#define ALL(KIND, C) ACCESS(KIND, C, f, float4) ACCESS(KIND, C, i, int4) ACCESS(KIND, C, ui, uint4)\n"
    "#define SAMPLE(KIND, C) __kernel void sample_##KIND(read_only KIND from, sampler_t s, __global float4 *at, __global float4 *to) { \\\n"
    "float4 c = at[get_global_id(0)]; to[get_global_id(0)] = read_imagef(from, s, C); }\n"
    "__kernel void sizes(read_only image3d_t v, read_only image2d_array_t l, read_only image1d_array_t a, read_only image1d_buffer_t b,\n"
    "    __global int *to) { to[0] = get_image_width(v); to[1] = get_image_height(v); to[2] = get_image_depth(v);\n"
    "    to[3] = get_image_array_size(l); to[4] = get_image_height(l); to[5] = get_image_array_size(a); to[6] = get_image_width(a);\n"
    "    to[7] = get_image_width(b); }\n";

/* The channels of an order: where red, green, blue and alpha are stored (-1: zero, -2: one), and how many there are. */
static const struct order {
    cl_channel_order order;
    int count, from[4];
} orders[] = {
    {CL_R, 1, {0, -1, -1, -2}},  {CL_A, 1, {-1, -1, -1, 0}}, {CL_INTENSITY, 1, {0, 0, 0, 0}},
    {CL_LUMINANCE, 1, {0, 0, 0, -2}}, {CL_RG, 2, {0, 1, -1, -2}}, {CL_RA, 2, {0, -1, -1, 1}},
    {CL_RGBA, 4, {0, 1, 2, 3}},  {CL_BGRA, 4, {2, 1, 0, 3}}, {CL_ARGB, 4, {1, 2, 3, 0}},
};

enum { UNORM, SNORM, SIGNED, UNSIGNED, HALF, FLOAT };
static const struct type {
    cl_channel_type type;
    int bytes, number;
} types[] = {
    {CL_SNORM_INT8, 1, SNORM},    {CL_SNORM_INT16, 2, SNORM},   {CL_UNORM_INT8, 1, UNORM},     {CL_UNORM_INT16, 2, UNORM},
    {CL_SIGNED_INT8, 1, SIGNED},  {CL_SIGNED_INT16, 2, SIGNED}, {CL_SIGNED_INT32, 4, SIGNED},  {CL_UNSIGNED_INT8, 1, UNSIGNED},
    {CL_UNSIGNED_INT16, 2, UNSIGNED}, {CL_UNSIGNED_INT32, 4, UNSIGNED}, {CL_HALF_FLOAT, 2, HALF}, {CL_FLOAT, 4, FLOAT},
};

/* A component as kernels get it: the bits of a float or an integer. */
union word {
    float f;
    int32_t i;
    uint32_t u;
};

static float from_half(uint32_t h)
{
    int exponent = h >> 10 & 31;
    float value = exponent ? ldexpf(1024 + (h & 1023), exponent - 25) : ldexpf(h & 1023, -24);
    return h >> 15 ? -value : value;
}

static union word decode(const struct type *type, const unsigned char *bytes)
{
    uint32_t raw = 0;
    memcpy(&raw, bytes, type->bytes);
    int bits = 8 * type->bytes;
    int32_t wide = (int32_t)(raw << (32 - bits)) >> (32 - bits);
    union word word = {.u = raw};
    switch (type->number) {
    case UNORM: word.f = raw / (float)((1u << bits) - 1); break;
    case SNORM: word.f = fmaxf(wide / (float)((1 << (bits - 1)) - 1), -1); break;
    case SIGNED: word.i = wide; break;
    case HALF: word.f = from_half(raw); break;
    }
    return word;
}

/* Bytes of a component that can be read and written again: no numbers that have two names, none that are no numbers. */
static void component(const struct type *type, unsigned char *bytes)
{
    uint32_t raw = next() << 12 ^ next();
    float value = (int)(next() % 2001) / 100.0f - 10;
    if (type->number == SNORM && (raw & ((1u << (8 * type->bytes)) - 1)) == 1u << (8 * type->bytes - 1))
        raw++;
    if (type->number == HALF)
        raw = (raw & 0x83ff) | (next() % 29 + 1) << 10;
    if (type->number == FLOAT)
        memcpy(&raw, &value, 4);
    memcpy(bytes, &raw, type->bytes);
}

static int differs(const struct type *type, union word one, union word other)
{
    if (type->number == SIGNED || type->number == UNSIGNED)
        return one.u != other.u;
    return !(fabsf(one.f - other.f) <= 1e-6f * fmaxf(1, fabsf(other.f)));
}

static void wrong(const struct kind *kind, const cl_image_format *format, const char *what, size_t at)
{
    if (++failures < 20)
        printf("%s %x %x: %s at %zu\n", kind->name, format->image_channel_order, format->image_channel_data_type, what, at);
}

static cl_mem make(const struct kind *kind, const cl_image_format *format, size_t texel, const void *bytes, cl_mem *buffer)
{
    const size_t *size = kind->size;
    cl_image_desc desc = {kind->type, size[0]};
    *buffer = NULL;
    switch (kind->type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY: desc.image_array_size = size[1]; break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY: desc.image_height = size[1]; desc.image_array_size = size[2]; break;
    default: desc.image_height = size[1]; desc.image_depth = size[2];
    }
    if (kind->type == CL_MEM_OBJECT_IMAGE1D_BUFFER) {
        *buffer = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size[0] * texel, (void *)bytes, &status));
        desc.buffer = *buffer;
        return MADE(clCreateImage(context, CL_MEM_READ_WRITE, format, &desc, NULL, &status));
    }
    return MADE(clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, format, &desc, (void *)bytes, &status));
}

static void run(const char *what, const char *letter, const struct kind *kind, cl_mem image, cl_mem words)
{
    char name[64];
    sprintf(name, "%s%s_%s", what, letter, kind->name);
    cl_kernel kernel = MADE(clCreateKernel(program, name, &status));
    CL(clSetKernelArg(kernel, 0, sizeof image, &image));
    CL(clSetKernelArg(kernel, 1, sizeof words, &words));
    CL(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, kind->size, NULL, 0, NULL, NULL));
    CL(clReleaseKernel(kernel));
}

static void try_format(const struct kind *kind, const cl_image_format *format)
{
    const struct order *order = NULL;
    const struct type *type = NULL;
    for (size_t n = 0; n < sizeof orders / sizeof *orders; n++)
        if (orders[n].order == format->image_channel_order)
            order = &orders[n];
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (types[n].type == format->image_channel_data_type)
            type = &types[n];
    if (!order || !type)
        return; /* one that this program knows nothing of */
    size_t count = kind->size[0] * kind->size[1] * kind->size[2], texel = order->count * type->bytes, origin[3] = {0, 0, 0};
    unsigned char bytes[MOST * 16], back[MOST * 16];
    union word words[MOST][4];
    for (size_t n = 0; n < count * order->count; n++)
        component(type, bytes + n * type->bytes);
    const char *letter = type->number == SIGNED ? "i" : type->number == UNSIGNED ? "ui" : "f";
    union word one = {.u = 1};
    if (*letter == 'f')
        one.f = 1;
    cl_mem buffer, image = make(kind, format, texel, bytes, &buffer);
    cl_mem list = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof words, NULL, &status));

    run("read", letter, kind, image, list);
    CL(clEnqueueReadBuffer(queue, list, CL_TRUE, 0, count * sizeof *words, words, 0, NULL, NULL));
    for (size_t n = 0; n < count; n++)
        for (int c = 0; c < 4; c++) {
            int from = order->from[c];
            union word zero = {.u = 0}, want = from == -1 ? zero : from == -2 ? one : decode(type, bytes + n * texel + from * type->bytes);
            if (differs(type, words[n][c], want))
                wrong(kind, format, "read wrong", 4 * n + c);
        }

    /* What was read, written in the opposite order of texels, is the same bytes in that order. */
    for (size_t n = 0; n < count / 2; n++)
        for (int c = 0; c < 4; c++) {
            union word word = words[n][c];
            words[n][c] = words[count - 1 - n][c];
            words[count - 1 - n][c] = word;
        }
    /* The last texel gets what is out of range. */
    for (int c = 0; c < 4; c++)
        if (*letter == 'f')
            words[count - 1][c].f = c % 2 ? -3 : 2;
        else
            words[count - 1][c].i = c % 2 ? -70000 : 70000;
    CL(clEnqueueWriteBuffer(queue, list, CL_TRUE, 0, count * sizeof *words, words, 0, NULL, NULL));
    run("write", letter, kind, image, list);
    memset(back, 0x80, sizeof back);
    CL(clEnqueueReadImage(queue, image, CL_TRUE, origin, kind->size, 0, 0, back, 0, NULL, NULL));
    for (size_t n = 0; n + 1 < count; n++)
        if (memcmp(back + n * texel, bytes + (count - 1 - n) * texel, texel) != 0)
            wrong(kind, format, "written wrong", n);
    for (int place = 0; place < order->count; place++) {
        int c = 0;
        while (order->from[c] != place)
            c++;
        union word is = decode(type, back + (count - 1) * texel + place * type->bytes), want = words[count - 1][c];
        double low = -3, high = 2;
        switch (type->number) {
        case UNORM: low = 0, high = 1; break;
        case SNORM: low = -1, high = 1; break;
        case SIGNED: low = -ldexp(1, 8 * type->bytes - 1), high = ldexp(1, 8 * type->bytes - 1) - 1; break;
        case UNSIGNED: low = 0, high = ldexp(1, 8 * type->bytes) - 1; break;
        }
        double value = *letter == 'f' ? want.f : type->number == UNSIGNED ? want.u : (double)want.i;
        value = value < low ? low : value > high ? high : value;
        double got = *letter == 'f' ? is.f : type->number == UNSIGNED ? is.u : (double)is.i;
        if (got != value)
            wrong(kind, format, "out of range", place);
    }
    if (buffer) {
        CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * texel, bytes, 0, NULL, NULL));
        if (memcmp(bytes, back, count * texel) != 0)
            wrong(kind, format, "the buffer has other bytes", 0);
        clReleaseMemObject(buffer);
    }
    clReleaseMemObject(image);
    clReleaseMemObject(list);
}

/* The texel for a coordinate that may be outside; -1 for the border. */
static long wrapped(cl_addressing_mode mode, long at, long size)
{
    if (mode == CL_ADDRESS_CLAMP)
        return at < 0 || at >= size ? -1 : at;
    if (mode == CL_ADDRESS_REPEAT)
        return ((at % size) + size) % size;
    if (mode == CL_ADDRESS_MIRRORED_REPEAT) {
        at = ((at % (2 * size)) + 2 * size) % (2 * size);
        return at < size ? at : 2 * size - 1 - at;
    }
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static float texels[MOST][4];

static void try_sampler(const struct kind *kind, cl_mem image, cl_bool normalised, cl_addressing_mode mode, cl_filter_mode filter)
{
    static float at[SAMPLES][4], got[SAMPLES][4];
    const size_t *size = kind->size;
    for (int n = 0; n < SAMPLES; n++)
        for (int axis = 0; axis < 3; axis++) {
            /* Never where one texel ends and another begins. */
            float texel = (int)(next() % (2 * size[axis])) - (int)(size[axis] / 2) + (1 + next() % 7) / 8.0f - (next() % 3 ? 0 : 1 / 16.0f);
            at[n][axis] = axis < kind->axes && normalised ? texel / size[axis] : texel;
            if (axis == kind->axes && kind->layered)
                at[n][axis] = (int)(next() % 7) - 2 + 0.25f;
        }
    cl_sampler sampler = MADE(clCreateSampler(context, normalised, mode, filter, &status));
    cl_mem places = MADE(clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof at, at, &status));
    cl_mem results = MADE(clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof got, NULL, &status));
    char name[64];
    sprintf(name, "sample_%s", kind->name);
    cl_kernel kernel = MADE(clCreateKernel(program, name, &status));
    CL(clSetKernelArg(kernel, 0, sizeof image, &image));
    CL(clSetKernelArg(kernel, 1, sizeof sampler, &sampler));
    CL(clSetKernelArg(kernel, 2, sizeof places, &places));
    CL(clSetKernelArg(kernel, 3, sizeof results, &results));
    size_t all = SAMPLES;
    CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &all, NULL, 0, NULL, NULL));
    CL(clEnqueueReadBuffer(queue, results, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (int n = 0; n < SAMPLES; n++) {
        long corner[3] = {0, 0, 0};
        double weight[3] = {0, 0, 0}, want[4] = {0, 0, 0, 0};
        for (int axis = 0; axis < kind->axes; axis++) {
            double u = normalised ? (double)at[n][axis] * size[axis] : at[n][axis];
            if (filter == CL_FILTER_LINEAR)
                u -= 0.5, weight[axis] = u - floor(u);
            corner[axis] = floor(u);
        }
        if (kind->layered) {
            long layer = lrintf(at[n][kind->axes]), last = size[kind->axes] - 1;
            corner[kind->axes] = layer < 0 ? 0 : layer > last ? last : layer;
        }
        for (int place = 0; place < (filter == CL_FILTER_LINEAR ? 1 << kind->axes : 1); place++) {
            long where[3] = {corner[0], corner[1], corner[2]};
            double share = 1;
            int border = 0;
            for (int axis = 0; axis < kind->axes; axis++) {
                int later = place >> axis & 1;
                share *= later ? weight[axis] : 1 - weight[axis];
                where[axis] = wrapped(mode, where[axis] + later, size[axis]);
                border |= where[axis] < 0;
            }
            for (int c = 0; c < 4 && !border; c++)
                want[c] += share * texels[(where[2] * size[1] + where[1]) * size[0] + where[0]][c];
        }
        for (int c = 0; c < 4; c++)
            if (!(fabs(got[n][c] - want[c]) < 0.05)) {
                if (++failures < 20)
                    printf("%s sampled %s, mode %x, %s: at %g %g %g channel %d is %g, not %g\n", kind->name, normalised ? "from 0 to 1" : "by texels",
                        mode, filter == CL_FILTER_LINEAR ? "linear" : "nearest", at[n][0], at[n][1], at[n][2], c, got[n][c], want[c]);
                n = SAMPLES;
                break;
            }
    }
    clReleaseKernel(kernel);
    clReleaseSampler(sampler);
    clReleaseMemObject(places);
    clReleaseMemObject(results);
}

static void try_samplers(const struct kind *kind)
{
    static const cl_addressing_mode modes[] = {CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT};
    cl_image_format format = {CL_RGBA, CL_FLOAT};
    for (size_t n = 0; n < MOST; n++)
        for (int c = 0; c < 4; c++)
            texels[n][c] = (int)(next() % 2001) / 100.0f - 10;
    cl_mem buffer, image = make(kind, &format, 16, texels, &buffer);
    for (int mode = 0; mode < 4; mode++)
        for (int linear = 0; linear < 2; linear++)
            for (int normalised = mode > 1; normalised < 2; normalised++)
                try_sampler(kind, image, normalised, modes[mode], linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST);
    clReleaseMemObject(image);
}

/* What kernels are told of the sizes of images. */
static void try_sizes(void)
{
    static const int order[] = {5, 4, 2, 1}, want[8] = {7, 5, 3, 3, 5, 3, 7, 7};
    cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_mem images[4], buffers[4], list = MADE(clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof want, NULL, &status));
    cl_kernel kernel = MADE(clCreateKernel(program, "sizes", &status));
    for (int n = 0; n < 4; n++) {
        images[n] = make(&kinds[order[n]], &format, 16, texels, &buffers[n]);
        CL(clSetKernelArg(kernel, n, sizeof images[n], &images[n]));
    }
    CL(clSetKernelArg(kernel, 4, sizeof list, &list));
    size_t one = 1;
    int got[8];
    CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
    CL(clEnqueueReadBuffer(queue, list, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (int n = 0; n < 8; n++)
        if (got[n] != want[n]) {
            printf("size %d is %d, not %d\n", n, got[n], want[n]);
            failures++;
        }
}

static int is_required(const cl_image_format *format)
{
    static const cl_channel_type all[] = {CL_UNORM_INT8, CL_UNORM_INT16, CL_SIGNED_INT8, CL_SIGNED_INT16, CL_SIGNED_INT32,
        CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32, CL_HALF_FLOAT, CL_FLOAT};
    if (format->image_channel_order == CL_BGRA)
        return format->image_channel_data_type == CL_UNORM_INT8;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (format->image_channel_order == CL_RGBA && format->image_channel_data_type == all[n])
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    static const cl_image_format few[] = {{CL_RGBA, CL_FLOAT}, {CL_BGRA, CL_UNORM_INT8}, {CL_RG, CL_SIGNED_INT16}};
    int all = argc < 2 || strcmp(argv[1], "few") != 0;
    cl_platform_id platform;
    cl_device_id device;
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = MADE(clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    queue = MADE(clCreateCommandQueue(context, device, 0, &status));
    char source[8192];
    strcpy(source, template_source);
    for (int n = 0; n < KINDS; n++) {
        sprintf(source + strlen(source), "ALL(%s, %s)\n", kinds[n].name, kinds[n].coordinate);
        if (kinds[n].sampled)
            sprintf(source + strlen(source), "SAMPLE(%s, %s)\n", kinds[n].name, kinds[n].sampled);
    }
    const char *text = source;
    program = MADE(clCreateProgramWithSource(context, 1, &text, NULL, &status));
    if (clBuildProgram(program, 1, &device, NULL, NULL, NULL) != CL_SUCCESS) {
        char log[10000];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        printf("%s\n", log);
        return 1;
    }
    try_sizes();
    for (int n = 0; n < KINDS; n++) {
        cl_image_format formats[200];
        cl_uint count, required = 0, before = failures;
        CL(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, kinds[n].type, 200, formats, &count));
        for (cl_uint k = 0; k < count; k++) {
            required += is_required(&formats[k]);
            if (all)
                try_format(&kinds[n], &formats[k]);
        }
        for (int k = 0; k < 3 && !all; k++)
            try_format(&kinds[n], &few[k]);
        if (kinds[n].sampled)
            try_samplers(&kinds[n]);
        printf("%s: %u of 11 required formats, %s\n", kinds[n].name, required, failures == (int)before ? "all right" : "some wrong");
        failures += required != 11;
    }
    return failures > 0;
}
