// Betweenness centrality: a search forth and back for each source, irregular both ways.
#include "graph.h"

KERNELS(betweenness);

#define UNREACHED 0xffffffffu

// Brandes's algorithm with a queue; sums are made in the order of the kernels.
static void brandes(const Graph *graph, uint32_t source, float *centrality)
{
    size_t nodes = graph->nodes, head = 0, tail = 0;
    uint32_t *levels = host_array(uint32_t, nodes), *queue = host_array(uint32_t, nodes);
    float *paths = host_array(float, nodes), *contributions = host_array(float, nodes);
    for (size_t n = 0; n < nodes; n++)
        levels[n] = UNREACHED;
    levels[source] = 0, paths[source] = 1.0f, queue[tail++] = source;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t i = graph->starts[node]; i < graph->starts[node + 1]; i++) {
            uint32_t next = graph->edges[i];
            if (levels[next] == UNREACHED)
                levels[next] = levels[node] + 1, queue[tail++] = next;
            else if (levels[next] + 1 == levels[node])
                paths[node] += paths[next];
        }
    }
    while (tail-- > 1) {
        uint32_t node = queue[tail];
        for (uint32_t i = graph->starts[node]; i < graph->starts[node + 1]; i++) {
            uint32_t next = graph->edges[i];
            if (levels[next] == levels[node] + 1)
                contributions[node] += paths[node] / paths[next] * (1.0f + contributions[next]);
        }
        centrality[node] += contributions[node];
    }
}

static void run(const Options *options)
{
    Graph graph = make_graph(options, 50);
    size_t nodes = graph.nodes, sources = options->size[1] ? options->size[1] : 1;
    require(sources <= nodes, "--size %zux%zu: there are fewer nodes than sources", nodes, sources);
    uint32_t *levels = svm_array(uint32_t, nodes), *found = svm_array(uint32_t, 1);
    float *paths = svm_array(float, nodes), *contributions = svm_array(float, nodes);
    float *centrality = input_array(float, nodes);
    for (size_t n = 0; n < nodes; n++)
        centrality[n] = 0.0f;

    region_begin();
    for (size_t source = 0; source < sources; source++) {
        launch("begin", line(nodes, 256), svm(levels), svm(paths), svm(contributions), u32(nodes), u32(source));
        uint32_t level = 0;
        for (bool again = true; again; level++) {
            map_to_write(found);
            *found = 0;
            unmap(found);
            launch("reach", line(nodes, 256), svm(graph.starts), svm(graph.edges), svm(levels), u32(nodes), u32(level));
            launch("count_paths", line(nodes, 256), svm(graph.starts), svm(graph.edges), svm(levels), svm(paths), svm(found),
                   u32(nodes), u32(level + 1));
            map_to_read(found);
            again = *found != 0;
            unmap(found);
        }
        // The last level that was looked for has no nodes, and the one before it nobody behind it.
        for (uint32_t back = level - 1; back > 1; back--)
            launch("contribute", line(nodes, 256), svm(graph.starts), svm(graph.edges), svm(levels), svm(paths),
                   svm(contributions), svm(centrality), u32(nodes), u32(back - 1));
    }
    map_to_read(centrality);
    region_end();

    if (!options->check)
        return;
    map_to_read(graph.starts), map_to_read(graph.edges);
    float *expected = host_array(float, nodes);
    for (size_t source = 0; source < sources; source++)
        brandes(&graph, (uint32_t)source, expected);
    // All terms are positive. A level adds the error of a division, a product and two sums (some 5 ulps) to what comes from
    // behind it; graphs have tens of levels.
    check_within("centrality", centrality, expected, expected, 256.0, nodes);
}

const Program betweenness_program = {
    .name = "betweenness",
    .about = "finds how many shortest paths lead through each node of a graph, from some sources",
    .size_means = "NODESxSOURCES, or nodes, and one source",
    .tiny = {200, 1},
    .full = {90000, 2},
    .presets = {{"paper-vcache", {65536, 4}}, {"scaled-vcache", {16384, 4}}},
    .graph = "rmat",
    .kernels = &kernels,
    .run = run,
};
