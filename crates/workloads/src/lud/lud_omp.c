// LU decomposition by the CPU alone, by blocks: a step factors the block on the diagonal, then solves for the blocks of
// its row and its column, then takes their products from all others. OpenMP shares out the blocks of the last two.
#include "lud.h"

#include <string.h>

typedef struct {
    float *matrix;
    size_t side;
} Blocks;

static float *block_at(const Blocks *b, size_t y, size_t x) { return b->matrix + (y * b->side + x) * BLOCK; }

static void factor_diagonal(const Blocks *b, size_t t)
{
    float *block = block_at(b, t, t);
    for (size_t k = 0; k < BLOCK; k++)
        for (size_t y = k + 1; y < BLOCK; y++) {
            float factor = block[y * b->side + k] /= block[k * b->side + k];
            for (size_t x = k + 1; x < BLOCK; x++)
                block[y * b->side + x] -= factor * block[k * b->side + x];
        }
}

// A block of the row: what is above each of its rows is known by then.
static void solve_row(const Blocks *b, size_t t, size_t x_block)
{
    const float *diagonal = block_at(b, t, t);
    float *block = block_at(b, t, x_block);
    for (size_t k = 0; k < BLOCK; k++)
        for (size_t y = k + 1; y < BLOCK; y++)
            for (size_t x = 0; x < BLOCK; x++)
                block[y * b->side + x] -= diagonal[y * b->side + k] * block[k * b->side + x];
}

static void solve_column(const Blocks *b, size_t t, size_t y_block)
{
    const float *diagonal = block_at(b, t, t);
    float *block = block_at(b, y_block, t);
    for (size_t y = 0; y < BLOCK; y++)
        for (size_t k = 0; k < BLOCK; k++) {
            float factor = block[y * b->side + k] /= diagonal[k * b->side + k];
            for (size_t x = k + 1; x < BLOCK; x++)
                block[y * b->side + x] -= factor * diagonal[k * b->side + x];
        }
}

static void subtract_product(const Blocks *b, size_t t, size_t y_block, size_t x_block)
{
    const float *left = block_at(b, y_block, t), *above = block_at(b, t, x_block);
    float *block = block_at(b, y_block, x_block);
    for (size_t y = 0; y < BLOCK; y++)
        for (size_t k = 0; k < BLOCK; k++)
            for (size_t x = 0; x < BLOCK; x++)
                block[y * b->side + x] -= left[y * b->side + k] * above[k * b->side + x];
}

static void decompose_by_blocks(const Blocks *b)
{
    size_t blocks = b->side / BLOCK;
    for (size_t t = 0; t < blocks; t++) {
        factor_diagonal(b, t);
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (size_t i = t + 1; i < blocks; i++) {
                solve_row(b, t, i);
                solve_column(b, t, i);
            }
#pragma omp for schedule(static) collapse(2)
            for (size_t y = t + 1; y < blocks; y++)
                for (size_t x = t + 1; x < blocks; x++)
                    subtract_product(b, t, y, x);
        }
    }
}

static void run(const Options *options)
{
    size_t side = options->size[0], matrices = options->size[1] ? options->size[1] : 1;
    require(side % BLOCK == 0, "--size %zu: the side must be a multiple of %d", side, BLOCK);
    size_t n = cells(side, side, matrices);
    float *all = random_matrices(side, matrices), *expected = host_array(float, n);
    memcpy(expected, all, n * sizeof(float));

    region_begin();
    for (size_t i = 0; i < matrices; i++)
        decompose_by_blocks(&(Blocks){all + i * side * side, side});
    region_end();

    if (!options->check)
        return;
    decompose(&(Matrices){expected, side}, 0, matrices);
    check_equal("factors", all, expected, n);
}

const Program lud_omp_program = {
    .name = "lud-omp",
    .about = "decomposes matrices into lower and upper triangles; the 16 x 16 blocks of a step are shared out",
    .size_means = "SIDExMATRICES, or the side of one matrix; sides are a multiple of 16",
    .tiny = {64, 2},
    .small = {80, 1},
    .usual = {256, 1},
    .run = run,
};
