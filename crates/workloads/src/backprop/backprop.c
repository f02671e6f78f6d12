// Back-propagation, by the GPU or by both: the first layer's many weights are shared out, its last inputs to the CPU;
// the few units behind it are the host's in any case.
#include "backprop.h"

KERNELS(backprop);

static void map_share(const float *inputs, const Layer *share)
{
    map_to_read(inputs), map_to_update(share->weights), map_to_update(share->changes), map_to_update(share->sums);
}

static void run(const Options *options)
{
    size_t n = options->size[0], weights_count = cells(n, HIDDEN, 1);
    require(n % ROWS == 0, "--size %zu: the number of inputs must be a multiple of %d", n, ROWS);
    size_t by_cpu = share_of_cpu(options, n, ROWS), by_gpu = n - by_cpu, cpu_groups = by_cpu / ROWS;
    size_t gpu_groups = by_gpu / ROWS;
    Random random = seeded(27);
    const float *inputs = random_floats(&random, n, 0.0f, 1.0f);
    float *expected_weights = host_array(float, weights_count), *expected_changes = host_array(float, weights_count);
    float output_weights[HIDDEN], expected_output_weights[HIDDEN];
    random_weights(&random, expected_weights, weights_count, output_weights);
    memcpy(expected_output_weights, output_weights, sizeof output_weights);

    Split weights = svm_split(by_gpu * HIDDEN, by_cpu * HIDDEN, sizeof(float));
    Split changes = svm_split(by_gpu * HIDDEN, by_cpu * HIDDEN, sizeof(float));
    Split sums = svm_split(gpu_groups * HIDDEN, cpu_groups * HIDDEN, sizeof(float));
    float *errors = svm_array(float, HIDDEN);
    map_to_write(weights.gpu), map_to_write(weights.cpu), map_to_write(changes.gpu), map_to_write(changes.cpu);
    if (by_gpu) {
        memcpy(weights.gpu, expected_weights, by_gpu * HIDDEN * sizeof(float));
        memset(changes.gpu, 0, by_gpu * HIDDEN * sizeof(float));
    }
    if (by_cpu) {
        memcpy(weights.cpu, expected_weights + by_gpu * HIDDEN, by_cpu * HIDDEN * sizeof(float));
        memset(changes.cpu, 0, by_cpu * HIDDEN * sizeof(float));
    }

    Layer share = {inputs + by_gpu, errors, weights.cpu, changes.cpu, sums.cpu};
    if (options->part_only)
        unmap_all();
    else
        region_begin();
    if (by_cpu)
        map_share(inputs, &share);
    Range range = plane(HIDDEN, by_gpu, HIDDEN, ROWS);
    for (unsigned i = 0; i < options->iterations; i++) {
        if (by_gpu) {
            launch("forward", range, svm(inputs), svm(weights.gpu), svm(sums.gpu));
            start();
        }
        parallel(cpu_groups, options->chunk, forward, &share);
        float totals[HIDDEN] = {0};
        map_to_read(sums.gpu);
        add_sums(totals, sums.gpu, gpu_groups);
        add_sums(totals, sums.cpu, cpu_groups);
        unmap(sums.gpu);
        map_to_write(errors);
        learn(totals, output_weights, errors);
        unmap(errors);

        if (options->part_only && i == options->iterations - 1) {
            region_begin();
            if (by_cpu)
                map_share(inputs, &share);
        }
        if (by_cpu)
            map_to_read(errors);
        if (by_gpu) {
            launch("adjust", range, svm(inputs), svm(errors), svm(weights.gpu), svm(changes.gpu), f32(RATE),
                   f32(MOMENTUM));
            start();
        }
        parallel(cpu_groups, options->chunk, adjust, &share);
        if (by_cpu)
            unmap(errors);
    }
    map_to_read(weights.gpu);
    region_end();

    if (!options->check)
        return;
    if (!by_cpu)
        map_to_read(inputs);
    float expected_errors[HIDDEN];
    Layer whole = {inputs, expected_errors, expected_weights, expected_changes, host_array(float, n / ROWS * HIDDEN)};
    for (unsigned i = 0; i < options->iterations; i++) {
        parallel(n / ROWS, 0, forward, &whole);
        float totals[HIDDEN] = {0};
        add_sums(totals, whole.sums, n / ROWS);
        learn(totals, expected_output_weights, expected_errors);
        parallel(n / ROWS, 0, adjust, &whole);
    }
    check_equal("weights", weights.gpu, expected_weights, by_gpu * HIDDEN);
    check_equal("weights of the CPU", weights.cpu, expected_weights + by_gpu * HIDDEN, by_cpu * HIDDEN);
    check_equal("weights of the output", output_weights, expected_output_weights, HIDDEN);
}

const Program backprop_program = {
    .name = "backprop",
    .about = "trains a network of one hidden layer: the GPU has the first layer, the host the rest",
    .size_means = "inputs, a multiple of 16",
    .tiny = {480},
    .small = {1024},
    .full = {65536},
    .usual = {65536},
    .presets = {{"paper-vcache", {65536}}, {"scaled-vcache", {16384}}},
    .iterations = 2,
    .chunk = 16,
    .chunk_means = "groups of 16 inputs",
    .part = "adjust",
    .kernels = &kernels,
    .run = run,
};
