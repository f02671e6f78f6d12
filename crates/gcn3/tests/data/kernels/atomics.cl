#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
kernel void atomics(global int* counters, global ulong* wide, local uint* bins, global const uchar* data, int n) {
    int l = get_local_id(0);
    bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counters[l], bins[l]);
    atomic_max(&counters[l + 1], (int)bins[l]);
    int old = atomic_cmpxchg(&counters[l + 2], l, n);
    atom_add(&wide[0], (ulong)old);
    atom_min(&wide[1], (ulong)old);
    wide[2 + l] = atom_cmpxchg(&wide[l], (ulong)old, (ulong)n);
    counters[l + 3] = atomic_xchg(&counters[l + 4], atomic_or(&bins[l], 3));
}
