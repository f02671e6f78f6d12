// Breadth-first search: irregular, divergent, and the host must look at a flag after every level.
#include "bfs.h"

#include "graph.h"

#include <string.h>

KERNELS(bfs);

static Graph directed_graph(size_t nodes)
{
    require(nodes <= 1 << 26, "--size %zu: up to 2^26 nodes can be searched", nodes);
    Random random = seeded(9);
    uint32_t *starts = random_starts(&random, nodes);
    return (Graph){nodes, starts[nodes], starts, random_edges(&random, starts[nodes], nodes)};
}

static void run(const Options *options)
{
    bool directed = strcmp(options->graph, "directed") == 0;
    Graph graph = directed ? directed_graph(options->size[0]) : make_graph(options, 9);
    size_t nodes = graph.nodes;
    const uint32_t *starts = graph.starts, *edges = graph.edges;
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
    .size_means = "nodes, in a directed graph with 0 to 15 edges from each",
    .tiny = {500},
    .small = {8192},
    .full = {150000},
    .usual = {65536},
    .presets = {{"paper-halcone", {15100000}},
                {"scaled-halcone", {944000}},
                {"paper-vcache", {1000000}},
                {"scaled-vcache", {250000}}},
    .graph = "directed",
    .kernels = &kernels,
    .run = run,
};
