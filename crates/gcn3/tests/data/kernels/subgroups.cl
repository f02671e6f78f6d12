// options:-O2 -cl-std=CL2.0
kernel void subgroups(global int* x, global float* y) {
    int i = get_global_id(0);
    x[i] = sub_group_reduce_add(x[i]) + sub_group_broadcast(x[i], 3);
    y[i] = sub_group_scan_inclusive_max(y[i]);
    x[i + 1] = work_group_scan_exclusive_add(x[i + 1]);
}
