// LU decomposition: launches that shrink step by step, from the whole matrix to one block.
#include "lud.h"

#include <string.h>

KERNELS(lud);

static void run(const Options *options)
{
    size_t side = options->size[0], matrices = options->size[1] ? options->size[1] : 1;
    require(side % BLOCK == 0, "--size %zu: the side must be a multiple of %d", side, BLOCK);
    size_t n = cells(side, side, matrices), blocks = side / BLOCK;
    float *all = random_matrices(side, matrices);
    float *expected = host_array(float, n);
    memcpy(expected, all, n * sizeof(float));

    region_begin();
    for (size_t t = 0; t < blocks; t++) {
        size_t beyond = (blocks - t - 1) * BLOCK;
        launch("factor_diagonal", space(BLOCK, BLOCK, matrices, BLOCK, BLOCK, 1), svm(all), u32(side), u32(t));
        if (beyond == 0)
            break;
        launch("solve_panels", space(beyond, 2 * BLOCK, matrices, BLOCK, BLOCK, 1), svm(all), u32(side), u32(t));
        launch("subtract_products", space(beyond, beyond, matrices, BLOCK, BLOCK, 1), svm(all), u32(side), u32(t));
    }
    map_to_read(all);
    region_end();

    if (!options->check)
        return;
    parallel(matrices, 0, decompose, &(Matrices){expected, side});
    check_equal("factors", all, expected, n);
}

const Program lud_program = {
    .name = "lud",
    .about = "decomposes matrices into lower and upper triangles by 16 x 16 blocks, many at once",
    .size_means = "SIDExMATRICES, or the side of one matrix; sides are a multiple of 16",
    .tiny = {64, 2},
    .small = {80, 1},
    .full = {256, 16},
    .usual = {256, 1},
    .presets = {{"paper-vcache", {256, 1}}, {"scaled-vcache", {128, 1}}},
    .kernels = &kernels,
    .run = run,
};
