// A radix sort: eight passes over all keys, each of which scatters them.
#include "guest.h"

#include <string.h>

KERNELS(radix_sort);

#define GROUP 64
#define RUN 32
#define DIGITS 16
#define BLOCK 256
#define MAX_LEVELS 4

// The counts of all digits, the totals of their blocks, the totals of those, and so on.
typedef struct {
    uint32_t *counts;
    size_t length;
} Level;

// Prefix sums of the first level, by way of those below it.
static void scan(const Level *level)
{
    launch("scan_blocks", line(level->length, BLOCK), svm(level->counts), svm(level[1].counts), u32(level->length));
    if (level->length <= BLOCK)
        return;
    scan(level + 1);
    launch("add_totals", line(level->length, BLOCK), svm(level->counts), svm(level[1].counts), u32(level->length));
}

// The reference sorts by bytes, not by the GPU's digits.
static void sort(uint32_t *keys, size_t n)
{
    uint32_t *other = host_array(uint32_t, n);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < n; i++)
            starts[(keys[i] >> shift & 255) + 1]++;
        for (size_t digit = 0; digit < 256; digit++)
            starts[digit + 1] += starts[digit];
        for (size_t i = 0; i < n; i++)
            other[starts[keys[i] >> shift & 255]++] = keys[i];
        memcpy(keys, other, n * sizeof *keys);
    }
}

static void run(const Options *options)
{
    size_t n = options->size[0], items = (n + RUN - 1) / RUN;
    require(n <= 1 << 28, "--size %zu: up to 2^28 keys can be sorted", n);
    Random random = seeded(35);
    uint32_t *keys = random_words(&random, n), *sorted = svm_array(uint32_t, n);
    uint32_t *expected = host_array(uint32_t, n);
    memcpy(expected, keys, n * sizeof *keys);
    Level levels[MAX_LEVELS + 1];
    for (size_t i = 0, length = DIGITS * items; i <= MAX_LEVELS; i++, length = (length + BLOCK - 1) / BLOCK)
        levels[i] = (Level){svm_array(uint32_t, length), length};

    region_begin();
    for (unsigned shift = 0; shift < 32; shift += 4) {
        launch("count_digits", line(items, GROUP), svm(keys), svm(levels->counts), u32(n), u32(items), u32(shift));
        scan(levels);
        launch("permute", line(items, GROUP), svm(keys), svm(sorted), svm(levels->counts), u32(n), u32(items), u32(shift));
        uint32_t *swap = keys;
        keys = sorted, sorted = swap;
    }
    map_to_read(keys);
    region_end();

    if (!options->check)
        return;
    sort(expected, n);
    check_equal("keys", keys, expected, n);
}

const Program radix_sort_program = {
    .name = "radix-sort",
    .about = "sorts 32-bit keys by four bits at a time",
    .size_means = "keys",
    .tiny = {700},
    .full = {(1 << 19) + 77},
    .presets = {{"paper-umh", {1 << 21}}, {"scaled-umh", {1 << 17}}},
    .kernels = &kernels,
    .run = run,
};
