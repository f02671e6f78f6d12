// Angles between points of the sky: the host makes its input in several passes; counts in local memory.
#include "guest.h"

#include <math.h>

KERNELS(tpacf);

#define GROUP 64
#define BINS 20

// Coordinate by coordinate, as when a catalogue's columns are read one by one, and then all once more.
static float *random_points(Random *random, size_t count)
{
    float *points = input_array(float, 3 * count);
    for (size_t axis = 0; axis < 3; axis++)
        for (size_t i = 0; i < count; i++)
            points[3 * i + axis] = random_f32(random, -0.5f, 0.5f);
    for (size_t i = 0; i < count; i++) {
        float *p = points + 3 * i, length = sqrtf(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        for (size_t axis = 0; axis < 3; axis++)
            p[axis] /= length > 1e-6f ? length : 1e-6f;
    }
    return points;
}

typedef struct {
    const float *points, *bounds;
    uint32_t *counts;
    size_t count;
} Sky;

static void count_sets(void *context, size_t first, size_t end)
{
    const Sky *sky = context;
    for (size_t set = first; set < end; set++)
        for (size_t i = 0; i < sky->count; i++)
            for (size_t j = 0; j < sky->count; j++) {
                const float *a = sky->points + 3 * i, *b = sky->points + 3 * (set * sky->count + j);
                float cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                size_t bin = 0;
                while (bin < BINS - 1 && cosine < sky->bounds[bin])
                    bin++;
                sky->counts[set * BINS + bin]++;
            }
}

static void run(const Options *options)
{
    size_t count = options->size[0], sets = options->size[1] ? options->size[1] : 10;
    Random random = seeded(65);
    const float *points = random_points(&random, cells(count, sets, 1));
    float *bounds = input_array(float, BINS);
    uint32_t *counts = input_array(uint32_t, BINS * sets);
    for (size_t bin = 0; bin < BINS; bin++)
        bounds[bin] = 1.0f - 2.0f * (float)(bin + 1) / BINS;
    for (size_t i = 0; i < BINS * sets; i++)
        counts[i] = 0;

    region_begin();
    launch("count_angles", plane(count, sets, GROUP, 1), svm(points), svm(bounds), svm(counts), u32(count));
    map_to_read(counts);
    region_end();

    if (!options->check)
        return;
    map_to_read(points), map_to_read(bounds);
    uint32_t *expected = host_array(uint32_t, BINS * sets);
    Sky job = {points, bounds, expected, count};
    parallel(sets, 0, count_sets, &job);
    check_equal("counts", counts, expected, BINS * sets);
}

const Program tpacf_program = {
    .name = "tpacf",
    .about = "counts the angles between a set of points of the sky and many others, in bins",
    .size_means = "POINTSxSETS, or points of 10 sets",
    .tiny = {60, 4},
    .full = {128, 2800},
    .presets = {{"paper-gmac", {4096, 100}}, {"scaled-gmac", {1024, 10}}},
    .kernels = &kernels,
    .run = run,
};
