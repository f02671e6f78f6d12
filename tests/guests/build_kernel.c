// Does what its arguments say, one after the other: `rename:FROM:TO`, `chdir:FOLDER`, and `build:FILE`, which builds the OpenCL
// source in a file and prints the log, or the code object that came of it.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static void build(const char *path)
{
    static char text[1 << 16], log[1 << 16];
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *source = text;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, &size, NULL);
    if (clBuildProgram(program, 0, NULL, "", NULL, NULL) != CL_SUCCESS) {
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        printf("not built: %s\n", log);
        return;
    }
    unsigned char *binary;
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    binary = malloc(size);
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    puts("built:");
    for (size_t n = 0; n < size; n++)
        putchar(binary[n] >= ' ' && binary[n] < 127 ? binary[n] : '.');
    putchar('\n');
}

int main(int count, char **arguments)
{
    for (int n = 1; n < count; n++) {
        char *what = strtok(arguments[n], ":"), *first = strtok(NULL, ":"), *second = strtok(NULL, ":");
        if (!strcmp(what, "rename") && rename(first, second))
            fail("rename");
        if (!strcmp(what, "chdir") && chdir(first))
            fail("chdir");
        if (!strcmp(what, "build"))
            build(first);
    }
    return 0;
}
