// Each workgroup adds up 2 * GROUP numbers in local memory; the sums of all workgroups are the next launch's input.
#define GROUP 256

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduction(__global const uint *in, __global uint *out, uint count)
{
    __local uint sums[GROUP];
    uint l = get_local_id(0);
    uint i = get_group_id(0) * 2 * GROUP + l;

    uint sum = i < count ? in[i] : 0;
    if (i + GROUP < count)
        sum += in[i + GROUP];
    sums[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint half_left = GROUP / 2; half_left > 0; half_left /= 2) {
        if (l < half_left)
            sums[l] += sums[l + half_left];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = sums[0];
}
