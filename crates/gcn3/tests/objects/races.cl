// Kernels with data races, and their corrected versions. Built with: cohesim cc races.cl -o races.hsaco

// Histograms of 32 lanes each, as written for hardware that runs 32 lanes in lockstep: a lane that finds its tag has counted.
kernel void tagged(global const uint *in, global uint *out, uint n)
{
    local volatile uint bins[8 * 16];
    uint item = get_local_id(0), tag = (item & 31) << 27;
    for (uint bin = item; bin < 8 * 16; bin += get_local_size(0))
        bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    local volatile uint *own = bins + (item >> 5) * 16;
    for (uint place = get_global_id(0); place < n; place += get_global_size(0)) {
        uint bin = in[place] & 15, count;
        do {
            count = tag | ((own[bin] & 0x07ffffff) + 1);
            own[bin] = count;
        } while (own[bin] != count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 16) {
        uint sum = 0;
        for (uint histogram = 0; histogram < get_local_size(0) / 32; histogram++)
            sum += bins[histogram * 16 + item] & 0x07ffffff;
        atomic_add(&out[item], sum);
    }
}

kernel void counted(global const uint *in, global uint *out, uint n)
{
    local uint bins[16];
    uint item = get_local_id(0);
    if (item < 16)
        bins[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint place = get_global_id(0); place < n; place += get_global_size(0))
        atomic_inc(&bins[in[place] & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 16)
        atomic_add(&out[item], bins[item]);
}

// The last steps of a reduction without barriers, in lanes of one wavefront.
kernel void lockstep_sum(global const uint *in, global uint *out, uint n)
{
    local volatile uint sums[256];
    uint item = get_local_id(0);
    sums[item] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint stride = 128; stride >= 32; stride >>= 1) {
        if (item < stride)
            sums[item] += sums[item + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item < 16) {
        sums[item] += sums[item + 16];
        sums[item] += sums[item + 8];
        sums[item] += sums[item + 4];
        sums[item] += sums[item + 2];
        sums[item] += sums[item + 1];
    }
    if (item == 0)
        out[get_group_id(0)] = sums[0];
}

kernel void sum(global const uint *in, global uint *out, uint n)
{
    local uint sums[256];
    uint item = get_local_id(0);
    sums[item] = in[get_global_id(0)];
    for (uint stride = 128; stride > 0; stride >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < stride)
            sums[item] += sums[item + stride];
    }
    if (item == 0)
        out[get_group_id(0)] = sums[0];
}

// A wavefront reads what another writes.
kernel void shift_too_soon(global const uint *in, global uint *out, uint n)
{
    local uint words[256];
    uint item = get_local_id(0);
    words[item] = in[get_global_id(0)];
    out[get_global_id(0)] = words[(item + 64) % 256];
}

kernel void shift(global const uint *in, global uint *out, uint n)
{
    local uint words[256];
    uint item = get_local_id(0);
    words[item] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = words[(item + 64) % 256];
}

// The missing barrier is the one before the words are reused.
kernel void used_again_too_soon(global const uint *in, global uint *out, uint n)
{
    local uint words[256];
    uint item = get_local_id(0), sum = 0;
    for (uint round = 0; round < 2; round++) {
        words[item] = in[get_global_id(0)] + round;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += words[255 - item];
    }
    out[get_global_id(0)] = sum;
}

// Workgroups that write different values to one place, or all the same.
kernel void last_group_wins(global const uint *in, global uint *out, uint n)
{
    if (get_local_id(0) == 0)
        out[0] = get_group_id(0);
}

kernel void any_group_says_so(global const uint *in, global uint *out, uint n)
{
    out[0] = 1;
}

// An in-place update that reads neighbours which another workgroup writes.
kernel void smooth_in_place(global const uint *in, global uint *out, uint n)
{
    uint item = get_global_id(0);
    out[item] = out[(item + 1) % n] + 1;
}

kernel void smooth(global const uint *in, global uint *out, uint n)
{
    uint item = get_global_id(0);
    out[item] = in[(item + 1) % n] + 1;
}

// Each workgroup leaves a sum; the one that is last, as an atomic counter says, adds them up.
kernel void sum_by_last(global const uint *in, global uint *out, uint n)
{
    local uint last;
    if (get_local_id(0) == 0) {
        out[2 + get_group_id(0)] = in[get_global_id(0)];
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        last = atomic_inc(&out[0]) == get_num_groups(0) - 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last && get_local_id(0) == 0) {
        uint sum = 0;
        for (uint group = 0; group < get_num_groups(0); group++)
            sum += out[2 + group];
        out[1] = sum;
    }
}

// Neighbours in a word, each with a byte of its own.
kernel void bytes(global const uint *in, global uchar *out, uint n)
{
    local uchar words[256];
    uint item = get_local_id(0);
    words[item] = in[get_global_id(0)];
    out[get_global_id(0)] = words[item] + out[get_global_id(0)];
}

// A workgroup of one wavefront needs no instruction for a barrier.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void one_wavefront(global const uint *in, global uint *out, uint n)
{
    local uint words[64];
    uint item = get_local_id(0);
    words[item] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = words[63 - item];
}
