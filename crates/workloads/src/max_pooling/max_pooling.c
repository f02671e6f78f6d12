// Pooling of neural networks: windows that overlap, few comparisons for each input.
#include "guest.h"

#include <math.h>

KERNELS(max_pooling);

typedef struct {
    const float *in;
    float *out;
    size_t height, width, out_height, out_width;
} Planes;

static void pool(void *context, size_t first, size_t end)
{
    const Planes *planes = context;
    float *out = planes->out + first * planes->out_height * planes->out_width;
    for (size_t plane = first; plane < end; plane++)
        for (size_t y = 0; y < planes->out_height; y++)
            for (size_t x = 0; x < planes->out_width; x++) {
                float largest = -INFINITY;
                for (size_t row = 2 * y; row < 2 * y + 3 && row < planes->height; row++)
                    for (size_t column = 2 * x; column < 2 * x + 3 && column < planes->width; column++) {
                        float value = planes->in[(plane * planes->height + row) * planes->width + column];
                        largest = value > largest ? value : largest;
                    }
                *out++ = largest;
            }
}

static void run(const Options *options)
{
    size_t planes = options->size[0], height = options->size[1] ? options->size[1] : 64;
    size_t width = options->size[2] ? options->size[2] : height;
    size_t out_height = (height + 1) / 2, out_width = (width + 1) / 2, n = cells(planes, out_height, out_width);
    Random random = seeded(32);
    const float *in = random_floats(&random, cells(planes, height, width), -1.0f, 1.0f);
    float *out = svm_array(float, n);

    region_begin();
    launch("max_pooling", space(out_width, out_height, planes, 32, 4, 1), svm(in), svm(out), u32(planes), u32(height),
           u32(width));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(in);
    float *expected = host_array(float, n);
    Planes job = {in, expected, height, width, out_height, out_width};
    parallel(planes, 0, pool, &job);
    check_equal("out", out, expected, n);
}

const Program max_pooling_program = {
    .name = "max-pooling",
    .about = "takes the largest of each window of 3 x 3, with windows 2 apart, in many planes",
    .size_means = "PLANESxHEIGHTxWIDTH, or planes of 64 x 64",
    .tiny = {3, 31, 45},
    .full = {64, 150, 170},
    .presets = {{"paper-halcone", {205, 256, 256}}, {"scaled-halcone", {205, 64, 64}}},
    .kernels = &kernels,
    .run = run,
};
