/* c = a + b, with one pointer for CPU and device. Build: cc vecadd.c $(pkg-config --cflags --libs adsm) */
#include <adsm.h>
#include <stdio.h>
#include <stdlib.h>

#define N 100000u

static const char *opencl =
    "__kernel void vecadd(__global const float *a, __global const float *b, __global float *c, uint n) {"
    "    uint i = get_global_id(0);"
    "    if (i < n) c[i] = a[i] + b[i];"
    "}";

static void native(const adsm_native *call) {
    const float *a = call->memory[0], *b = call->memory[1];
    float *c = call->memory[2];
    unsigned n = *(const unsigned *)call->value[0];
    for (unsigned i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void check(int failed, const char *what) {
    if (failed) {
        fprintf(stderr, "%s: %s\n", what, adsm_error());
        exit(1);
    }
}

int main(void) {
    adsm_kernel *vecadd = adsm_kernel_new("vecadd");
    check(!vecadd, "kernel");
    check(adsm_kernel_opencl(vecadd, opencl), "OpenCL C");
    check(adsm_kernel_native(vecadd, native), "native code");

    float *a = adsm_alloc(N * sizeof *a), *b = adsm_alloc(N * sizeof *b), *c = adsm_alloc(N * sizeof *c);
    check(!a || !b || !c, "alloc");
    for (unsigned i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 2.0f * (float)i;
    }
    unsigned n = N;
    adsm_dim grid = {(N + 255) / 256, 1, 1}, block = {256, 1, 1};
    adsm_arg arguments[] = {ADSM_READ(a), ADSM_READ(b), ADSM_WRITE(c), ADSM_VALUE(n)};
    check(adsm_call(vecadd, grid, block, arguments, 4), "call");
    check(adsm_sync(), "sync");
    for (unsigned i = 0; i < N; i++) {
        if (c[i] != 3.0f * (float)i) {
            fprintf(stderr, "c[%u] is %f\n", i, (double)c[i]);
            return 1;
        }
    }
    check(adsm_free(a) || adsm_free(b) || adsm_free(c), "free");
    adsm_kernel_free(vecadd);
    puts("right");
    return 0;
}
