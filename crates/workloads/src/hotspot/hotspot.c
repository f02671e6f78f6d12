// Heat on a chip: a five-point stencil with two inputs, again and again.
#include "hotspot.h"

#include <string.h>

KERNELS(hotspot);

static void run(const Options *options)
{
    size_t width = options->size[0], height = options->size[1] ? options->size[1] : width;
    size_t n = cells(width, height, 1);
    Random random = seeded(24);
    float *now = random_floats(&random, n, 320.0f, 350.0f), *next = svm_array(float, n);
    const float *power = random_floats(&random, n, 0.0f, 1.0f);
    float *expected = host_array(float, n), *scratch = host_array(float, n);
    memcpy(expected, now, n * sizeof(float));

    region_begin();
    for (unsigned i = 0; i < options->iterations; i++) {
        launch("hotspot", plane(width, height, 32, 8), svm(now), svm(power), svm(next), u32(width), u32(height),
               f32(HEATING), f32(ALONG_X), f32(ALONG_Y), f32(TO_AMBIENT), f32(AMBIENT));
        float *last = now;
        now = next;
        next = last;
    }
    map_to_read(now);
    region_end();

    if (!options->check)
        return;
    map_to_read(power);
    for (unsigned i = 0; i < options->iterations; i++) {
        parallel(height, 0, step_rows, &(Chip){expected, power, scratch, width, height});
        float *last = expected;
        expected = scratch;
        scratch = last;
    }
    check_equal("temperatures", now, expected, n);
}

const Program hotspot_program = {
    .name = "hotspot",
    .about = "follows the temperatures of a chip, again and again",
    .size_means = "WIDTHxHEIGHT in cells, or the side of a square",
    .tiny = {60, 35},
    .small = {96, 96},
    .full = {900, 700},
    .usual = {512, 512},
    .presets = {{"paper-vcache", {512, 512}}, {"scaled-vcache", {256, 256}}},
    .iterations = 4,
    .kernels = &kernels,
    .run = run,
};
