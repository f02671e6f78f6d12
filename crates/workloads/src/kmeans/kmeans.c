// k-means clustering: the GPU finds each point's nearest centre, the host moves the centres, and so on.
#include "guest.h"

#include <float.h>
#include <string.h>

KERNELS(kmeans);

#define CLUSTERS 8
#define FEATURES 16

typedef struct {
    const float *rows, *centres;
    uint32_t *membership;
} Points;

// The nearest centre of each point; the first, when two are equally near. Adds in the kernel's order.
static void assign(void *context, size_t first, size_t end)
{
    const Points *points = context;
    for (size_t p = first; p < end; p++) {
        const float *point = points->rows + p * FEATURES;
        float best = FLT_MAX;
        for (uint32_t c = 0; c < CLUSTERS; c++) {
            const float *centre = points->centres + c * FEATURES;
            float distance = 0.0f;
            for (size_t f = 0; f < FEATURES; f++) {
                float d = point[f] - centre[f];
                distance += d * d;
            }
            if (distance < best) {
                best = distance;
                points->membership[p] = c;
            }
        }
    }
}

// The mean of the points of each cluster; the origin for a cluster without any.
static void move_centres(const float *rows, const uint32_t *membership, size_t n, float *centres)
{
    float counts[CLUSTERS] = {0};
    memset(centres, 0, CLUSTERS * FEATURES * sizeof *centres);
    for (size_t p = 0; p < n; p++) {
        uint32_t cluster = membership[p] % CLUSTERS;
        counts[cluster] += 1.0f;
        for (size_t f = 0; f < FEATURES; f++)
            centres[cluster * FEATURES + f] += rows[p * FEATURES + f];
    }
    for (size_t i = 0; i < CLUSTERS * FEATURES; i++)
        centres[i] /= counts[i / FEATURES] > 1.0f ? counts[i / FEATURES] : 1.0f;
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    require(n >= CLUSTERS, "--size %zu: at least %d points are needed", n, CLUSTERS);
    Random random = seeded(18);
    const float *rows = random_floats(&random, cells(n, FEATURES, 1), 0.0f, 10.0f);
    float *columns = svm_array(float, n * FEATURES);
    float *centres = svm_array(float, CLUSTERS * FEATURES);
    uint32_t *membership = svm_array(uint32_t, n);
    float means[CLUSTERS * FEATURES];

    region_begin();
    launch("to_columns", line(n, 256), svm(rows), svm(columns), u32(n), u32(FEATURES));
    map_to_read(rows);
    memcpy(means, rows, sizeof means);
    for (unsigned i = 0; i < options->iterations; i++) {
        map_to_write(centres);
        memcpy(centres, means, sizeof means);
        unmap(centres);
        launch("nearest", line(n, 256), svm(columns), svm(centres), svm(membership), u32(n), u32(CLUSTERS),
               u32(FEATURES));
        map_to_read(membership);
        move_centres(rows, membership, n, means);
        unmap(membership);
    }
    map_to_read(membership);
    region_end();

    if (!options->check)
        return;
    uint32_t *expected = host_array(uint32_t, n);
    float expected_means[CLUSTERS * FEATURES];
    memcpy(expected_means, rows, sizeof expected_means);
    for (unsigned i = 0; i < options->iterations; i++) {
        parallel(n, 0, assign, &(Points){rows, expected_means, expected});
        move_centres(rows, expected, n, expected_means);
    }
    check_equal("membership", membership, expected, n);
    check_equal("centres", means, expected_means, CLUSTERS * FEATURES);
}

const Program kmeans_program = {
    .name = "kmeans",
    .about = "clusters points: the GPU assigns them to centres, the host moves the centres",
    .size_means = "points, of 16 features each",
    .tiny = {300},
    .full = {70000},
    .iterations = 3,
    .kernels = &kernels,
    .run = run,
};
