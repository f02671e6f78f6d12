// Exclusive prefix sums, after Blelloch: a workgroup scans 2 * GROUP numbers in a tree in local memory and leaves
// their total in `totals`; the totals are scanned in turn, and `add_offsets` adds them to every block.
#define GROUP 128
#define BLOCK (2 * GROUP)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_blocks(__global const uint *in, __global uint *out, __global uint *totals, uint count)
{
    __local uint tree[BLOCK];
    uint l = get_local_id(0);
    uint start = get_group_id(0) * BLOCK;
    tree[l] = start + l < count ? in[start + l] : 0;
    tree[l + GROUP] = start + l + GROUP < count ? in[start + l + GROUP] : 0;

    // Up: every inner node becomes the sum of what lies below it.
    uint stride = 1;
    for (uint nodes = GROUP; nodes > 0; nodes /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < nodes)
            tree[stride * (2 * l + 2) - 1] += tree[stride * (2 * l + 1) - 1];
        stride *= 2;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        totals[get_group_id(0)] = tree[BLOCK - 1];
        tree[BLOCK - 1] = 0;
    }
    // Down: a left child gets what its parent got; a right child adds its left sibling's sum.
    for (uint nodes = 1; nodes <= GROUP; nodes *= 2) {
        stride /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < nodes) {
            uint left = stride * (2 * l + 1) - 1, right = stride * (2 * l + 2) - 1;
            uint sum = tree[left];
            tree[left] = tree[right];
            tree[right] += sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (start + l < count)
        out[start + l] = tree[l];
    if (start + l + GROUP < count)
        out[start + l + GROUP] = tree[l + GROUP];
}

__kernel void add_offsets(__global uint *data, __global const uint *offsets, uint count)
{
    uint i = get_global_id(0);
    if (i < count)
        data[i] += offsets[i / BLOCK];
}
