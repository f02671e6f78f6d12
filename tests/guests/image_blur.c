// An OpenCL program around images: a kernel blurs one through a sampler (linear, clamped) and turns its channels round; the
// host writes, reads, maps, fills and copies images, and compares with its own computation. Its kernel prints a line.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 60, HEIGHT = 34 };

static const char *SOURCE =
    "__kernel void blur(__read_only image2d_t in, __write_only image2d_t out, sampler_t between) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    if (x >= get_image_width(in) || y >= get_image_height(in)) return;\n"
    // Where four texels meet, a linear filter gives their mean.
    "    float4 mean = read_imagef(in, between, (float2)(x + 1.0f, y + 1.0f));\n"
    "    write_imagef(out, (int2)(x, y), mean.zyxw);\n"
    "    if (x == 0 && y == 0) printf(\"blurring %d x %d\\n\", get_image_width(in), get_image_height(in));\n"
    "}\n";

#define CHECK(call) \
    do { \
        cl_int code_ = (call); \
        if (code_ != CL_SUCCESS) { \
            fprintf(stderr, "%s = %d\n", #call, code_); \
            return 2; \
        } \
    } while (0)

int main(void)
{
    cl_int code;
    cl_context context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_GPU, NULL, NULL, &code);
    CHECK(code);
    size_t size;
    CHECK(clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size));
    cl_device_id *devices = malloc(size);
    CHECK(clGetContextInfo(context, CL_CONTEXT_DEVICES, size, devices, NULL));
    cl_bool images = CL_FALSE;
    CHECK(clGetDeviceInfo(devices[0], CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL));
    if (!images)
        return 2;
    cl_command_queue queue = clCreateCommandQueue(context, devices[0], 0, &code);
    CHECK(code);
    cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, &code);
    CHECK(code);
    CHECK(clBuildProgram(program, 1, devices, NULL, NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "blur", &code);
    CHECK(code);

    static float texels[HEIGHT][WIDTH][4], result[HEIGHT][WIDTH][4];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int n = 0; n < 4; n++)
                texels[y][x][n] = (float)((x * 7 + y * 13 + n * 29) % 64);
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    cl_mem in = clCreateImage(context, CL_MEM_READ_ONLY, &format, &shape, NULL, &code);
    CHECK(code);
    cl_mem out = clCreateImage2D(context, CL_MEM_READ_WRITE, &format, WIDTH, HEIGHT, 0, NULL, &code);
    CHECK(code);
    const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
    CHECK(clEnqueueWriteImage(queue, in, CL_FALSE, origin, region, 0, 0, texels, 0, NULL, NULL));
    cl_sampler between = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR, &code);
    CHECK(code);
    CHECK(clSetKernelArg(kernel, 0, sizeof in, &in));
    CHECK(clSetKernelArg(kernel, 1, sizeof out, &out));
    CHECK(clSetKernelArg(kernel, 2, sizeof between, &between));
    const size_t global[2] = {64, 40}, local[2] = {16, 8};
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL));
    CHECK(clEnqueueReadImage(queue, out, CL_TRUE, origin, region, 0, 0, result, 0, NULL, NULL));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int n = 0; n < 4; n++) {
                int right = x + 1 < WIDTH ? x + 1 : x, below = y + 1 < HEIGHT ? y + 1 : y, from = n < 3 ? 2 - n : 3;
                float mean = (texels[y][x][from] + texels[y][right][from] + texels[below][x][from] +
                              texels[below][right][from]) / 4;
                if (fabsf(mean - result[y][x][n]) > 1e-4f) {
                    printf("wrong at %d, %d, %d: %f instead of %f\n", x, y, n, result[y][x][n], mean);
                    return 1;
                }
            }

    // A corner of another colour, copied to the other image and looked at in a map.
    const float colour[4] = {1, 2, 3, 4};
    const size_t corner[3] = {WIDTH - 2, HEIGHT - 2, 0}, four[3] = {2, 2, 1};
    CHECK(clEnqueueFillImage(queue, out, colour, corner, four, 0, NULL, NULL));
    CHECK(clEnqueueCopyImage(queue, out, in, corner, origin, four, 0, NULL, NULL));
    size_t pitch;
    char *mapped = clEnqueueMapImage(queue, in, CL_TRUE, CL_MAP_READ, origin, region, &pitch, NULL, 0, NULL, NULL, &code);
    CHECK(code);
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++) {
            const float *texel = (const float *)(mapped + y * pitch) + 4 * x;
            if (memcmp(texel, x < 2 && y < 2 ? colour : texels[y][x], sizeof colour)) {
                printf("wrong in the map at %d, %d\n", x, y);
                return 1;
            }
        }
    CHECK(clEnqueueUnmapMemObject(queue, in, mapped, 0, NULL, NULL));
    CHECK(clFinish(queue));
    clReleaseSampler(between);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(devices);
    puts("PASS");
    return 0;
}
