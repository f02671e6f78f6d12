// The one-dimensional Haar transform: streaming, and ever fewer numbers from launch to launch.
#include "guest.h"

#include <string.h>

KERNELS(haar_wavelet);

#define GROUP 128
#define BLOCK (2 * GROUP)
static const float HALF_ROOT = 0.70710678f;

static void transform(float *values, size_t count)
{
    float *averages = host_array(float, count);
    for (size_t pairs = count / 2; pairs > 0; pairs /= 2) {
        for (size_t i = 0; i < pairs; i++) {
            float left = values[2 * i], right = values[2 * i + 1];
            averages[i] = (left + right) * HALF_ROOT;
            averages[pairs + i] = (left - right) * HALF_ROOT;
        }
        memcpy(values, averages, 2 * pairs * sizeof *values);
    }
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    require(n >= 2 && (n & (n - 1)) == 0, "--size %zu: the number of samples must be a power of two from 2", n);
    Random random = seeded(33);
    const float *samples = random_floats(&random, n, -1.0f, 1.0f);
    float *out = svm_array(float, n), *averages[2];
    for (size_t i = 0; i < 2; i++)
        averages[i] = svm_array(float, n / BLOCK + 1);

    region_begin();
    const float *in = samples;
    for (size_t left = n, turn = 0; left > 1; turn ^= 1) {
        size_t block = left < BLOCK ? left : BLOCK;
        launch("haar_blocks", line(left / block * GROUP, GROUP), svm(in), svm(out), svm(averages[turn]), u32(left),
               u32(block));
        in = averages[turn];
        left /= block;
    }
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(samples);
    float *expected = host_array(float, n);
    memcpy(expected, samples, n * sizeof *expected);
    transform(expected, n);
    check_equal("out", out, expected, n);
}

const Program haar_wavelet_program = {
    .name = "haar-wavelet",
    .about = "transforms samples into averages and details after Haar, eight levels per launch",
    .size_means = "samples, a power of two",
    .tiny = {2048},
    .full = {1 << 20},
    .presets = {{"paper-umh", {1 << 21}}, {"scaled-umh", {1 << 17}}},
    .kernels = &kernels,
    .run = run,
};
