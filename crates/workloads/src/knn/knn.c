// Nearest neighbours: the GPU, or both, find how far every record lies from a place; then the host picks the nearest.
#include "guest.h"

#include <math.h>

KERNELS(knn);

#define NEAREST 10
static const float X = 30.0f, Y = 90.0f;

typedef struct {
    const float *records;
    float *out;
} Work;

static void measure(void *context, size_t first, size_t end)
{
    const Work *work = context;
    for (size_t i = first; i < end; i++) {
        float dx = work->records[2 * i] - X, dy = work->records[2 * i + 1] - Y;
        work->out[i] = sqrtf(dx * dx + dy * dy);
    }
}

// Puts the smallest of `distances` into `best`, which holds the smallest so far in their order.
static void pick(const float *distances, size_t count, float best[NEAREST])
{
    for (size_t i = 0; i < count; i++) {
        if (!(distances[i] < best[NEAREST - 1]))
            continue;
        size_t at = NEAREST - 1;
        for (; at > 0 && distances[i] < best[at - 1]; at--)
            best[at] = best[at - 1];
        best[at] = distances[i];
    }
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    require(n >= NEAREST, "--size %zu: at least %d records are needed", n, NEAREST);
    Random random = seeded(26);
    const float *records = random_floats(&random, cells(n, 2, 1), 0.0f, 180.0f);
    size_t by_cpu = share_of_cpu(options, n, 1), by_gpu = n - by_cpu;
    Split out = svm_split(by_gpu, by_cpu, sizeof(float));
    float best[NEAREST], expected_best[NEAREST];
    for (int i = 0; i < NEAREST; i++)
        best[i] = expected_best[i] = INFINITY;

    region_begin();
    if (by_cpu)
        map_to_read(records), map_to_write(out.cpu);
    if (by_gpu) {
        launch("distances", line(by_gpu, 256), svm(records), svm(out.gpu), u32(by_gpu), f32(X), f32(Y));
        start();
    }
    parallel(by_cpu, options->chunk, measure, &(Work){records + 2 * by_gpu, out.cpu});
    map_to_read(out.gpu);
    region_end();
    pick(out.gpu, by_gpu, best);
    pick(out.cpu, by_cpu, best);

    if (!options->check)
        return;
    if (!by_cpu)
        map_to_read(records);
    float *expected = host_array(float, n);
    parallel(n, 0, measure, &(Work){records, expected});
    pick(expected, n, expected_best);
    // OpenCL lets a square root be off by 3 ulps; all before it is exact to the last bit, the reference's root too.
    check_within("distances", out.gpu, expected, expected, 3.0, by_gpu);
    check_equal("distances of the CPU", out.cpu, expected + by_gpu, by_cpu);
    check_within("nearest", best, expected_best, expected_best, 3.0, NEAREST);
}

const Program knn_program = {
    .name = "knn",
    .about = "finds the records nearest to a place: the GPU computes distances, the host picks",
    .size_means = "records",
    .tiny = {1000},
    .small = {16384},
    .full = {2200000},
    .usual = {42764},
    .chunk = 1024,
    .chunk_means = "records",
    .kernels = &kernels,
    .run = run,
};
