// The cosine transform of JPEG: small independent blocks in local memory.
#include "guest.h"

#include <math.h>

KERNELS(dct);

#define BLOCK 8

// The orthonormal matrix of the transform, row by row.
static float *cosine_matrix(void)
{
    float *matrix = input_array(float, BLOCK * BLOCK);
    for (int row = 0; row < BLOCK; row++)
        for (int column = 0; column < BLOCK; column++) {
            double scale = row == 0 ? sqrt(1.0 / 8.0) : 0.5;
            matrix[row * BLOCK + column] = (float)(scale * cos((2 * column + 1) * row * 3.14159265358979323846 / 16.0));
        }
    return matrix;
}

typedef struct {
    const float *in, *cosines;
    float *out;
    size_t side;
} Image;

static void transform_block(const Image *image, const float *in, float *out)
{
    const float *cosines = image->cosines;
    size_t side = image->side;
    float half_done[BLOCK][BLOCK] = {{0}};
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++)
            for (int k = 0; k < BLOCK; k++)
                half_done[y][x] += cosines[y * BLOCK + k] * in[(size_t)k * side + (size_t)x];
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++) {
            float sum = 0.0f;
            for (int k = 0; k < BLOCK; k++)
                sum += half_done[y][k] * cosines[x * BLOCK + k];
            out[(size_t)y * side + (size_t)x] = sum;
        }
}

static void transform_rows(void *context, size_t first, size_t end)
{
    const Image *image = context;
    for (size_t top = first * BLOCK; top < end * BLOCK; top += BLOCK)
        for (size_t left = 0; left < image->side; left += BLOCK) {
            size_t corner = top * image->side + left;
            transform_block(image, image->in + corner, image->out + corner);
        }
}

static void run(const Options *options)
{
    size_t side = options->size[0], n = cells(side, side, 1);
    require(side % BLOCK == 0, "--size %zu: the side must be a multiple of %d", side, BLOCK);
    Random random = seeded(16);
    const float *image = random_floats(&random, n, -128.0f, 128.0f);
    const float *cosines = cosine_matrix();
    float *out = svm_array(float, n);

    region_begin();
    launch("dct", plane(side, side, BLOCK, BLOCK), svm(image), svm(out), svm(cosines), u32(side));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(image), map_to_read(cosines);
    float *expected = host_array(float, n);
    parallel(side / BLOCK, 0, transform_rows, &(Image){image, cosines, expected, side});
    check_equal("out", out, expected, n);
}

const Program dct_program = {
    .name = "dct",
    .about = "transforms every 8 x 8 block of an image by cosines",
    .size_means = "the side of the image in pixels, a multiple of 8",
    .tiny = {64},
    .full = {1024},
    .presets = {{"paper-umh", {1024}}, {"scaled-umh", {256}}},
    .kernels = &kernels,
    .run = run,
};
