// Kernels of the loader's tests. Built with clang-19 and Debian's rocm-device-libs, once for each version N:
//
//   clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O2 -mcode-object-version=N
//     --rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode -cl-kernel-arg-info kernels.cl -o vN.hsaco
//   llvm-objcopy-19 --remove-section=.comment vN.hsaco
//
// v2.hsaco is made from v4.hsaco by the tests (tests/support). kernels.o is the same with -mcode-object-version=5 -c: not linked, so its relocations are still there.

__constant int squares[4] = {0, 1, 4, 9};
__global int counter = 5;
__global int *__constant counters[2] = {&counter, &counter};

__kernel void saxpy(__global const float *x, __global float *y, float a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reverse(__global int *data, __local int *tile) {
    size_t i = get_local_id(0), first = get_group_id(0) * 64;
    tile[i] = data[first + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[first + i] = tile[63 - i];
}

// Every work-item writes its ids and sizes.
__kernel void ids(__global int *out) {
    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
           z = get_global_id(2) - get_global_offset(2);
    size_t at = ((z * get_global_size(1) + y) * get_global_size(0) + x) * 8;
    out[at + 0] = get_global_id(0);
    out[at + 1] = get_global_id(1);
    out[at + 2] = get_global_id(2);
    out[at + 3] = get_local_size(0) + 100 * get_local_size(1) + 10000 * get_local_size(2);
    out[at + 4] = get_num_groups(0) + 100 * get_num_groups(1) + 10000 * get_num_groups(2);
    out[at + 5] = get_local_id(0) + 100 * get_local_id(1) + 10000 * get_local_id(2);
    out[at + 6] = get_enqueued_local_size(0);
    out[at + 7] = get_work_dim();
}

__kernel void scratch(__global int *p, int n) {
    int a[64];
    for (int i = 0; i < 64; i++)
        a[i] = p[i];
    for (int i = 0; i < n; i++)
        a[a[i & 63] & 63] += i;
    p[64 + get_global_id(0)] = a[get_global_id(0) & 63];
}

// A generic pointer: to global memory, LDS or scratch.
__kernel void anywhere(__global int *p, int which) {
    __local int shared[64];
    int own[2];
    int *q = which == 0 ? (int *)&p[get_local_id(0)] : which == 1 ? (int *)&shared[get_local_id(0)] : (int *)own;
    shared[get_local_id(0)] = 1000 + get_local_id(0);
    own[0] = 2000 + get_local_id(0);
    own[1] = 0;
    p[64 + get_local_id(0)] = *(volatile int *)q;
}

__kernel void variables(__global int *out) {
    size_t i = get_global_id(0);
    out[i] = *counters[i & 1] + squares[i & 3];
    if (i == 0)
        counter = 7;
}
