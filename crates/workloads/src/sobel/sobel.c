// Sobel's filter: reuse between neighbours, on bytes, several times over.
#include "guest.h"

#include <stdlib.h>
#include <string.h>

KERNELS(sobel);

#define COLOURS 4

static void filter(const uint8_t *in, uint8_t *out, size_t width, size_t height)
{
    size_t row = COLOURS * width;
    memset(out, 0, row * height);
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t i = y * row + COLOURS; i < (y + 1) * row - COLOURS; i++) {
            const uint8_t *above = in + i - row, *here = in + i, *below = in + i + row;
            int across = 0, down = 0;
            across += above[COLOURS] + 2 * here[COLOURS] + below[COLOURS];
            across -= above[-COLOURS] + 2 * here[-COLOURS] + below[-COLOURS];
            down += below[-COLOURS] + 2 * below[0] + below[COLOURS];
            down -= above[-COLOURS] + 2 * above[0] + above[COLOURS];
            int size = (abs(across) + abs(down)) / 2;
            out[i] = (uint8_t)(size > 255 ? 255 : size);
        }
}

static void run(const Options *options)
{
    size_t width = options->size[0], height = options->size[1] ? options->size[1] : width;
    size_t bytes = cells(width, height, COLOURS);
    Random random = seeded(36);
    uint8_t *images[2] = {input_array(uint8_t, bytes), svm_array(uint8_t, bytes)};
    uint8_t *expected[2] = {host_array(uint8_t, bytes), host_array(uint8_t, bytes)};
    for (size_t i = 0; i < bytes; i++)
        images[0][i] = expected[0][i] = (uint8_t)(random_u32(&random) >> 24);

    region_begin();
    for (unsigned i = 0; i < options->iterations; i++)
        launch("sobel", plane(width, height, 256, 1), svm(images[i % 2]), svm(images[(i + 1) % 2]), u32(width), u32(height));
    uint8_t *result = images[options->iterations % 2];
    map_to_read(result);
    region_end();

    if (!options->check)
        return;
    for (unsigned i = 0; i < options->iterations; i++)
        filter(expected[i % 2], expected[(i + 1) % 2], width, height);
    check_equal("edges", result, expected[options->iterations % 2], bytes);
}

const Program sobel_program = {
    .name = "sobel",
    .about = "finds the edges of an image of four colours with Sobel's filter, then those of the result",
    .size_means = "WIDTHxHEIGHT in pixels, or the side of a square",
    .tiny = {61, 35},
    .full = {1000, 700},
    .presets = {{"paper-umh", {1024, 768}}, {"scaled-umh", {256, 192}}},
    .iterations = 3,
    .kernels = &kernels,
    .run = run,
};
