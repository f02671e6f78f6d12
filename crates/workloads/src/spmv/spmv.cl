// y = A x for a sparse matrix in compressed rows: row r has the values[row_starts[r] .. row_starts[r + 1]].
#pragma OPENCL FP_CONTRACT OFF

// One work-item per row: lanes of a wavefront are busy for as long as their rows last.
__kernel void spmv_scalar(__global const uint *row_starts, __global const uint *columns, __global const float *values,
                          __global const float *x, __global float *y, uint rows)
{
    uint row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    uint end = row_starts[row + 1];
    for (uint i = row_starts[row]; i < end; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}

// One row per workgroup of one wavefront: lanes take every 64th element and add their sums in a tree.
#define LANES 64

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void spmv_vector(__global const uint *row_starts, __global const uint *columns, __global const float *values,
                 __global const float *x, __global float *y)
{
    __local float sums[LANES];
    uint row = get_group_id(0), lane = get_local_id(0);
    float sum = 0.0f;
    uint end = row_starts[row + 1];
    for (uint i = row_starts[row] + lane; i < end; i += LANES)
        sum += values[i] * x[columns[i]];
    sums[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_left = LANES / 2; half_left > 0; half_left /= 2) {
        if (lane < half_left)
            sums[lane] += sums[lane + half_left];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0)
        y[row] = sums[0];
}
