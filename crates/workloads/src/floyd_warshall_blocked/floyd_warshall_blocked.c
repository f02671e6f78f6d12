// All shortest paths in tiles: few launches, most of the work in local memory.
#include "guest.h"

#include <string.h>

KERNELS(floyd_warshall_blocked);

#define SIDE 16
// Far enough that two of it do not overflow.
#define NO_WAY ((uint32_t)1 << 30)

static void all_pairs(uint32_t *distances, size_t n, size_t steps)
{
    for (size_t k = 0; k < steps; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                uint32_t detour = distances[i * n + k] + distances[k * n + j];
                if (detour < distances[i * n + j])
                    distances[i * n + j] = detour;
            }
}

static void run(const Options *options)
{
    size_t nodes = options->size[0], n = cells(nodes, nodes, 1);
    require(nodes % SIDE == 0, "--size %zu: the number of nodes must be a multiple of 16", nodes);
    size_t pivots = options->iterations ? options->iterations : nodes / SIDE;
    require(pivots <= nodes / SIDE, "--iterations %zu: %zu nodes take %zu steps", pivots, nodes, nodes / SIDE);
    Random random = seeded(58);
    uint32_t *distances = input_array(uint32_t, n), *expected = host_array(uint32_t, n);
    for (size_t cell = 0; cell < n; cell++) {
        bool way = random_below(&random, 8) == 0;
        bool here = cell / nodes == cell % nodes;
        distances[cell] = here ? 0 : way ? 1 + random_below(&random, 1000) : NO_WAY;
    }
    memcpy(expected, distances, n * sizeof *distances);

    region_begin();
    for (size_t k = 0; k < pivots; k++) {
        launch("diagonal", plane(SIDE, SIDE, SIDE, SIDE), svm(distances), u32(nodes), u32(k));
        if (nodes == SIDE)
            break;
        launch("cross_tiles", plane(nodes, 2 * SIDE, SIDE, SIDE), svm(distances), u32(nodes), u32(k));
        launch("other_tiles", plane(nodes, nodes, SIDE, SIDE), svm(distances), u32(nodes), u32(k));
    }
    map_to_read(distances);
    region_end();

    if (!options->check)
        return;
    all_pairs(expected, nodes, pivots * SIDE);
    check_equal("distances", distances, expected, n);
}

const Program floyd_warshall_blocked_program = {
    .name = "floyd-warshall-blocked",
    .about = "finds the lengths of all shortest paths of a map in tiles of 16 x 16",
    .size_means = "nodes, a multiple of 16",
    .tiny = {64},
    .full = {1024},
    .presets = {{"paper-vcache", {512}}, {"scaled-vcache", {256}}},
    .can_stop = true,
    .kernels = &kernels,
    .run = run,
};
