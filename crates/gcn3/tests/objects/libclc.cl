// Built with libclc instead of AMD's device libraries; its kernels read Mesa's implicit arguments:
//
//   clang-19 -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu=gfx803 -ON -mcode-object-version=5 -nogpulib
//     -Xclang -mlink-builtin-bitcode -Xclang /usr/lib/clc/amdgcn--amdhsa.bc libclc.cl -o libclc_ON.hsaco

__kernel void one(__global int *out) {
    int i = get_global_id(0);
    out[i] = i;
}

__kernel void three(__global int *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    out[(z * get_global_size(1) + y) * get_global_size(0) + x] = get_work_dim() + n;
}

__kernel void local_only(__global int *out) { out[get_local_id(0)] = get_local_size(0); }
