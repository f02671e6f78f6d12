// Sequence alignment after Needleman and Wunsch: a wave of dependences, and workgroups smaller than a wavefront.
#include "needleman_wunsch.h"

KERNELS(needleman_wunsch);

static void run(const Options *options)
{
    size_t n = options->size[0], blocks = n / BLOCK, count = cells(n + 1, n + 1, 1);
    require(n % BLOCK == 0, "--size %zu: the number of letters must be a multiple of %d", n, BLOCK);
    Random random = seeded(19);
    const int32_t *matches = random_matches(&random, n);
    int32_t *scores = input_array(int32_t, count);
    set_borders(scores, n);

    region_begin();
    for (size_t diagonal = 0; diagonal < 2 * blocks - 1; diagonal++) {
        size_t first = diagonal + 1 > blocks ? diagonal + 1 - blocks : 0;
        size_t last = diagonal < blocks ? diagonal : blocks - 1;
        launch("align_diagonal", line((last - first + 1) * BLOCK, BLOCK), svm(scores), svm(matches), u32(n),
               u32(diagonal), u32(first), i32(PENALTY));
    }
    map_to_read(scores);
    region_end();

    if (!options->check)
        return;
    map_to_read(matches);
    int32_t *expected = host_array(int32_t, count);
    set_borders(expected, n);
    align(expected, matches, n);
    check_equal("scores", scores, expected, count);
}

const Program needleman_wunsch_program = {
    .name = "needleman-wunsch",
    .about = "scores the alignments of two sequences, one launch per diagonal of blocks",
    .size_means = "letters of each sequence, a multiple of 16",
    .tiny = {64},
    .small = {192},
    .full = {1024},
    .usual = {2048},
    .presets = {{"paper-vcache", {2048}}, {"scaled-vcache", {1024}}},
    .kernels = &kernels,
    .run = run,
};
