// A maximal independent set: indirect loads in both kernels of a round, and ever fewer nodes have work.
#include "graph.h"

#include <stdlib.h>

KERNELS(independent_set);

enum { UNDECIDED, MEMBER, OUTSIDE };

// Nodes with their priorities, lowest first.
typedef struct {
    uint32_t priority, node;
} Turn;

static int by_priority(const void *a, const void *b)
{
    const Turn *x = a, *y = b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

// Node by node, lowest priority first: that gives the set that the rounds give.
static void join_in_turn(const Graph *graph, const uint32_t *priorities, uint32_t *states)
{
    Turn *turns = host_array(Turn, graph->nodes);
    for (size_t n = 0; n < graph->nodes; n++)
        turns[n] = (Turn){priorities[n], (uint32_t)n};
    qsort(turns, graph->nodes, sizeof *turns, by_priority);
    for (size_t t = 0; t < graph->nodes; t++) {
        uint32_t node = turns[t].node;
        if (states[node] != UNDECIDED)
            continue;
        states[node] = MEMBER;
        for (uint32_t i = graph->starts[node]; i < graph->starts[node + 1]; i++)
            states[graph->edges[i]] = OUTSIDE;
    }
}

// The first rounds: undecided nodes of the lowest priority among their undecided neighbours join, which decides these.
static void join_in_rounds(const Graph *graph, const uint32_t *priorities, uint32_t *states, unsigned rounds)
{
    uint32_t *chosen = host_array(uint32_t, graph->nodes);
    while (rounds-- > 0) {
        for (size_t n = 0; n < graph->nodes; n++) {
            chosen[n] = states[n] == UNDECIDED;
            for (uint32_t i = graph->starts[n]; i < graph->starts[n + 1]; i++)
                chosen[n] &= states[graph->edges[i]] != UNDECIDED || is_larger(priorities, graph->edges[i], n);
        }
        for (size_t n = 0; n < graph->nodes; n++) {
            if (!chosen[n])
                continue;
            states[n] = MEMBER;
            for (uint32_t i = graph->starts[n]; i < graph->starts[n + 1]; i++)
                states[graph->edges[i]] = OUTSIDE;
        }
    }
}

static void run(const Options *options)
{
    Graph graph = make_graph(options, 53);
    size_t nodes = graph.nodes;
    Random random = seeded(54);
    const uint32_t *priorities = random_words(&random, nodes);
    uint32_t *states = input_array(uint32_t, nodes), *chosen = svm_array(uint32_t, nodes), *left = svm_array(uint32_t, 1);
    for (size_t n = 0; n < nodes; n++)
        states[n] = UNDECIDED;

    region_begin();
    unsigned rounds = options->iterations, done = 0;
    for (bool again = true; again && (rounds == 0 || done < rounds); done++) {
        map_to_write(left);
        *left = 0;
        unmap(left);
        launch("choose_members", line(nodes, 256), svm(graph.starts), svm(graph.edges), svm(priorities), svm(states),
               svm(chosen), u32(nodes));
        launch("settle", line(nodes, 256), svm(graph.starts), svm(graph.edges), svm(chosen), svm(states), svm(left), u32(nodes));
        map_to_read(left);
        again = *left != 0;
        unmap(left);
    }
    map_to_read(states);
    region_end();

    if (!options->check)
        return;
    map_to_read(graph.starts), map_to_read(graph.edges), map_to_read(priorities);
    uint32_t *expected = host_array(uint32_t, nodes);
    if (rounds > 0)
        join_in_rounds(&graph, priorities, expected, rounds);
    else
        join_in_turn(&graph, priorities, expected);
    check_equal("states", states, expected, nodes);
}

const Program independent_set_program = {
    .name = "independent-set",
    .about = "finds a maximal set of nodes of a graph that are not neighbours, in rounds after Luby",
    .size_means = "nodes",
    .tiny = {400},
    .full = {150000},
    .presets = {{"paper-vcache", {1000000}}, {"scaled-vcache", {250000}}},
    .graph = "road",
    .can_stop = true,
    .kernels = &kernels,
    .run = run,
};
