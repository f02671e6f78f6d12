// PageRank by pushing: every node adds its share to each of its neighbours with an atomic access. Ranks are fixed-point numbers, so that
// sums do not depend on their order; 65536 is the average.
#define BASE 9830u // 0.15

__kernel void push(__global const uint *starts, __global const uint *edges, __global const uint *ranks,
                   __global uint *incoming, uint nodes)
{
    uint node = get_global_id(0);
    if (node >= nodes)
        return;
    uint first = starts[node], end = starts[node + 1];
    if (first == end)
        return;
    uint share = ranks[node] / (end - first);
    for (uint i = first; i < end; i++)
        atomic_add(&incoming[edges[i]], share);
}

__kernel void update(__global uint *ranks, __global uint *incoming, uint nodes)
{
    uint node = get_global_id(0);
    if (node >= nodes)
        return;
    uint sum = incoming[node];
    ranks[node] = BASE + (sum - sum / 20 * 3);
    incoming[node] = 0;
}
