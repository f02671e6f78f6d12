// PageRank as a sparse matrix times a vector: indirect loads of floats.
#include "graph.h"

KERNELS(pagerank_spmv);

static void step(const Graph *graph, const float *values, const float *ranks, float *next, float base)
{
    for (size_t n = 0; n < graph->nodes; n++) {
        float sum = 0.0f;
        for (uint32_t i = graph->starts[n]; i < graph->starts[n + 1]; i++)
            sum += values[i] * ranks[graph->edges[i]];
        next[n] = base + 0.85f * sum;
    }
}

static void run(const Options *options)
{
    Graph graph = make_graph(options, 56);
    size_t nodes = graph.nodes, edges = graph.edge_count;
    float *values = input_array(float, edges ? edges : 1), base = 0.15f / (float)nodes;
    for (size_t i = 0; i < edges; i++) {
        uint32_t other = graph.edges[i];
        values[i] = 1.0f / (float)(graph.starts[other + 1] - graph.starts[other]);
    }
    float *ranks[2] = {input_array(float, nodes), svm_array(float, nodes)};
    float *expected[2] = {host_array(float, nodes), host_array(float, nodes)};
    for (size_t n = 0; n < nodes; n++)
        ranks[0][n] = expected[0][n] = 1.0f / (float)nodes;

    region_begin();
    for (unsigned i = 0; i < options->iterations; i++)
        launch("pagerank_rows", line(nodes, 256), svm(graph.starts), svm(graph.edges), svm(values), svm(ranks[i % 2]),
               svm(ranks[(i + 1) % 2]), u32(nodes), f32(base));
    float *result = ranks[options->iterations % 2];
    map_to_read(result);
    region_end();

    if (!options->check)
        return;
    map_to_read(graph.starts), map_to_read(graph.edges), map_to_read(values);
    for (unsigned i = 0; i < options->iterations; i++)
        step(&graph, values, expected[i % 2], expected[(i + 1) % 2], base);
    check_equal("ranks", result, expected[options->iterations % 2], nodes);
}

const Program pagerank_spmv_program = {
    .name = "pagerank-spmv",
    .about = "ranks the nodes of a graph by products of a sparse matrix and a vector",
    .size_means = "nodes",
    .tiny = {200},
    .full = {110000},
    .presets = {{"paper-vcache", {299067}}, {"scaled-vcache", {74767}}},
    .iterations = 5,
    .graph = "rmat",
    .kernels = &kernels,
    .run = run,
};
