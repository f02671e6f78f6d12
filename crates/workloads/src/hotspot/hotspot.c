// Heat on a chip: a five-point stencil with two inputs, again and again.
#include "guest.h"

#include <string.h>

KERNELS(hotspot);

static const float HEATING = 0.5f, ALONG_X = 0.1f, ALONG_Y = 0.15f, TO_AMBIENT = 0.0005f, AMBIENT = 80.0f;

typedef struct {
    const float *in, *power;
    float *out;
    size_t width, height;
} Chip;

static void step_rows(void *context, size_t first, size_t end)
{
    const Chip *c = context;
    size_t width = c->width;
    for (size_t y = first; y < end; y++) {
        for (size_t x = 0; x < width; x++) {
            const float *cell = c->in + y * width + x;
            float centre = *cell;
            float west = x > 0 ? cell[-1] : centre, east = x < width - 1 ? cell[1] : centre;
            float north = y > 0 ? *(cell - width) : centre, south = y < c->height - 1 ? cell[width] : centre;
            float change = HEATING * c->power[y * width + x];
            change += ALONG_X * (west + east - 2.0f * centre);
            change += ALONG_Y * (north + south - 2.0f * centre);
            change += TO_AMBIENT * (AMBIENT - centre);
            c->out[y * width + x] = centre + change;
        }
    }
}

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
    .full = {900, 700},
    .iterations = 4,
    .kernels = &kernels,
    .run = run,
};
