// Bitonic sort: many launches over the same data, 64-bit keys, local memory for the short distances.
#include "guest.h"

#include <stdlib.h>
#include <string.h>

KERNELS(bitonic_sort);

#define GROUP 256
#define BLOCK (2 * GROUP)

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    require(n >= BLOCK && (n & (n - 1)) == 0, "--size %zu: a power of two of at least %d is needed", n, BLOCK);
    Random random = seeded(6);
    uint64_t *keys = input_array(uint64_t, n), *expected = host_array(uint64_t, n);
    for (size_t i = 0; i < n; i++)
        keys[i] = expected[i] = random_u64(&random);

    region_begin();
    Range range = line(n / 2, GROUP);
    launch("compare_local", range, svm(keys), u32(2), u32(BLOCK));
    for (size_t run_length = 2 * BLOCK; run_length <= n; run_length *= 2) {
        for (size_t distance = run_length / 2; distance >= BLOCK; distance /= 2)
            launch("compare_global", range, svm(keys), u32(run_length), u32(distance));
        launch("compare_local", range, svm(keys), u32(run_length), u32(run_length));
    }
    map_to_read(keys);
    region_end();

    if (!options->check)
        return;
    qsort(expected, n, sizeof *expected, by_value);
    check_equal("keys", keys, expected, n);
}

const Program bitonic_sort_program = {
    .name = "bitonic-sort",
    .about = "sorts 64-bit keys with a bitonic network",
    .size_means = "keys, a power of two",
    .tiny = {2048},
    .full = {1 << 19},
    .presets = {{"paper-halcone", {1 << 23}}, {"scaled-halcone", {1 << 19}}},
    .kernels = &kernels,
    .run = run,
};
