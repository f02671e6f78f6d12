// An OpenCL program as many are written: one long function, macros for errors, arrays copied in and out by hand,
// kernels built from a string, the work-group size left to the implementation.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define N 10000

#define CHECK(err, what)                                                                                               \
    if ((err) != CL_SUCCESS) {                                                                                         \
        fprintf(stderr, "%s:%d: %s failed with %d\n", __FILE__, __LINE__, what, (int)(err));                           \
        exit(1);                                                                                                       \
    }

const char *source = "__kernel void saxpy(__global const TYPE *x, __global TYPE *y, const TYPE a, const int n)\n"
                     "{\n"
                     "    int i = get_global_id(0);\n"
                     "    if (i < n)\n"
                     "        y[i] = a * x[i] + y[i] + OFFSET;\n"
                     "}\n";

int main(int argc, char **argv)
{
    (void)argv;
    cl_int err;
    cl_uint platforms, devices;
    cl_platform_id platform;
    cl_device_id device;
    char text[256];

    err = clGetPlatformIDs(1, &platform, &platforms);
    CHECK(err, "clGetPlatformIDs");
    err = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &devices);
    CHECK(err, "clGetDeviceIDs");
    err = clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL);
    CHECK(err, "clGetDeviceInfo");
    if (argc > 1)
        printf("device: %s\n", text);

    cl_context context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &err);
    CHECK(err, "clCreateContextFromType");
    size_t bytes;
    err = clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, &bytes);
    CHECK(err, "clGetContextInfo");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &err);
    CHECK(err, "clCreateCommandQueue");

    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &err);
    CHECK(err, "clCreateProgramWithSource");
    err = clBuildProgram(program, 0, NULL, "-DTYPE=float -DOFFSET=0.5f -cl-mad-enable", NULL, NULL);
    if (err != CL_SUCCESS) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    CHECK(err, "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "saxpy", &err);
    CHECK(err, "clCreateKernel");

    float *x = malloc(N * sizeof(float)), *y = malloc(N * sizeof(float)), a = 2.0f;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (float)(N - i);
    }
    cl_mem dx = clCreateBuffer(context, CL_MEM_READ_ONLY, N * sizeof(float), NULL, &err);
    CHECK(err, "clCreateBuffer");
    cl_mem dy = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, N * sizeof(float), y, &err);
    CHECK(err, "clCreateBuffer");
    err = clEnqueueWriteBuffer(queue, dx, CL_TRUE, 0, N * sizeof(float), x, 0, NULL, NULL);
    CHECK(err, "clEnqueueWriteBuffer");

    int n = N;
    err = clSetKernelArg(kernel, 0, sizeof(cl_mem), &dx);
    err |= clSetKernelArg(kernel, 1, sizeof(cl_mem), &dy);
    err |= clSetKernelArg(kernel, 2, sizeof(float), &a);
    err |= clSetKernelArg(kernel, 3, sizeof(int), &n);
    CHECK(err, "clSetKernelArg");
    size_t global = N;
    err = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
    CHECK(err, "clEnqueueNDRangeKernel");
    err = clEnqueueReadBuffer(queue, dy, CL_TRUE, 0, N * sizeof(float), y, 0, NULL, NULL);
    CHECK(err, "clEnqueueReadBuffer");
    clFinish(queue);

    int wrong = 0;
    double sum = 0.0;
    for (int i = 0; i < N; i++) {
        wrong += y[i] != 2.0f * (float)i + (float)(N - i) + 0.5f;
        sum += y[i];
    }
    printf("saxpy: sum %.1f, %d wrong\n", sum, wrong);

    // Wrong use is told, not punished.
    printf("unknown kernel: %s\n", clCreateKernel(program, "missing", &err) == NULL ? "refused" : "made");
    printf("  with %d\n", err);
    printf("argument that is not there: %d\n", clSetKernelArg(kernel, 9, sizeof n, &n));
    cl_program broken = clCreateProgramWithSource(context, 1, &(const char *){"__kernel void f( {"}, NULL, &err);
    printf("broken source: %d\n", clBuildProgram(broken, 0, NULL, NULL, NULL, NULL));
    clReleaseProgram(broken);

    clReleaseMemObject(dx);
    clReleaseMemObject(dy);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(x);
    free(y);
    return wrong != 0;
}
