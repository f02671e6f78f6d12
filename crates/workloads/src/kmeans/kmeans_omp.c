// k-means clustering by the CPU alone: OpenMP shares out the points, then the features along which centres move, so that
// every sum has the same order for any number of threads.
#include "kmeans.h"

static void move_along(const float *rows, const uint32_t *membership, size_t n, size_t feature, float *centres)
{
    float sums[CLUSTERS] = {0}, counts[CLUSTERS] = {0};
    for (size_t p = 0; p < n; p++) {
        sums[membership[p]] += rows[p * FEATURES + feature];
        counts[membership[p]] += 1.0f;
    }
    for (size_t c = 0; c < CLUSTERS; c++)
        centres[c * FEATURES + feature] = sums[c] / (counts[c] > 1.0f ? counts[c] : 1.0f);
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    const float *rows = random_points(n);
    uint32_t *membership = host_array(uint32_t, n), *expected = host_array(uint32_t, n);
    float centres[CLUSTERS * FEATURES], expected_centres[CLUSTERS * FEATURES];
    memcpy(centres, rows, sizeof centres);
    memcpy(expected_centres, rows, sizeof expected_centres);

    region_begin();
    Points points = {rows, centres, membership};
    for (unsigned i = 0; i < options->iterations; i++) {
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (size_t p = 0; p < n; p++)
                assign(&points, p, p + 1);
#pragma omp for schedule(static)
            for (size_t feature = 0; feature < FEATURES; feature++)
                move_along(rows, membership, n, feature, centres);
        }
    }
    region_end();

    if (!options->check)
        return;
    for (unsigned i = 0; i < options->iterations; i++) {
        assign(&(Points){rows, expected_centres, expected}, 0, n);
        move_centres(rows, expected, n, expected_centres);
    }
    check_equal("membership", membership, expected, n);
    check_equal("centres", centres, expected_centres, CLUSTERS * FEATURES);
}

const Program kmeans_omp_program = {
    .name = "kmeans-omp",
    .about = "clusters points: they are shared out to be assigned to centres, and the features to move these",
    .size_means = "points, of 16 features each",
    .tiny = {300},
    .small = {800},
    .usual = {204800},
    .iterations = 3,
    .run = run,
};
