// A histogram: atomic operations in local memory, most of them on a few bins, then in global memory.
#include "guest.h"

#include <string.h>

KERNELS(histogram);

#define BINS 256
// Words of four bytes that a workgroup counts.
#define PIECE (16 * BINS)

static void run(const Options *options)
{
    size_t n = options->size[0], words = n / 4;
    require(n % 4 == 0, "--size %zu: the number of bytes must be a multiple of 4", n);
    // With rows each workgroup has one for itself.
    size_t pieces = (words + PIECE - 1) / PIECE, rows = options->variant ? pieces : 1;
    Random random = seeded(12);
    uint8_t *bytes = input_array(uint8_t, n);
    uint32_t *counts = input_array(uint32_t, rows * BINS);
    // The smaller of two random bytes: low values are much more frequent than high ones.
    for (size_t i = 0; i < n; i++) {
        uint32_t word = random_u32(&random);
        uint8_t a = (uint8_t)(word >> 8), b = (uint8_t)(word >> 24);
        bytes[i] = a < b ? a : b;
    }
    memset(counts, 0, rows * BINS * sizeof *counts);

    region_begin();
    if (options->variant)
        launch("histogram_rows", line(pieces * BINS, BINS), svm(bytes), svm(counts), u32(words), u32(PIECE));
    else
        launch("histogram", line(words < 16 ? 1 : words / 16, BINS), svm(bytes), svm(counts), u32(words));
    map_to_read(counts);
    region_end();

    if (!options->check)
        return;
    map_to_read(bytes);
    uint32_t sums[BINS] = {0}, expected[BINS] = {0};
    for (size_t i = 0; i < rows * BINS; i++)
        sums[i % BINS] += counts[i];
    for (size_t i = 0; i < n; i++)
        expected[bytes[i]]++;
    check_equal("counts", sums, expected, BINS);
}

const Program histogram_program = {
    .name = "histogram",
    .about = "counts how often each byte occurs, by atomic operations",
    .size_means = "bytes, a multiple of 4",
    .tiny = {8000},
    .full = {1 << 24},
    .presets = {{"paper-umh", {2048 * 2048}}, {"scaled-umh", {512 * 512}}},
    .variant = "rows",
    .variant_means = "each workgroup counts a piece that lies together, into a row of its own, and the host adds the rows",
    .kernels = &kernels,
    .run = run,
};
