// What gpu.c and arrays.c share: the one device, its queue, and how calls of OpenCL are made.
#ifndef OPENCL_H
#define OPENCL_H

#define CL_TARGET_OPENCL_VERSION 200
#include "internal.h"

#include <CL/cl.h>

typedef struct {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
} Gpu;
extern Gpu gpu;

// Ends the program with the name of the call and of the code, unless that is success.
void succeed(const char *call, cl_int code);
#define CL(call) succeed(#call, call)
// For calls that answer with an object and leave their code in `error`.
#define CL_MAKE(target, call)                                                                                          \
    do {                                                                                                               \
        cl_int error;                                                                                                  \
        target = call;                                                                                                 \
        succeed(#call, error);                                                                                         \
    } while (0)

// arrays.c
void arrays_open(Copies);
void arrays_close(void);
void set_array(cl_kernel, cl_uint index, const void *array); // as an argument of a kernel

#endif
