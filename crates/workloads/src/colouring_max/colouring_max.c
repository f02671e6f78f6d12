// A graph's colouring, one colour a round: indirect loads, and ever fewer nodes have work.
#include "colouring.h"

KERNELS(colouring_max);

static void run(const Options *options) { colour_graph(options, "choose_max", "colour_max", false); }

const Program colouring_max_program = {
    .name = "colouring-max",
    .about = "colours a graph so that neighbours differ, one colour a round for the nodes of highest priority",
    .size_means = "nodes",
    .tiny = {400},
    .full = {150000},
    .presets = {{"paper-vcache", {1000000}}, {"scaled-vcache", {250000}}},
    .graph = "road",
    .can_stop = true,
    .kernels = &kernels,
    .run = run,
};
