// The matrix Q of a magnetic resonance image: arithmetic alone, with data that all work-items read.
#include "mri.h"

KERNELS(mri_q);

typedef struct {
    const float *k, *phi, *points;
    float *q;
    size_t samples;
} Image;

static void add_points(void *context, size_t first, size_t end)
{
    const Image *image = context;
    for (size_t i = first; i < end; i++) {
        const float *point = image->points + 3 * i;
        for (size_t s = 0; s < image->samples; s++) {
            const float *k = image->k + 3 * s, *phi = image->phi + 2 * s;
            float turn = k[0] * point[0] + k[1] * point[1] + k[2] * point[2], magnitude = phi[0] * phi[0] + phi[1] * phi[1];
            image->q[2 * i] += magnitude * sine_turn(turn + 0.25f);
            image->q[2 * i + 1] += magnitude * sine_turn(turn);
        }
    }
}

static void run(const Options *options)
{
    size_t count = options->size[0], samples = options->size[1] ? options->size[1] : 16;
    require(count <= 1 << 28 && samples <= 1 << 28, "--size %zux%zu: up to 2^28 of each can be computed", count, samples);
    Random random = seeded(61);
    const float *k = random_floats(&random, 3 * samples, -0.5f, 0.5f), *phi = random_floats(&random, 2 * samples, -0.5f, 0.5f);
    const float *points = random_floats(&random, 3 * count, 0.0f, 8.0f);
    float *magnitude = svm_array(float, samples), *q = input_array(float, 2 * count);
    for (size_t i = 0; i < 2 * count; i++)
        q[i] = 0.0f;

    region_begin();
    launch("magnitudes", line(samples, 256), svm(phi), svm(magnitude), u32(samples));
    for (size_t first = 0; first < samples; first += SAMPLES_PER_LAUNCH) {
        size_t end = samples - first < SAMPLES_PER_LAUNCH ? samples : first + SAMPLES_PER_LAUNCH;
        launch("add_q", line(count, 256), svm(k), svm(magnitude), svm(points), svm(q), u32(first), u32(end), u32(count));
    }
    map_to_read(q);
    region_end();

    if (!options->check)
        return;
    map_to_read(k), map_to_read(phi), map_to_read(points);
    float *expected = host_array(float, 2 * count);
    Image job = {k, phi, points, expected, samples};
    parallel(count, 0, add_points, &job);
    check_equal("q", q, expected, 2 * count);
}

const Program mri_q_program = {
    .name = "mri-q",
    .about = "adds up what samples contribute to the matrix Q of a magnetic resonance image",
    .size_means = "POINTSxSAMPLES, or points, and 16 samples",
    .tiny = {70, 260},
    .full = {250000, 16},
    .presets = {{"paper-gmac", {262144, 16384}}, {"scaled-gmac", {32768, 512}}},
    .kernels = &kernels,
    .run = run,
};
