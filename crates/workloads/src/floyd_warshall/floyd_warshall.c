// All shortest paths after Floyd and Warshall: one launch per node, each over the whole matrix.
#include "guest.h"

#include <string.h>

KERNELS(floyd_warshall);

// Far enough that two of it do not overflow.
#define NO_WAY ((uint32_t)1 << 30)

typedef struct {
    uint32_t *distances, *first_hops;
    size_t nodes, steps;
} Maps;

static void all_pairs(void *context, size_t first, size_t end)
{
    const Maps *maps = context;
    size_t n = maps->nodes;
    for (size_t map = first; map < end; map++) {
        uint32_t *distances = maps->distances + map * n * n, *hops = maps->first_hops + map * n * n;
        for (size_t k = 0; k < maps->steps; k++)
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    uint32_t detour = distances[i * n + k] + distances[k * n + j];
                    if (detour < distances[i * n + j]) {
                        distances[i * n + j] = detour;
                        hops[i * n + j] = hops[i * n + k];
                    }
                }
    }
}

static void run(const Options *options)
{
    size_t nodes = options->size[0], maps = options->size[1] ? options->size[1] : 1;
    require(nodes % 64 == 0, "--size %zu: the number of nodes must be a multiple of 64", nodes);
    size_t n = cells(nodes, nodes, maps), steps = options->iterations ? options->iterations : nodes;
    require(steps <= nodes, "--iterations %zu: a map of %zu nodes takes %zu steps", steps, nodes, nodes);
    Random random = seeded(10);
    uint32_t *distances = input_array(uint32_t, n), *hops = input_array(uint32_t, n);
    Maps expected = {host_array(uint32_t, n), host_array(uint32_t, n), nodes, steps};
    for (size_t cell = 0; cell < n; cell++) {
        bool way = random_below(&random, 8) == 0;
        bool here = cell / nodes % nodes == cell % nodes;
        distances[cell] = here ? 0 : way ? 1 + random_below(&random, 1000) : NO_WAY;
        hops[cell] = (uint32_t)(cell % nodes);
    }
    memcpy(expected.distances, distances, n * sizeof *distances);
    memcpy(expected.first_hops, hops, n * sizeof *hops);

    region_begin();
    for (size_t k = 0; k < steps; k++)
        launch_with(options->variant ? "through_columns" : "through",
                    options->variant ? space(nodes, nodes, maps, 16, 16, 1) : space(nodes, nodes, maps, 64, 2, 1),
                    (Arg[]){svm(distances), svm(hops), u32(nodes), u32(k)}, 4);
    map_to_read(distances), map_to_read(hops);
    region_end();

    if (!options->check)
        return;
    parallel(maps, 0, all_pairs, &expected);
    check_equal("distances", distances, expected.distances, n);
    check_equal("first hops", hops, expected.first_hops, n);
}

const Program floyd_warshall_program = {
    .name = "floyd-warshall",
    .about = "finds all shortest paths and their first hops in many maps at once",
    .size_means = "NODESxMAPS, or the nodes of one map; nodes are a multiple of 64",
    .tiny = {64, 1},
    .full = {128, 32},
    .presets = {{"paper-halcone", {2048, 1}},
                {"scaled-halcone", {512, 1}},
                {"paper-umh", {256, 1}},
                {"scaled-umh", {64, 1}},
                {"paper-vcache", {512, 1}},
                {"scaled-vcache", {256, 1}}},
    .can_stop = true,
    .variant = "columns",
    .variant_means = "neighbouring work-items have neighbouring rows: accesses are scattered",
    .kernels = &kernels,
    .run = run,
};
