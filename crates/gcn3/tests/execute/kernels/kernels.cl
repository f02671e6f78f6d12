// Whole kernels for tests/execute/kernels.rs. Rebuild:
//   clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O2 -mcode-object-version=5
//     --rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode kernels.cl -o kernels.hsaco
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

kernel void vecadd(global const float *a, global const float *b, global float *c, uint n) {
    uint i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}

kernel void matmul(global const float *a, global const float *b, global float *c, uint n) {
    local float as[16][16], bs[16][16];
    uint x = get_local_id(0), y = get_local_id(1), gx = get_global_id(0), gy = get_global_id(1);
    float sum = 0;
    for (uint t = 0; t < n; t += 16) {
        as[y][x] = a[gy * n + t + x];
        bs[y][x] = b[(t + y) * n + gx];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 16; k++) sum += as[y][k] * bs[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[gy * n + gx] = sum;
}

// Lanes diverge, loop counts differ.
kernel void collatz(global const uint *in, global uint *out) {
    uint i = get_global_id(0), x = in[i], steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    out[i] = steps;
}

kernel void divide(global const float *a, global const float *b, global float *q, global const double *c,
                   global const double *d, global double *r, global const long *e, global const long *f,
                   global long *s) {
    uint i = get_global_id(0);
    q[i] = a[i] / b[i];
    r[i] = c[i] / d[i];
    s[i] = e[i] / f[i] + e[i] % f[i];
}

// An array indexed at run time lives in scratch memory; a generic pointer may point anywhere.
static uint sum_of(uint *p, uint n) {
    uint s = 0;
    for (uint i = 0; i < n; i++) s += p[i];
    return s;
}

kernel void anywhere(global uint *out, global uint *data, uint which) {
    local uint shared_words[64];
    uint private_words[8];
    uint l = get_local_id(0);
    shared_words[l] = l;
    for (uint i = 0; i < 8; i++) private_words[(i + l) % 8] = i * l;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint *p = which == 0 ? (uint *)data : which == 1 ? (uint *)shared_words : (uint *)private_words;
    out[get_global_id(0)] = sum_of(p, 8);
}

// Wavefronts that end early do not hold up the barrier of the others.
kernel void early(global uint *out) {
    local uint words[256];
    uint l = get_local_id(0);
    words[l] = l + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l >= 128) return;
    uint x = words[255 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
    words[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = words[127 - l];
}

kernel void count(global uint *counts, volatile global ulong *total, global const uchar *in) {
    uint i = get_global_id(0);
    atomic_inc(&counts[in[i] & 15]);
    atom_add(total, (ulong)in[i] << 30);
}

kernel void ids(global uint *out) {
    uint width = get_global_size(0), height = get_global_size(1);
    uint x = get_global_id(0) - get_global_offset(0), y = get_global_id(1), z = get_global_id(2);
    out[(z * height + y) * width + x] = get_global_id(0) | get_local_id(1) << 8 | get_group_id(2) << 16 |
                                        get_local_size(0) << 24;
}

kernel void forever(global uint *out) {
    volatile global uint *p = out;
    while (p[0] == 0) {
    }
}

// The second workgroup releases the first.
kernel void handshake(volatile global uint *flag, global uint *out) {
    if (get_group_id(0) == 0) {
        while (atomic_add(&flag[0], 0) == 0) {
        }
        out[get_local_id(0)] = flag[1];
    } else {
        flag[1] = 77;
        atomic_xchg(&flag[0], 1);
    }
}

kernel void wild(global uint *out) { out[get_global_id(0) == 70 ? 1 << 28 : get_global_id(0)] = 1; }

kernel void packed_structs(global const uchar *in, global uint *out) {
    struct __attribute__((packed)) Record { uchar tag; uint value; };
    uint i = get_global_id(0);
    out[i] = ((global const struct Record *)in)[i].value;
}
