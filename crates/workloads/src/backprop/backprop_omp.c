// Back-propagation by the CPU alone: OpenMP shares out the first layer, one thread has the few units behind it.
#include "backprop.h"

static void run(const Options *options)
{
    size_t n = options->size[0], groups = n / ROWS, count = cells(n, HIDDEN, 1);
    require(n % ROWS == 0, "--size %zu: the number of inputs must be a multiple of %d", n, ROWS);
    Random random = seeded(27);
    const float *inputs = random_floats(&random, n, 0.0f, 1.0f);
    float errors[HIDDEN], output_weights[HIDDEN];
    Layer layer = {inputs, errors, host_array(float, count), host_array(float, count), host_array(float, n)};
    random_weights(&random, layer.weights, count, output_weights);
    float expected_errors[HIDDEN], expected_output_weights[HIDDEN];
    Layer expected = {inputs, expected_errors, host_array(float, count), host_array(float, count), host_array(float, n)};
    memcpy(expected.weights, layer.weights, count * sizeof(float));
    memcpy(expected_output_weights, output_weights, sizeof output_weights);

    region_begin();
    for (unsigned i = 0; i < options->iterations; i++) {
#pragma omp parallel for schedule(static)
        for (size_t group = 0; group < groups; group++)
            forward(&layer, group, group + 1);
        float totals[HIDDEN] = {0};
        add_sums(totals, layer.sums, groups);
        learn(totals, output_weights, errors);
#pragma omp parallel for schedule(static)
        for (size_t group = 0; group < groups; group++)
            adjust(&layer, group, group + 1);
    }
    region_end();

    if (!options->check)
        return;
    for (unsigned i = 0; i < options->iterations; i++) {
        forward(&expected, 0, groups);
        float totals[HIDDEN] = {0};
        add_sums(totals, expected.sums, groups);
        learn(totals, expected_output_weights, expected_errors);
        adjust(&expected, 0, groups);
    }
    check_equal("weights", layer.weights, expected.weights, count);
    check_equal("weights of the output", output_weights, expected_output_weights, HIDDEN);
}

const Program backprop_omp_program = {
    .name = "backprop-omp",
    .about = "trains a network of one hidden layer; both passes over the first layer are shared out",
    .size_means = "inputs, a multiple of 16",
    .tiny = {480},
    .small = {1024},
    .usual = {65536},
    .iterations = 2,
    .run = run,
};
