// out = alpha * a * b + beta * c for square matrices whose side is a multiple of the tile.
// A workgroup computes one tile of the result and stages the tiles it needs of a and b in local memory.
#pragma OPENCL FP_CONTRACT OFF
#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global const float *a, __global const float *b, __global const float *c, __global float *out,
            uint side, float alpha, float beta)
{
    __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    uint lx = get_local_id(0), ly = get_local_id(1);
    uint column = get_global_id(0), row = get_global_id(1);

    float sum = 0.0f;
    for (uint start = 0; start < side; start += TILE) {
        a_tile[ly][lx] = a[row * side + start + lx];
        b_tile[ly][lx] = b[(start + ly) * side + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < TILE; k++)
            sum += a_tile[ly][k] * b_tile[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint i = row * side + column;
    out[i] = alpha * sum + beta * c[i];
}

// The same from memory: what is used twice is in a cache, or is read twice.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul_plain(__global const float *a, __global const float *b, __global const float *c, __global float *out,
                  uint side, float alpha, float beta)
{
    uint column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (uint k = 0; k < side; k++)
        sum += a[row * side + k] * b[k * side + column];
    uint i = row * side + column;
    out[i] = alpha * sum + beta * c[i];
}
