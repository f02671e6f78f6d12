// Counts how often each byte occurs. A workgroup counts in local memory and adds its counts to the result at the end.
// A work-item takes every (grid size)-th word of four bytes.
#define BINS 256

__kernel __attribute__((reqd_work_group_size(BINS, 1, 1)))
void histogram(__global const uint *words, __global uint *counts, uint count_words)
{
    __local uint local_counts[BINS];
    uint l = get_local_id(0);
    local_counts[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint i = get_global_id(0); i < count_words; i += get_global_size(0)) {
        uint word = words[i];
        atomic_inc(&local_counts[word & 0xff]);
        atomic_inc(&local_counts[(word >> 8) & 0xff]);
        atomic_inc(&local_counts[(word >> 16) & 0xff]);
        atomic_inc(&local_counts[word >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (local_counts[l] != 0)
        atomic_add(&counts[l], local_counts[l]);
}

// A workgroup counts a piece of the input that lies together, and leaves its counts in a row of its own: the host adds the rows.
__kernel __attribute__((reqd_work_group_size(BINS, 1, 1)))
void histogram_rows(__global const uint *words, __global uint *rows, uint count_words, uint piece)
{
    __local uint local_counts[BINS];
    uint l = get_local_id(0), first = get_group_id(0) * piece;
    local_counts[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint i = first + l; i < min(first + piece, count_words); i += BINS) {
        uint word = words[i];
        atomic_inc(&local_counts[word & 0xff]);
        atomic_inc(&local_counts[(word >> 8) & 0xff]);
        atomic_inc(&local_counts[(word >> 16) & 0xff]);
        atomic_inc(&local_counts[word >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    rows[get_global_id(0)] = local_counts[l];
}
