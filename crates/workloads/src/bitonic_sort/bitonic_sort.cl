// Bitonic sort of a power of two of 64-bit keys. Runs of `run_length` keys are sorted in alternating directions by
// comparing keys `distance` apart, distance = run_length / 2 ... 1. Distances that fit a workgroup's local memory are
// done there in one launch.
#define GROUP 256
#define BLOCK (2 * GROUP)

static void order(ulong *a, ulong *b, bool ascending)
{
    if ((*a > *b) == ascending) {
        ulong t = *a;
        *a = *b;
        *b = t;
    }
}

// The lower of the two keys that work-item i compares.
static uint lower_of(uint i, uint distance)
{
    return 2 * i - (i & (distance - 1));
}

// One distance over the whole array.
__kernel void compare_global(__global ulong *keys, uint run_length, uint distance)
{
    uint low = lower_of(get_global_id(0), distance), high = low + distance;
    ulong a = keys[low], b = keys[high];
    order(&a, &b, (low & run_length) == 0);
    keys[low] = a;
    keys[high] = b;
}

// All distances below BLOCK for all runs from `first_run` to `last_run` keys long, within blocks of BLOCK keys.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void compare_local(__global ulong *keys, uint first_run, uint last_run)
{
    __local ulong block[BLOCK];
    uint l = get_local_id(0);
    uint start = get_group_id(0) * BLOCK;
    block[l] = keys[start + l];
    block[l + GROUP] = keys[start + l + GROUP];

    for (uint run_length = first_run; run_length <= last_run; run_length *= 2) {
        for (uint distance = min(run_length, (uint)BLOCK) / 2; distance > 0; distance /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint low = lower_of(l, distance), high = low + distance;
            ulong a = block[low], b = block[high];
            order(&a, &b, ((start + low) & run_length) == 0);
            block[low] = a;
            block[high] = b;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[start + l] = block[l];
    keys[start + l + GROUP] = block[l + GROUP];
}
