// Sequence alignment by the CPU alone: OpenMP shares out the blocks of each diagonal, which need those before it.
#include "needleman_wunsch.h"

static void align_block(int32_t *scores, const int32_t *matches, size_t n, size_t first_y, size_t first_x)
{
    size_t stride = n + 1;
    for (size_t y = first_y; y < first_y + BLOCK; y++)
        for (size_t x = first_x; x < first_x + BLOCK; x++) {
            int32_t *score = scores + (y + 1) * stride + x + 1;
            int32_t gap = max(score[-1], *(score - stride));
            *score = max(*(score - stride - 1) + matches[y * n + x], gap - PENALTY);
        }
}

static void run(const Options *options)
{
    size_t n = options->size[0], blocks = n / BLOCK, count = cells(n + 1, n + 1, 1);
    require(n % BLOCK == 0, "--size %zu: the number of letters must be a multiple of %d", n, BLOCK);
    Random random = seeded(19);
    const int32_t *matches = random_matches(&random, n);
    int32_t *scores = host_array(int32_t, count);
    set_borders(scores, n);

    region_begin();
    for (size_t diagonal = 0; diagonal < 2 * blocks - 1; diagonal++) {
        size_t first = diagonal + 1 > blocks ? diagonal + 1 - blocks : 0;
        size_t last = diagonal < blocks ? diagonal : blocks - 1;
#pragma omp parallel for schedule(static)
        for (size_t y = first; y <= last; y++)
            align_block(scores, matches, n, y * BLOCK, (diagonal - y) * BLOCK);
    }
    region_end();

    if (!options->check)
        return;
    int32_t *expected = host_array(int32_t, count);
    set_borders(expected, n);
    align(expected, matches, n);
    check_equal("scores", scores, expected, count);
}

const Program needleman_wunsch_omp_program = {
    .name = "needleman-wunsch-omp",
    .about = "scores the alignments of two sequences; the blocks of each diagonal are shared out",
    .size_means = "letters of each sequence, a multiple of 16",
    .tiny = {64},
    .small = {192},
    .usual = {2048},
    .run = run,
};
