// Coulombic potential: arithmetic alone, with data that all work-items read; a launch for each part of the charges.
#include "guest.h"

#include <math.h>

KERNELS(cp);

#define ATOMS_PER_LAUNCH 128
static const float SPACING = 0.1f;

typedef struct {
    const float *atoms;
    float *potential, *scale;
    size_t width, count;
} Plane;

static void add_rows(void *context, size_t first, size_t end)
{
    const Plane *plane = context;
    for (size_t y = first; y < end; y++)
        for (size_t x = 0; x < plane->width; x++) {
            float sum = 0.0f, scale = 0.0f, px = SPACING * (float)x, py = SPACING * (float)y;
            for (size_t i = 0; i < plane->count; i++) {
                const float *atom = plane->atoms + 4 * i;
                float dx = px - atom[0], dy = py - atom[1];
                float term = atom[3] * (1.0f / sqrtf(dx * dx + dy * dy + atom[2] * atom[2]));
                sum += term;
                scale += fabsf(term);
            }
            plane->potential[y * plane->width + x] = sum;
            plane->scale[y * plane->width + x] = scale;
        }
}

static void run(const Options *options)
{
    size_t width = options->size[0], count = options->size[1] ? options->size[1] : 128, n = cells(width, width, 1);
    Random random = seeded(60);
    float *atoms = input_array(float, 4 * count), *potential = input_array(float, n), side = SPACING * (float)width;
    for (size_t i = 0; i < count; i++) {
        atoms[4 * i] = random_f32(&random, 0.0f, side);
        atoms[4 * i + 1] = random_f32(&random, 0.0f, side);
        atoms[4 * i + 2] = random_f32(&random, 1.0f, 2.0f);
        atoms[4 * i + 3] = random_f32(&random, -0.5f, 0.5f);
    }
    for (size_t i = 0; i < n; i++)
        potential[i] = 0.0f;

    region_begin();
    for (size_t first = 0; first < count; first += ATOMS_PER_LAUNCH) {
        size_t end = count - first < ATOMS_PER_LAUNCH ? count : first + ATOMS_PER_LAUNCH;
        launch("add_potential", plane(width, width, 16, 16), svm(atoms), svm(potential), u32(first), u32(end), u32(width),
               f32(SPACING));
    }
    map_to_read(potential);
    region_end();

    if (!options->check)
        return;
    map_to_read(atoms);
    float *expected = host_array(float, n), *scale = host_array(float, n);
    Plane job = {atoms, expected, scale, width, count};
    parallel(width, 0, add_rows, &job);
    // A reciprocal square root is within 2 ulps; each of the sums may be rounded another way then.
    check_within("potential", potential, expected, scale, 4.0 + (double)count, n);
}

const Program cp_program = {
    .name = "cp",
    .about = "adds up the potential of charges in every point of a plane, some of the charges per launch",
    .size_means = "WIDTHxATOMS: the side of the plane in points, and charges (default 128)",
    .tiny = {20, 150},
    .full = {1024, 128},
    .presets = {{"paper-gmac", {1024, 40000}}, {"scaled-gmac", {512, 2000}}},
    .kernels = &kernels,
    .run = run,
};
