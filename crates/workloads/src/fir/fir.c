// A finite impulse response filter: a loop over constant memory that every work-item walks alike.
#include "guest.h"

KERNELS(fir);

#define TAPS 16

static void run(const Options *options)
{
    size_t n = options->size[0];
    Random random = seeded(7);
    const float *signal = random_floats(&random, n + TAPS - 1, -1.0f, 1.0f);
    const float *taps = random_floats(&random, TAPS, -0.5f, 0.5f);
    float *out = svm_array(float, n);

    region_begin();
    launch("fir", line(n, 256), svm(signal), svm(taps), svm(out), u32(n), u32(TAPS));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(signal), map_to_read(taps);
    float *expected = host_array(float, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < TAPS; k++)
            expected[i] += taps[k] * signal[i + TAPS - 1 - k];
    check_equal("out", out, expected, n);
}

const Program fir_program = {
    .name = "fir",
    .about = "filters a signal with 16 taps",
    .size_means = "samples",
    .tiny = {600},
    .full = {1 << 20},
    .presets = {{"paper-halcone", {1 << 23}}, {"scaled-halcone", {1 << 19}}},
    .kernels = &kernels,
    .run = run,
};
