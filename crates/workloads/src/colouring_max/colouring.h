// Both colourings of a graph: one or two colours a round.
#ifndef COLOURING_H
#define COLOURING_H

#include "graph.h"

#define NO_COLOUR 0xffffffffu

// The same rounds on the CPU: so many, or until all nodes have a colour if that is 0.
static void colour_rounds(const Graph *graph, const uint32_t *priorities, uint32_t *colours, bool both, unsigned rounds)
{
    uint32_t *chosen = host_array(uint32_t, graph->nodes);
    for (size_t n = 0; n < graph->nodes; n++)
        colours[n] = NO_COLOUR;
    bool left = true;
    unsigned done = 0;
    for (uint32_t colour = 0; left && (rounds == 0 || done < rounds); colour += both ? 2 : 1, done++) {
        left = false;
        for (size_t n = 0; n < graph->nodes; n++) {
            bool largest = true, smallest = both;
            for (uint32_t i = graph->starts[n]; i < graph->starts[n + 1]; i++) {
                if (colours[graph->edges[i]] != NO_COLOUR)
                    continue;
                bool larger = is_larger(priorities, n, graph->edges[i]);
                largest &= larger, smallest &= !larger;
            }
            chosen[n] = largest ? colour : smallest ? colour + 1 : NO_COLOUR;
        }
        for (size_t n = 0; n < graph->nodes; n++) {
            if (colours[n] == NO_COLOUR)
                colours[n] = chosen[n];
            left |= colours[n] == NO_COLOUR;
        }
    }
}

// Neighbours that have one colour, and nodes without any after all rounds: there must be none.
static uint32_t conflicts(const Graph *graph, const uint32_t *colours, bool all)
{
    uint32_t found = 0;
    for (size_t n = 0; n < graph->nodes; n++) {
        if (colours[n] == NO_COLOUR) {
            found += all;
            continue;
        }
        for (uint32_t i = graph->starts[n]; i < graph->starts[n + 1]; i++)
            found += colours[graph->edges[i]] == colours[n];
    }
    return found;
}

static void colour_graph(const Options *options, const char *choose, const char *colour_chosen, bool both)
{
    Graph graph = make_graph(options, 51);
    size_t nodes = graph.nodes;
    Random random = seeded(52);
    const uint32_t *priorities = random_words(&random, nodes);
    uint32_t *colours = input_array(uint32_t, nodes), *chosen = svm_array(uint32_t, nodes), *left = svm_array(uint32_t, 1);
    for (size_t n = 0; n < nodes; n++)
        colours[n] = NO_COLOUR;

    region_begin();
    bool again = true;
    unsigned rounds = options->iterations, done = 0;
    for (uint32_t colour = 0; again && (rounds == 0 || done < rounds); colour += both ? 2 : 1, done++) {
        map_to_write(left);
        *left = 0;
        unmap(left);
        launch_with(choose, line(nodes, 256),
                    (Arg[]){svm(graph.starts), svm(graph.edges), svm(priorities), svm(colours), svm(chosen), u32(nodes)}, 6);
        launch_with(colour_chosen, line(nodes, 256), (Arg[]){svm(chosen), svm(colours), svm(left), u32(nodes), u32(colour)}, 5);
        map_to_read(left);
        again = *left != 0;
        unmap(left);
    }
    map_to_read(colours);
    region_end();

    if (!options->check)
        return;
    map_to_read(graph.starts), map_to_read(graph.edges), map_to_read(priorities);
    uint32_t *expected = host_array(uint32_t, nodes), none = 0, found;
    colour_rounds(&graph, priorities, expected, both, rounds);
    check_equal("colours", colours, expected, nodes);
    found = conflicts(&graph, colours, rounds == 0);
    check_equal("conflicts", &found, &none, 1);
}

#endif
