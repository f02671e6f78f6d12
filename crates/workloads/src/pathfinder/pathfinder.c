// The cheapest paths through a grid: a few rows for each launch, in local memory.
#include "guest.h"

#include <string.h>

KERNELS(pathfinder);

#define GROUP 256
#define ROWS_PER_LAUNCH 20

static void run(const Options *options)
{
    size_t columns = options->size[0], rows = options->size[1] ? options->size[1] : 100;
    size_t n = cells(columns, rows, 1);
    Random random = seeded(57);
    uint32_t *costs = input_array(uint32_t, n), *paths[2] = {input_array(uint32_t, columns), svm_array(uint32_t, columns)};
    for (size_t i = 0; i < n; i++)
        costs[i] = random_below(&random, 10);
    memcpy(paths[0], costs, columns * sizeof *costs);

    region_begin();
    size_t turn = 0;
    for (size_t first = 1; first < rows; first += ROWS_PER_LAUNCH, turn ^= 1) {
        size_t some = rows - first < ROWS_PER_LAUNCH ? rows - first : ROWS_PER_LAUNCH, width = GROUP - 2 * some;
        launch("path_rows", line((columns + width - 1) / width * GROUP, GROUP), svm(costs), svm(paths[turn]),
               svm(paths[turn ^ 1]), i32((int)columns), i32((int)first), i32((int)some));
    }
    map_to_read(paths[turn]);
    region_end();

    if (!options->check)
        return;
    map_to_read(costs);
    uint32_t *best = host_array(uint32_t, columns), *next = host_array(uint32_t, columns);
    memcpy(best, costs, columns * sizeof *costs);
    for (size_t row = 1; row < rows; row++) {
        for (size_t x = 0; x < columns; x++) {
            uint32_t least = best[x];
            if (x > 0 && best[x - 1] < least)
                least = best[x - 1];
            if (x + 1 < columns && best[x + 1] < least)
                least = best[x + 1];
            next[x] = least + costs[row * columns + x];
        }
        uint32_t *swap = best;
        best = next, next = swap;
    }
    check_equal("paths", paths[turn], best, columns);
}

const Program pathfinder_program = {
    .name = "pathfinder",
    .about = "finds the cheapest paths down a grid of costs, twenty rows per launch",
    .size_means = "COLUMNSxROWS, or columns of 100 rows",
    .tiny = {600, 45},
    .full = {40000, 100},
    .presets = {{"paper-vcache", {100000, 100}}, {"scaled-vcache", {25000, 100}}},
    .kernels = &kernels,
    .run = run,
};
