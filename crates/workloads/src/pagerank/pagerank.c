// PageRank by pushing: atomic accesses all over memory, many of them to few places.
#include "graph.h"

KERNELS(pagerank);

#define BASE 9830u
#define AVERAGE 65536u

// Pulls instead of pushing: sums of integers are the same in any order.
static void step(const Graph *graph, const uint32_t *ranks, uint32_t *next)
{
    for (size_t n = 0; n < graph->nodes; n++) {
        uint32_t sum = 0;
        for (uint32_t i = graph->starts[n]; i < graph->starts[n + 1]; i++) {
            uint32_t other = graph->edges[i];
            sum += ranks[other] / (graph->starts[other + 1] - graph->starts[other]);
        }
        next[n] = BASE + (sum - sum / 20 * 3);
    }
}

static void run(const Options *options)
{
    Graph graph = make_graph(options, 55);
    size_t nodes = graph.nodes;
    uint32_t *ranks = input_array(uint32_t, nodes), *incoming = input_array(uint32_t, nodes);
    uint32_t *expected[2] = {host_array(uint32_t, nodes), host_array(uint32_t, nodes)};
    for (size_t n = 0; n < nodes; n++)
        ranks[n] = expected[0][n] = AVERAGE, incoming[n] = 0;

    region_begin();
    for (unsigned i = 0; i < options->iterations; i++) {
        launch("push", line(nodes, 256), svm(graph.starts), svm(graph.edges), svm(ranks), svm(incoming), u32(nodes));
        launch("update", line(nodes, 256), svm(ranks), svm(incoming), u32(nodes));
    }
    map_to_read(ranks);
    region_end();

    if (!options->check)
        return;
    map_to_read(graph.starts), map_to_read(graph.edges);
    for (unsigned i = 0; i < options->iterations; i++)
        step(&graph, expected[i % 2], expected[(i + 1) % 2]);
    check_equal("ranks", ranks, expected[options->iterations % 2], nodes);
}

const Program pagerank_program = {
    .name = "pagerank",
    .about = "ranks the nodes of a graph: each adds its share to its neighbours with atomic accesses",
    .size_means = "nodes",
    .tiny = {200},
    .full = {110000},
    .presets = {{"paper-vcache", {299067}}, {"scaled-vcache", {74767}}},
    .iterations = 5,
    .graph = "rmat",
    .kernels = &kernels,
    .run = run,
};
