// One level of a breadth-first search: nodes that were reached last time reach their neighbours now. Several may
// reach the same neighbour; all of them write the same level.
#define UNREACHED 0xffffffffu

__kernel void bfs_level(__global const uint *edge_starts, __global const uint *edges, __global uint *levels,
                        __global uint *changed, uint nodes, uint level)
{
    uint node = get_global_id(0);
    if (node >= nodes || levels[node] != level)
        return;
    uint end = edge_starts[node + 1];
    for (uint i = edge_starts[node]; i < end; i++) {
        uint neighbour = edges[i];
        if (levels[neighbour] == UNREACHED) {
            levels[neighbour] = level + 1;
            *changed = 1;
        }
    }
}
