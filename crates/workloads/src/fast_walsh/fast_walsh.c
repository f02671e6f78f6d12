// The fast Walsh-Hadamard transform: butterflies without multiplication, and an integer remainder by a variable.
#include "guest.h"

#include <string.h>

KERNELS(fast_walsh);

// First both halves, then their sum and difference.
static void transform(float *signal, size_t n)
{
    if (n == 1)
        return;
    float *right = signal + n / 2;
    transform(signal, n / 2);
    transform(right, n / 2);
    for (size_t i = 0; i < n / 2; i++) {
        float a = signal[i], b = right[i];
        signal[i] = a + b;
        right[i] = a - b;
    }
}

static void run(const Options *options)
{
    size_t bits = options->size[0], n = (size_t)1 << (bits < 30 ? bits : 0);
    require(bits >= 9 && bits <= 28, "--size %zu: 2^9 to 2^28 floats can be computed", bits);
    Random random = seeded(15);
    float *data = random_floats(&random, n, -1.0f, 1.0f);
    float *expected = host_array(float, n);
    memcpy(expected, data, n * sizeof(float));

    region_begin();
    for (size_t stage = 0; stage < bits; stage++)
        launch("fast_walsh", line(n / 2, 256), svm(data), u32((size_t)1 << stage));
    map_to_read(data);
    region_end();

    if (!options->check)
        return;
    transform(expected, n);
    check_equal("data", data, expected, n);
}

const Program fast_walsh_program = {
    .name = "fast-walsh",
    .about = "transforms a signal by sums and differences, one launch per stage",
    .size_means = "N for 2^N floats",
    .tiny = {10},
    .full = {20},
    .presets = {{"paper-umh", {18}}, {"scaled-umh", {14}}},
    .kernels = &kernels,
    .run = run,
};
