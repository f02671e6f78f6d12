// The discrete cosine transform of JPEG: every 8 x 8 block X of an image becomes C X C^T, one workgroup (of exactly
// one wavefront) per block. `cosines` is C, row by row.
#pragma OPENCL FP_CONTRACT OFF
#define SIDE 8

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void dct(__global const float *in, __global float *out, __constant float *cosines, uint width)
{
    __local float block[SIDE][SIDE], half_done[SIDE][SIDE];
    uint lx = get_local_id(0), ly = get_local_id(1);
    uint i = get_global_id(1) * width + get_global_id(0);

    block[ly][lx] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0.0f;
    for (uint k = 0; k < SIDE; k++)
        sum += cosines[ly * SIDE + k] * block[k][lx];
    half_done[ly][lx] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);

    sum = 0.0f;
    for (uint k = 0; k < SIDE; k++)
        sum += half_done[ly][k] * cosines[lx * SIDE + k];
    out[i] = sum;
}
