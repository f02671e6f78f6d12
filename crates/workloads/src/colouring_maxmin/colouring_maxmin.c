// A graph's colouring, two colours a round: indirect loads, and ever fewer nodes have work.
#include "../colouring_max/colouring.h"

KERNELS(colouring_maxmin);

static void run(const Options *options) { colour_graph(options, "choose_maxmin", "colour_maxmin", true); }

const Program colouring_maxmin_program = {
    .name = "colouring-maxmin",
    .about = "colours a graph so that neighbours differ, two colours a round for nodes of highest and lowest priority",
    .size_means = "nodes",
    .tiny = {400},
    .full = {150000},
    .presets = {{"paper-vcache", {1000000}}, {"scaled-vcache", {250000}}},
    .graph = "road",
    .can_stop = true,
    .kernels = &kernels,
    .run = run,
};
