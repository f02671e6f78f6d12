// Angles between points of the sky, counted in bins: those of the first set with the points of each set. The grid is (point, set). A
// workgroup counts in local memory and adds its counts to those of its set. `bounds` has cosines, from the largest on.
#pragma OPENCL FP_CONTRACT OFF
#define GROUP 64
#define BINS 20

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void count_angles(__global const float *points, __constant float *bounds, __global uint *counts, uint count)
{
    __local uint mine[BINS];
    uint i = get_global_id(0), set = get_group_id(1), l = get_local_id(0);
    if (l < BINS)
        mine[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < count) {
        float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
        for (uint j = set * count; j < (set + 1) * count; j++) {
            float cosine = x * points[3 * j] + y * points[3 * j + 1] + z * points[3 * j + 2];
            uint bin = 0;
            while (bin < BINS - 1 && cosine < bounds[bin])
                bin++;
            atomic_inc(&mine[bin]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < BINS)
        atomic_add(&counts[set * BINS + l], mine[l]);
}
