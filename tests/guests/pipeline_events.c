// An OpenCL program around events: an out-of-order queue, commands chained by wait lists, a user event that holds
// them back, a callback, profiling times, and one buffer divided into sub-buffers. Also fill, copy, map and a marker.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 4, PART = 4096, COUNT = PARTS * PART };

static void must(cl_int code, const char *what)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", what, code);
        exit(2);
    }
}

static const char *const LINES[] = {
    "#define SQUARE(x) ((x) * (x))\n",
    "__kernel void scale(__global uint *data, uint factor) { data[get_global_id(0)] *= factor; }\n",
    "__kernel void squares(__global uint *data) { data[get_global_id(0)] = SQUARE(data[get_global_id(0)]); }\n",
    "__kernel void sum(__global const uint *data, __global uint *total, __local uint *partial, uint count) {\n",
    "    uint l = get_local_id(0), mine = 0;\n",
    "    for (uint i = get_global_id(0); i < count; i += get_global_size(0)) mine += data[i];\n",
    "    partial[l] = mine;\n",
    "    for (uint left = get_local_size(0) / 2; left > 0; left /= 2) {\n",
    "        barrier(CLK_LOCAL_MEM_FENCE);\n",
    "        if (l < left) partial[l] += partial[l + left];\n",
    "    }\n",
    "    if (l == 0) atomic_add(total, partial[0]);\n",
    "}\n",
};

static volatile int called_back;
static void CL_CALLBACK done(cl_event event, cl_int status, void *data)
{
    (void)event;
    called_back += status == CL_COMPLETE ? *(int *)data : 1000;
}

int main(void)
{
    cl_int code;
    cl_platform_id platform;
    cl_device_id device;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(
        context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, &code);
    must(code, "clCreateCommandQueue");

    cl_uint lines = sizeof LINES / sizeof *LINES;
    cl_program program = clCreateProgramWithSource(context, lines, (const char **)LINES, NULL, &code);
    must(code, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, "-cl-std=CL1.2 -Werror", NULL, NULL), "clBuildProgram");
    cl_kernel kernels[3];
    cl_uint made;
    must(clCreateKernelsInProgram(program, 3, kernels, &made), "clCreateKernelsInProgram");
    cl_kernel scale = NULL, squares = NULL, sum = NULL;
    for (cl_uint i = 0; i < made; i++) {
        char name[32];
        must(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL), "clGetKernelInfo");
        *(strcmp(name, "scale") == 0 ? &scale : strcmp(name, "squares") == 0 ? &squares : &sum) = kernels[i];
    }
    size_t most;
    must(clGetKernelWorkGroupInfo(sum, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL), "work-group info");
    size_t group = most < 128 ? most : 128;

    cl_uint *host = malloc(COUNT * sizeof *host), start = 7;
    cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof *host, NULL, &code);
    must(code, "clCreateBuffer");
    cl_mem total = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &code);
    must(code, "clCreateBuffer");

    // Nothing may run before the gate is opened.
    cl_event gate = clCreateUserEvent(context, &code);
    must(code, "clCreateUserEvent");
    cl_event filled, zeroed, stage[PARTS][2];
    must(clEnqueueFillBuffer(queue, data, &start, sizeof start, 0, COUNT * sizeof *host, 1, &gate, &filled), "fill");
    must(clEnqueueFillBuffer(queue, total, &(cl_uint){0}, sizeof(cl_uint), 0, sizeof(cl_uint), 1, &gate, &zeroed), "fill");
    cl_mem parts[PARTS];
    for (cl_uint p = 0; p < PARTS; p++) {
        cl_buffer_region region = {p * PART * sizeof *host, PART * sizeof *host};
        parts[p] = clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
        must(code, "clCreateSubBuffer");
        cl_uint factor = p + 1;
        size_t items = PART;
        must(clSetKernelArg(scale, 0, sizeof(cl_mem), &parts[p]), "clSetKernelArg");
        must(clSetKernelArg(scale, 1, sizeof factor, &factor), "clSetKernelArg");
        must(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &items, NULL, 1, &filled, &stage[p][0]), "scale");
        must(clSetKernelArg(squares, 0, sizeof(cl_mem), &parts[p]), "clSetKernelArg");
        must(clEnqueueNDRangeKernel(queue, squares, 1, NULL, &items, NULL, 1, &stage[p][0], &stage[p][1]), "squares");
    }
    cl_event ready[PARTS + 1], summed, mapped, marker;
    for (cl_uint p = 0; p < PARTS; p++)
        ready[p] = stage[p][1];
    ready[PARTS] = zeroed;
    cl_uint count = COUNT;
    size_t items = 8 * group;
    must(clSetKernelArg(sum, 0, sizeof(cl_mem), &data), "clSetKernelArg");
    must(clSetKernelArg(sum, 1, sizeof(cl_mem), &total), "clSetKernelArg");
    must(clSetKernelArg(sum, 2, group * sizeof(cl_uint), NULL), "clSetKernelArg");
    must(clSetKernelArg(sum, 3, sizeof count, &count), "clSetKernelArg");
    must(clEnqueueNDRangeKernel(queue, sum, 1, NULL, &items, &group, PARTS + 1, ready, &summed), "sum");
    int three = 3;
    must(clSetEventCallback(summed, CL_COMPLETE, done, &three), "clSetEventCallback");

    cl_int status;
    must(clFlush(queue), "clFlush");
    must(clGetEventInfo(summed, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL), "clGetEventInfo");
    printf("before the gate opens the sum is %s\n", status == CL_COMPLETE ? "done" : "waiting");
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");

    cl_uint *view = clEnqueueMapBuffer(queue, total, CL_FALSE, CL_MAP_READ, 0, sizeof *view, 1, &summed, &mapped, &code);
    must(code, "clEnqueueMapBuffer");
    must(clWaitForEvents(1, &mapped), "clWaitForEvents");
    cl_uint result = *view, expected = 0;
    must(clEnqueueUnmapMemObject(queue, total, view, 0, NULL, NULL), "clEnqueueUnmapMemObject");

    // The second part goes over the third, then all of it to the host.
    cl_event copied;
    must(clEnqueueCopyBuffer(queue, parts[1], parts[2], 0, 0, PART * sizeof *host, 1, &summed, &copied), "copy");
    must(clEnqueueMarkerWithWaitList(queue, 1, &copied, &marker), "clEnqueueMarkerWithWaitList");
    must(clEnqueueReadBuffer(queue, data, CL_TRUE, 0, COUNT * sizeof *host, host, 1, &marker, NULL), "read");
    must(clFinish(queue), "clFinish");

    int wrong = 0;
    for (cl_uint i = 0; i < COUNT; i++) {
        cl_uint p = i / PART, value = 7 * (p + 1) * 7 * (p + 1);
        expected += value;
        cl_uint now = p == 2 ? 14 * 14 : value;
        wrong += host[i] != now;
    }
    cl_ulong times[4];
    cl_profiling_info kinds[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START,
                                 CL_PROFILING_COMMAND_END};
    int in_order = 1;
    for (int i = 0; i < 4; i++) {
        must(clGetEventProfilingInfo(summed, kinds[i], sizeof times[i], &times[i], NULL), "clGetEventProfilingInfo");
        in_order &= i == 0 || times[i - 1] <= times[i];
    }
    printf("sum %u, expected %u; %d values wrong\n", result, expected, wrong);
    printf("profiling times are %s; callbacks brought %d\n", in_order ? "in order" : "out of order", called_back);

    for (cl_uint p = 0; p < PARTS; p++) {
        clReleaseEvent(stage[p][0]);
        clReleaseEvent(stage[p][1]);
        clReleaseMemObject(parts[p]);
    }
    cl_event events[] = {gate, filled, zeroed, summed, mapped, copied, marker};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        clReleaseEvent(events[i]);
    for (cl_uint i = 0; i < made; i++)
        clReleaseKernel(kernels[i]);
    clReleaseMemObject(data);
    clReleaseMemObject(total);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(host);
    return wrong || result != expected || !in_order || called_back != 3;
}
