// A seven-point stencil over a box: a three-dimensional grid, and steps that read what the last one wrote. With `--variant source` the
// host adds a source to one cell before each step.
#include "guest.h"

#include <string.h>

KERNELS(stencil);

static const float CENTRE = 0.4f, SIDE = 0.1f, SOURCE = 1.0f;

typedef struct {
    const float *in;
    float *out;
    size_t width, height;
} Box;

// The cells of the surface stay as they are.
static void step_layers(void *context, size_t first, size_t end)
{
    const Box *b = context;
    size_t row = b->width, layer = b->width * b->height;
    for (size_t z = first + 1; z < end + 1; z++) {
        for (size_t y = 1; y + 1 < b->height; y++) {
            for (size_t x = 1; x + 1 < b->width; x++) {
                const float *cell = &b->in[z * layer + y * row + x];
                float around = cell[-1] + cell[1] + *(cell - row) + cell[row] + *(cell - layer) + cell[layer];
                b->out[z * layer + y * row + x] = CENTRE * *cell + SIDE * around;
            }
        }
    }
}

static void run(const Options *options)
{
    const size_t *size = options->size;
    size_t width = size[0], height = size[1] ? size[1] : width, depth = size[2] ? size[2] : height;
    size_t n = cells(width, height, depth);
    require(width % 32 == 0 && height % 4 == 0 && depth % 2 == 0,
            "--size %zux%zux%zu: multiples of 32, 4 and 2 are needed", width, height, depth);
    Random random = seeded(20);
    float *now = random_floats(&random, n, 0.0f, 1.0f), *next = svm_array(float, n);

    size_t centre = (depth / 2 * height + height / 2) * width + width / 2;
    float *expected = host_array(float, n), *scratch = host_array(float, n);
    if (options->check) {
        memcpy(expected, now, n * sizeof(float));
        memcpy(scratch, now, n * sizeof(float));
    }

    region_begin();
    for (unsigned i = 0; i < options->iterations; i++) {
        if (options->variant) {
            map_to_update(now);
            now[centre] += SOURCE;
            unmap(now);
        }
        launch("stencil", space(width, height, depth, 32, 4, 2), svm(now), svm(next), f32(CENTRE), f32(SIDE));
        float *last = now;
        now = next;
        next = last;
    }
    map_to_read(now);
    region_end();

    if (!options->check)
        return;
    for (unsigned i = 0; i < options->iterations; i++) {
        if (options->variant)
            expected[centre] += SOURCE;
        parallel(depth - 2, 0, step_layers, &(Box){expected, scratch, width, height});
        float *last = expected;
        expected = scratch;
        scratch = last;
    }
    check_equal("field", now, expected, n);
}

const Program stencil_program = {
    .name = "stencil",
    .about = "applies a seven-point stencil to a box, again and again",
    .size_means = "WIDTHxHEIGHTxDEPTH, multiples of 32, 4 and 2",
    .tiny = {32, 12, 6},
    .full = {128, 96, 64},
    .presets = {{"paper-gmac", {256, 256, 256}}, {"scaled-gmac", {128, 128, 128}}},
    .iterations = 4,
    .variant = "source",
    .variant_means = "the host adds a source to one cell before each step",
    .kernels = &kernels,
    .run = run,
};
