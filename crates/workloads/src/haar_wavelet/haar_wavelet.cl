// The one-dimensional Haar transform of `count` numbers, a power of two. A workgroup takes a block through all the levels that fit its
// local memory, puts the details of each level where they belong in the whole transform, and leaves the block's average in `averages`,
// of which the next launch makes the coarser levels. The only workgroup of the last launch puts the average of everything at the front.
#pragma OPENCL FP_CONTRACT OFF
#define GROUP 128
#define HALF_ROOT 0.70710678f

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void haar_blocks(__global const float *in, __global float *out, __global float *averages, uint count, uint block)
{
    __local float values[2 * GROUP];
    uint l = get_local_id(0), group = get_group_id(0);
    for (uint i = l; i < block; i += GROUP)
        values[i] = in[group * block + i];

    uint details = count / 2; // where those of this level begin
    for (uint pairs = block / 2; pairs > 0; pairs /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        float left = 0.0f, right = 0.0f;
        if (l < pairs) {
            left = values[2 * l];
            right = values[2 * l + 1];
            out[details + group * pairs + l] = (left - right) * HALF_ROOT;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < pairs)
            values[l] = (left + right) * HALF_ROOT;
        details /= 2;
    }
    if (l == 0) {
        averages[group] = values[0];
        if (get_num_groups(0) == 1)
            out[0] = values[0];
    }
}
