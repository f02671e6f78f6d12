// Prefix sums: work-efficient trees in local memory, and a host that recurses over their totals.
#include "guest.h"

KERNELS(scan);

#define GROUP 128
#define BLOCK (2 * GROUP)

// Scans blocks, then their totals, then adds these to the blocks.
static uint32_t *scan(const uint32_t *in, size_t n)
{
    size_t blocks = (n + BLOCK - 1) / BLOCK;
    uint32_t *out = svm_array(uint32_t, n), *totals = svm_array(uint32_t, blocks);
    launch("scan_blocks", line(blocks * GROUP, GROUP), svm(in), svm(out), svm(totals), u32(n));
    if (blocks > 1)
        launch("add_offsets", line(n, 256), svm(out), svm(scan(totals, blocks)), u32(n));
    return out;
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    Random random = seeded(5);
    const uint32_t *numbers = random_words(&random, n);

    region_begin();
    const uint32_t *out = scan(numbers, n);
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(numbers);
    uint32_t *expected = host_array(uint32_t, n);
    for (size_t i = 1; i < n; i++)
        expected[i] = expected[i - 1] + numbers[i - 1];
    check_equal("out", out, expected, n);
}

const Program scan_program = {
    .name = "scan",
    .about = "computes exclusive prefix sums of integers",
    .size_means = "elements",
    .tiny = {1500},
    .full = {(1 << 20) + 555},
    .presets = {{"paper-umh", {1 << 21}}, {"scaled-umh", {1 << 17}}},
    .kernels = &kernels,
    .run = run,
};
