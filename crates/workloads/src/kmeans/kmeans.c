// k-means clustering: the GPU finds each point's nearest centre, the host moves the centres, and so on.
#include "kmeans.h"

KERNELS(kmeans);

static void run(const Options *options)
{
    size_t n = options->size[0];
    const float *rows = random_points(n);
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
    .small = {800},
    .full = {70000},
    .usual = {204800},
    .presets = {{"paper-vcache", {204800}}, {"scaled-vcache", {51200}}},
    .iterations = 3,
    .kernels = &kernels,
    .run = run,
};
