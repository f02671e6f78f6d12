// Heat on a chip by the CPU alone: OpenMP shares out the rows of each step.
#include "hotspot.h"

#include <string.h>

static void step(const Chip *chip)
{
#pragma omp parallel for schedule(static)
    for (size_t y = 0; y < chip->height; y++)
        step_rows((void *)chip, y, y + 1);
}

static void exchange(float **a, float **b)
{
    float *before = *a;
    *a = *b;
    *b = before;
}

static void run(const Options *options)
{
    size_t width = options->size[0], height = options->size[1] ? options->size[1] : width;
    size_t n = cells(width, height, 1);
    Random random = seeded(24);
    float *now = random_floats(&random, n, 320.0f, 350.0f), *next = host_array(float, n);
    const float *power = random_floats(&random, n, 0.0f, 1.0f);
    float *expected = host_array(float, n), *scratch = host_array(float, n);
    memcpy(expected, now, n * sizeof(float));

    region_begin();
    for (unsigned i = 0; i < options->iterations; i++) {
        step(&(Chip){now, power, next, width, height});
        exchange(&now, &next);
    }
    region_end();

    if (!options->check)
        return;
    for (unsigned i = 0; i < options->iterations; i++) {
        step_rows(&(Chip){expected, power, scratch, width, height}, 0, height);
        exchange(&expected, &scratch);
    }
    check_equal("temperatures", now, expected, n);
}

const Program hotspot_omp_program = {
    .name = "hotspot-omp",
    .about = "follows the temperatures of a chip; the rows of each step are shared out",
    .size_means = "WIDTHxHEIGHT in cells, or the side of a square",
    .tiny = {60, 35},
    .small = {96, 96},
    .usual = {512, 512},
    .iterations = 4,
    .run = run,
};
