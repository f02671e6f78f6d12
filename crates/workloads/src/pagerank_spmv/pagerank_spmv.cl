// PageRank as a product of a sparse matrix and a vector: every node adds up the ranks of its neighbours, each divided by that
// neighbour's number of edges, which is what the matrix holds.
#pragma OPENCL FP_CONTRACT OFF

__kernel void pagerank_rows(__global const uint *starts, __global const uint *edges, __global const float *values,
                            __global const float *ranks, __global float *next, uint nodes, float base)
{
    uint node = get_global_id(0);
    if (node >= nodes)
        return;
    float sum = 0.0f;
    uint end = starts[node + 1];
    for (uint i = starts[node]; i < end; i++)
        sum += values[i] * ranks[edges[i]];
    next[node] = base + 0.85f * sum;
}
