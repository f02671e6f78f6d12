// Breadth-first search: what the GPU's version and the CPU's have in common.
#ifndef BFS_H
#define BFS_H

#include "guest.h"

#define UNREACHED 0xffffffffu

// Node `n` has an edge to each of edges[starts[n] .. starts[n + 1]]; the first has at least one, or there would be
// nothing to search.
static uint32_t *random_starts(Random *random, size_t nodes)
{
    uint32_t *starts = input_array(uint32_t, nodes + 1);
    starts[0] = 0;
    for (size_t n = 0; n < nodes; n++)
        starts[n + 1] = starts[n] + random_below(random, 16) + (n == 0);
    return starts;
}

static uint32_t *random_edges(Random *random, size_t edges, size_t nodes)
{
    uint32_t *list = input_array(uint32_t, edges);
    for (size_t i = 0; i < edges; i++)
        list[i] = random_below(random, (uint32_t)nodes);
    return list;
}

static void search(const uint32_t *starts, const uint32_t *edges, uint32_t *levels, size_t nodes)
{
    uint32_t *queue = host_array(uint32_t, nodes);
    size_t head = 0, tail = 0;
    for (size_t n = 1; n < nodes; n++)
        levels[n] = UNREACHED;
    queue[tail++] = 0;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t i = starts[node]; i < starts[node + 1]; i++)
            if (levels[edges[i]] == UNREACHED) {
                levels[edges[i]] = levels[node] + 1;
                queue[tail++] = edges[i];
            }
    }
}

#endif
