// Kernels that measure a machine: each does one thing, as often as asked, so that the difference between two counts is the cost of
// that thing alone.

// Loads that wait for each other: `next[p]` is where to go from `p`.
kernel void chase(global const uint *next, global uint *out, uint steps) {
    uint place = get_global_id(0);
    for (uint n = 0; n < steps; n++)
        place = next[place];
    out[0] = place;
}

// Reads everything `rounds` times, 16 bytes a work-item, neighbours side by side.
kernel void stream(global const uint4 *data, global uint *out, uint count, uint rounds) {
    uint4 sum = 0;
    for (uint round = 0; round < rounds; round++)
        for (uint n = get_global_id(0); n < count; n += get_global_size(0))
            sum += data[n];
    if (sum.x + sum.y + sum.z + sum.w == 1)
        out[0] = 1;
}

// Eight products and sums after each other, `rounds` times.
kernel void arithmetic(global float *out, float factor, uint rounds) {
    float value = get_global_id(0);
    for (uint n = 0; n < rounds; n++) {
        value = fma(value, factor, 1.0f);
        value = fma(value, factor, 2.0f);
        value = fma(value, factor, 3.0f);
        value = fma(value, factor, 4.0f);
        value = fma(value, factor, 5.0f);
        value = fma(value, factor, 6.0f);
        value = fma(value, factor, 7.0f);
        value = fma(value, factor, 8.0f);
    }
    if (value == 0.125f)
        out[0] = value;
}

// Loads from local memory that wait for each other, `stride` words from lane to lane.
kernel void local_chase(global uint *out, uint stride, uint rounds) {
    local uint words[2048];
    for (uint n = get_local_id(0); n < 2048; n += get_local_size(0))
        words[n] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint place = get_local_id(0) * stride % 2048;
    for (uint n = 0; n < rounds; n++)
        place = words[place];
    if (place == 4096)
        out[0] = place;
}

// Nothing.
kernel void nothing(global uint *out) {}

// One instruction, 32 times after each other, `rounds` times. Loads go to the address that they have loaded: `at` holds its own address.
#define AFTER_EACH_OTHER(NAME, TYPE, START, REGISTER, WHAT) \
    kernel void NAME(global ulong *at, uint rounds) { \
        TYPE value = START; \
        for (uint n = 0; n < rounds; n++) \
            __asm__ volatile(".rept 32\n" WHAT "\n.endr" : "+" REGISTER(value)); \
        if (value == (TYPE)12345) \
            at[1] = 0; \
    }

AFTER_EACH_OTHER(load_hits, ulong, (ulong)at, "v", "flat_load_dwordx2 %0, %0\ns_waitcnt vmcnt(0) lgkmcnt(0)")
AFTER_EACH_OTHER(scalar_load_hits, ulong, (ulong)at, "s", "s_load_dwordx2 %0, %0, 0x0\ns_waitcnt lgkmcnt(0)")
AFTER_EACH_OTHER(branches, uint, 0, "s", "s_branch 0")
AFTER_EACH_OTHER(sums, float, 1.0f, "v", "v_add_f32 %0, %0, %0")
AFTER_EACH_OTHER(doubles, double, 1.0, "v", "v_fma_f64 %0, %0, %0, %0")
AFTER_EACH_OTHER(reciprocals, float, 1.0f, "v", "v_rcp_f32 %0, %0")
AFTER_EACH_OTHER(products, uint, 3, "v", "v_mul_lo_u32 %0, %0, %0")

// `at` gets its own address.
kernel void point_to_itself(global ulong *at) { at[0] = (ulong)at; }

// Local loads or atomic accesses after each other. `stride`: words from lane to lane.
#define LOCALLY(NAME, WHAT) \
    __attribute__((amdgpu_flat_work_group_size(1, 1024))) kernel void NAME(global uint *out, uint stride, uint rounds) { \
        local uint words[4096]; \
        for (uint n = get_local_id(0); n < 4096; n += get_local_size(0)) \
            words[n] = n * 4; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        uint place = get_local_id(0) % 64 * stride * 4 % 16384, other = 0; \
        for (uint n = 0; n < rounds; n++) \
            __asm__ volatile("s_mov_b32 m0, -1\n.rept 32\n" WHAT "\ns_waitcnt lgkmcnt(0)\n.endr" : "+v"(place), "+v"(other) : "r"(words)); \
        if (place == 12345) \
            out[0] = place + other + words[1]; \
    }

LOCALLY(local_loads, "ds_read_b32 %0, %0")
LOCALLY(local_atomics, "ds_add_rtn_u32 %1, %0, %1")

// Loads that do not wait for each other, eight at a time: consecutive words of a wavefront, in the same 8 KiB again and again.
__attribute__((amdgpu_flat_work_group_size(1, 1024))) kernel void coalesced_loads(global uint *data, uint rounds) {
    global uint *from = data + get_global_id(0) % 2048;
    uint value = 0;
    for (uint n = 0; n < rounds; n++)
        __asm__ volatile(".rept 8\nflat_load_dword %0, %1\n.endr\ns_waitcnt vmcnt(0) lgkmcnt(0)" : "+v"(value) : "v"(from));
    if (value == 12345)
        data[0] = value;
}

// Stores, eight at a time. `step`: bytes from store to store; 0: all go to one line.
__attribute__((amdgpu_flat_work_group_size(1, 1024))) kernel void stores(global uint *data, uint step, uint rounds) {
    ulong to = (ulong)(data + (step ? get_global_id(0) : get_global_id(0) % 16));
    for (uint n = 0; n < rounds; n++)
        for (uint turn = 0; turn < 4; turn++) {
            ulong at = to + turn * 8 * (ulong)step;
            ulong a1 = at + step, a2 = at + 2 * (ulong)step, a3 = at + 3 * (ulong)step, a4 = at + 4 * (ulong)step;
            ulong a5 = at + 5 * (ulong)step, a6 = at + 6 * (ulong)step, a7 = at + 7 * (ulong)step;
            __asm__ volatile("flat_store_dword %0, %8\nflat_store_dword %1, %8\nflat_store_dword %2, %8\nflat_store_dword %3, %8\n"
                         "flat_store_dword %4, %8\nflat_store_dword %5, %8\nflat_store_dword %6, %8\nflat_store_dword %7, %8\n"
                         "s_waitcnt vmcnt(0) lgkmcnt(0)"
                         : : "v"(at), "v"(a1), "v"(a2), "v"(a3), "v"(a4), "v"(a5), "v"(a6), "v"(a7), "v"(n));
        }
}

// Each wavefront loads eight lines at a time of one bank of the L2, past its vector cache. `step`: bytes from one line of the bank to
// the next but those between.
kernel void one_bank(global uint *data, uint step, uint lines, uint rounds) {
    uint wave = get_global_id(0) / 64;
    ulong base = (ulong)data;
    uint value = 0;
    ulong a[8];
    for (uint n = 0; n < 8; n++)
        a[n] = base + (ulong)((wave * 8 + n) % lines) * step;
    for (uint n = 0; n < rounds; n++)
        __asm__ volatile("flat_load_dword %0, %1 glc\nflat_load_dword %0, %2 glc\nflat_load_dword %0, %3 glc\nflat_load_dword %0, %4 glc\n"
                     "flat_load_dword %0, %5 glc\nflat_load_dword %0, %6 glc\nflat_load_dword %0, %7 glc\nflat_load_dword %0, %8 glc\n"
                     "s_waitcnt vmcnt(0) lgkmcnt(0)"
                     : "+v"(value) : "v"(a[0]), "v"(a[1]), "v"(a[2]), "v"(a[3]), "v"(a[4]), "v"(a[5]), "v"(a[6]), "v"(a[7]));
    if (value == 12345)
        data[0] = value;
}
