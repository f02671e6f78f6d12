// LU decomposition in place, without pivoting, of many matrices at once: below the diagonal L (its own diagonal is 1),
// on it and above U. A matrix is cut into blocks; step t factors the diagonal block t, then solves for the blocks
// below it and right of it, then subtracts their products from all blocks beyond. An element is always changed by
// k = 0, 1, 2, ... in turn, as in the textbook's three loops, so that every rounding is theirs.
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define BLOCK 16

// OpenCL lets a division of floats be off by 2.5 ulps. Through double it is right to the last bit.
static float divide(float a, float b)
{
    return (float)((double)a / (double)b);
}

// The grid is one workgroup for each matrix.
__kernel __attribute__((reqd_work_group_size(BLOCK, BLOCK, 1)))
void factor_diagonal(__global float *matrices, uint side, uint t)
{
    __local float tile[BLOCK][BLOCK];
    uint x = get_local_id(0), y = get_local_id(1);
    __global float *element = matrices + (get_group_id(2) * side + t * BLOCK + y) * side + t * BLOCK + x;
    tile[y][x] = *element;
    for (uint k = 0; k < BLOCK - 1; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x == k && y > k)
            tile[y][k] = divide(tile[y][k], tile[k][k]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x > k && y > k)
            tile[y][x] -= tile[y][k] * tile[k][x];
    }
    *element = tile[y][x];
}

// The grid is (blocks beyond t, 2, matrices): 0 for the blocks right of the diagonal's, 1 for those below it.
__kernel __attribute__((reqd_work_group_size(BLOCK, BLOCK, 1)))
void solve_panels(__global float *matrices, uint side, uint t)
{
    __local float diagonal[BLOCK][BLOCK], tile[BLOCK][BLOCK];
    uint x = get_local_id(0), y = get_local_id(1);
    uint block = t + 1 + get_group_id(0);
    bool below = get_group_id(1) == 1;
    __global float *matrix = matrices + get_group_id(2) * side * side;
    __global float *element = matrix + ((below ? block : t) * BLOCK + y) * side + (below ? t : block) * BLOCK + x;
    diagonal[y][x] = matrix[(t * BLOCK + y) * side + t * BLOCK + x];
    tile[y][x] = *element;
    for (uint k = 0; k < BLOCK; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (below && x == k)
            tile[y][k] = divide(tile[y][k], diagonal[k][k]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (below && x > k)
            tile[y][x] -= tile[y][k] * diagonal[k][x];
        if (!below && y > k)
            tile[y][x] -= diagonal[y][k] * tile[k][x];
    }
    *element = tile[y][x];
}

// The grid is (blocks beyond t, blocks beyond t, matrices).
__kernel __attribute__((reqd_work_group_size(BLOCK, BLOCK, 1)))
void subtract_products(__global float *matrices, uint side, uint t)
{
    __local float left[BLOCK][BLOCK], above[BLOCK][BLOCK];
    uint lx = get_local_id(0), ly = get_local_id(1);
    uint x = (t + 1 + get_group_id(0)) * BLOCK + lx, y = (t + 1 + get_group_id(1)) * BLOCK + ly;
    __global float *matrix = matrices + get_group_id(2) * side * side;
    left[ly][lx] = matrix[y * side + t * BLOCK + lx];
    above[ly][lx] = matrix[(t * BLOCK + ly) * side + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    float value = matrix[y * side + x];
    for (uint k = 0; k < BLOCK; k++)
        value -= left[ly][k] * above[k][lx];
    matrix[y * side + x] = value;
}
