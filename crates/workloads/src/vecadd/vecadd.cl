// c = a + b. The grid is rounded up to whole workgroups; the surplus work-items do nothing.
__kernel void vecadd(__global const float *a, __global const float *b, __global float *c, uint count)
{
    uint i = get_global_id(0);
    if (i < count)
        c[i] = a[i] + b[i];
}
