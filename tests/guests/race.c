/* A histogram whose counters belong to 32 work-items each, who rely on running in lockstep; with the argument "atomic", one that relies
   on nothing. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#define ITEMS 1024

static const char *source =
    "#define START local volatile uint bins[128]; uint item = get_local_id(0);"
    "  if (item < 128) bins[item] = 0; barrier(CLK_LOCAL_MEM_FENCE);"
    "  local volatile uint *own = bins + (item >> 5) * 16; uint bin = in[get_global_id(0)] & 15;\n"
    "#define END barrier(CLK_LOCAL_MEM_FENCE);"
    "  if (item < 128) atomic_add(&out[item & 15], bins[item] & 0x07ffffff);\n"
    "kernel void lockstep(global const uint *in, global uint *out) {"
    "  START uint count;"
    "  do { count = item << 27 | ((own[bin] & 0x07ffffff) + 1); own[bin] = count; } while (own[bin] != count);"
    "  END }\n"
    "kernel void atomic(global const uint *in, global uint *out) { START atomic_inc(&own[bin]); END }\n";

int main(int count, char **words)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_uint in[ITEMS], out[16] = {0}, right[16] = {0};
    for (cl_uint item = 0; item < ITEMS; item++)
        right[(in[item] = item * item / 3) & 15]++;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return 2;
    cl_kernel kernel = clCreateKernel(program, count > 1 ? words[1] : "lockstep", NULL);
    cl_mem inputs = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof in, in, NULL);
    cl_mem outputs = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof out, out, NULL);
    clSetKernelArg(kernel, 0, sizeof inputs, &inputs);
    clSetKernelArg(kernel, 1, sizeof outputs, &outputs);
    size_t items = ITEMS, group = 256;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, outputs, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    puts(memcmp(out, right, sizeof out) ? "FAIL" : "PASS");
    return 0;
}
