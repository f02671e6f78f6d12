// Breadth-first search: irregular, divergent, and the host must look at a flag after every level.
#include "guest.h"

KERNELS(bfs);

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

static void run(const Options *options)
{
    size_t nodes = options->size[0];
    require(nodes <= 1 << 26, "--size %zu: up to 2^26 nodes can be searched", nodes);
    Random random = seeded(9);
    const uint32_t *starts = random_starts(&random, nodes);
    size_t edge_count = starts[nodes];
    const uint32_t *edges = random_edges(&random, edge_count, nodes);
    uint32_t *levels = input_array(uint32_t, nodes), *changed = svm_array(uint32_t, 1);
    for (size_t n = 0; n < nodes; n++)
        levels[n] = n == 0 ? 0 : UNREACHED;

    region_begin();
    bool again = true;
    for (uint32_t level = 0; again; level++) {
        map_to_write(changed);
        *changed = 0;
        unmap(changed);
        launch("bfs_level", line(nodes, 256), svm(starts), svm(edges), svm(levels), svm(changed), u32(nodes),
               u32(level));
        map_to_read(changed);
        again = *changed != 0;
        unmap(changed);
    }
    map_to_read(levels);
    region_end();

    if (!options->check)
        return;
    map_to_read(starts), map_to_read(edges);
    uint32_t *expected = host_array(uint32_t, nodes);
    search(starts, edges, expected, nodes);
    check_equal("levels", levels, expected, nodes);
}

const Program bfs_program = {
    .name = "bfs",
    .about = "finds every node's distance from the first in a random graph, one launch per level",
    .size_means = "nodes, with 0 to 15 edges from each",
    .tiny = {500},
    .full = {150000},
    .kernels = &kernels,
    .run = run,
};
