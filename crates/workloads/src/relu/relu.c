// The rectifier of neural networks: streaming with hardly any arithmetic.
#include "guest.h"

KERNELS(relu);

static void run(const Options *options)
{
    size_t n = options->size[0];
    Random random = seeded(22);
    const float *x = random_floats(&random, n, -1.0f, 1.0f);
    float *y = svm_array(float, n);

    region_begin();
    launch("relu", line(n, 64), svm(x), svm(y), u32(n));
    map_to_read(y);
    region_end();

    if (!options->check)
        return;
    map_to_read(x);
    float *expected = host_array(float, n);
    for (size_t i = 0; i < n; i++)
        expected[i] = x[i] > 0.0f ? x[i] : 0.0f;
    check_equal("y", y, expected, n);
}

const Program relu_program = {
    .name = "relu",
    .about = "replaces the negative elements of a vector by zero",
    .size_means = "elements",
    .tiny = {777},
    .full = {(1 << 22) + 321},
    .presets = {{"paper-halcone", {1 << 23}}, {"scaled-halcone", {1 << 19}}},
    .kernels = &kernels,
    .run = run,
};
