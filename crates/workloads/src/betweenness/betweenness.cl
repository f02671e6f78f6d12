// Betweenness centrality after Brandes, from one source at a time: distances and numbers of shortest paths level by level, then what
// each node contributes, from the farthest level back.
#pragma OPENCL FP_CONTRACT OFF
#define UNREACHED 0xffffffffu

__kernel void begin(__global uint *levels, __global float *paths, __global float *contributions, uint nodes, uint source)
{
    uint node = get_global_id(0);
    if (node >= nodes)
        return;
    levels[node] = node == source ? 0 : UNREACHED;
    paths[node] = node == source ? 1.0f : 0.0f;
    contributions[node] = 0.0f;
}

// Nodes of a level reach their neighbours. The atomic access makes no difference to nodes that have been reached before.
__kernel void reach(__global const uint *starts, __global const uint *edges, __global uint *levels, uint nodes, uint level)
{
    uint node = get_global_id(0);
    if (node >= nodes || levels[node] != level)
        return;
    uint end = starts[node + 1];
    for (uint i = starts[node]; i < end; i++)
        atomic_min(&levels[edges[i]], level + 1);
}

// Nodes of a level add up the paths to their neighbours of the level before.
__kernel void count_paths(__global const uint *starts, __global const uint *edges, __global const uint *levels,
                          __global float *paths, __global uint *found, uint nodes, uint level)
{
    uint node = get_global_id(0);
    if (node >= nodes || levels[node] != level)
        return;
    float sum = 0.0f;
    uint end = starts[node + 1];
    for (uint i = starts[node]; i < end; i++)
        if (levels[edges[i]] == level - 1)
            sum += paths[edges[i]];
    paths[node] = sum;
    *found = 1;
}

// Nodes of a level add up their parts of what their neighbours of the next level contribute.
__kernel void contribute(__global const uint *starts, __global const uint *edges, __global const uint *levels,
                         __global const float *paths, __global float *contributions, __global float *centrality,
                         uint nodes, uint level)
{
    uint node = get_global_id(0);
    if (node >= nodes || levels[node] != level)
        return;
    float sum = 0.0f;
    uint end = starts[node + 1];
    for (uint i = starts[node]; i < end; i++) {
        uint next = edges[i];
        if (levels[next] == level + 1)
            sum += paths[node] / paths[next] * (1.0f + contributions[next]);
    }
    contributions[node] = sum;
    centrality[node] += sum;
}
