// Vector addition: nothing but streaming, the simplest program that uses memory.
#include "guest.h"

KERNELS(vecadd);

static void run(const Options *options)
{
    size_t n = options->size[0];
    Random random = seeded(1);
    const float *a = random_floats(&random, n, -100.0f, 100.0f);
    const float *b = random_floats(&random, n, -100.0f, 100.0f);
    float *c = svm_array(float, n);

    region_begin();
    launch("vecadd", line(n, 256), svm(a), svm(b), svm(c), u32(n));
    map_to_read(c);
    region_end();

    if (!options->check)
        return;
    map_to_read(a), map_to_read(b);
    float *expected = host_array(float, n);
    for (size_t i = 0; i < n; i++)
        expected[i] = a[i] + b[i];
    check_equal("c", c, expected, n);
}

const Program vecadd_program = {
    .name = "vecadd",
    .about = "adds two vectors of floats",
    .size_means = "elements",
    .tiny = {1000},
    .full = {(1 << 22) - 100},
    .presets = {{"paper-gmac", {1 << 23}}, {"scaled-gmac", {1 << 19}}},
    .kernels = &kernels,
    .run = run,
};
