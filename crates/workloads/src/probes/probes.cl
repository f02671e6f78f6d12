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
