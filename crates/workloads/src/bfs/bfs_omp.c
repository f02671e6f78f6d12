// Breadth-first search by the CPU alone: OpenMP shares out the nodes of each level. Threads that reach the same node
// write the same number.
#include "bfs.h"

static bool search_level(const uint32_t *starts, const uint32_t *edges, uint32_t *levels, size_t nodes, uint32_t level)
{
    bool changed = false;
#pragma omp parallel for schedule(static) reduction(|| : changed)
    for (size_t node = 0; node < nodes; node++) {
        if (__atomic_load_n(&levels[node], __ATOMIC_RELAXED) != level)
            continue;
        for (uint32_t i = starts[node]; i < starts[node + 1]; i++)
            if (__atomic_load_n(&levels[edges[i]], __ATOMIC_RELAXED) == UNREACHED) {
                __atomic_store_n(&levels[edges[i]], level + 1, __ATOMIC_RELAXED);
                changed = true;
            }
    }
    return changed;
}

static void run(const Options *options)
{
    size_t nodes = options->size[0];
    require(nodes <= 1 << 26, "--size %zu: up to 2^26 nodes can be searched", nodes);
    Random random = seeded(9);
    const uint32_t *starts = random_starts(&random, nodes);
    const uint32_t *edges = random_edges(&random, starts[nodes], nodes);
    uint32_t *levels = host_array(uint32_t, nodes);
    for (size_t n = 1; n < nodes; n++)
        levels[n] = UNREACHED;

    region_begin();
    for (uint32_t level = 0; search_level(starts, edges, levels, nodes, level);)
        level++;
    region_end();

    if (!options->check)
        return;
    uint32_t *expected = host_array(uint32_t, nodes);
    search(starts, edges, expected, nodes);
    check_equal("levels", levels, expected, nodes);
}

const Program bfs_omp_program = {
    .name = "bfs-omp",
    .about = "finds every node's distance from the first in a random graph; the nodes of each level are shared out",
    .size_means = "nodes, with 0 to 15 edges from each",
    .tiny = {500},
    .small = {8192},
    .usual = {65536},
    .run = run,
};
