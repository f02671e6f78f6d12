// One pass of a radix sort, from the lowest digit on: each work-item counts the digits of its run of keys, the counts of all are scanned
// digit by digit, and each work-item puts its keys where the scan says. Keys with one digit stay in their order.
#define GROUP 64
#define RUN 32
#define DIGITS 16
#define BLOCK 256

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void count_digits(__global const uint *keys, __global uint *counts, uint count, uint items, uint shift)
{
    __local uint mine[DIGITS * GROUP];
    uint item = get_global_id(0), l = get_local_id(0);
    for (uint digit = 0; digit < DIGITS; digit++)
        mine[digit * GROUP + l] = 0;
    for (uint i = item * RUN; i < min((item + 1) * RUN, count); i++)
        mine[(keys[i] >> shift) % DIGITS * GROUP + l] += 1;
    for (uint digit = 0; digit < DIGITS && item < items; digit++)
        counts[digit * items + item] = mine[digit * GROUP + l];
}

// Exclusive prefix sums of blocks, and the total of each block.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void scan_blocks(__global uint *counts, __global uint *totals, uint count)
{
    __local uint sums[2][BLOCK];
    uint i = get_global_id(0), l = get_local_id(0), turn = 0;
    uint own = i < count ? counts[i] : 0;
    sums[0][l] = own;
    for (uint reach = 1; reach < BLOCK; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[turn ^ 1][l] = sums[turn][l] + (l >= reach ? sums[turn][l - reach] : 0);
        turn ^= 1;
    }
    if (i < count)
        counts[i] = sums[turn][l] - own;
    if (l == BLOCK - 1)
        totals[get_group_id(0)] = sums[turn][l];
}

__kernel void add_totals(__global uint *counts, __global const uint *totals, uint count)
{
    uint i = get_global_id(0);
    if (i < count)
        counts[i] += totals[i / BLOCK];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void permute(__global const uint *keys, __global uint *sorted, __global const uint *counts, uint count, uint items,
             uint shift)
{
    __local uint mine[DIGITS * GROUP];
    uint item = get_global_id(0), l = get_local_id(0);
    for (uint digit = 0; digit < DIGITS; digit++)
        mine[digit * GROUP + l] = item < items ? counts[digit * items + item] : 0;
    for (uint i = item * RUN; i < min((item + 1) * RUN, count); i++) {
        uint key = keys[i];
        sorted[mine[(key >> shift) % DIGITS * GROUP + l]++] = key;
    }
}
