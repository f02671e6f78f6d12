// Sparse matrix times vector, both usual ways: indirect loads, and rows of very different length.
#include "guest.h"

KERNELS(spmv);

#define LANES 64

// Most rows are short, some are long.
static uint32_t *random_rows(Random *random, size_t rows)
{
    uint32_t *starts = input_array(uint32_t, rows + 1);
    starts[0] = 0;
    for (size_t r = 0; r < rows; r++) {
        uint32_t longest = random_below(random, 4) == 0 ? 96 : 24;
        starts[r + 1] = starts[r] + random_below(random, longest);
    }
    return starts;
}

static uint32_t *random_columns(Random *random, size_t elements, size_t columns)
{
    uint32_t *list = input_array(uint32_t, elements ? elements : 1);
    for (size_t i = 0; i < elements; i++)
        list[i] = random_below(random, (uint32_t)columns);
    return list;
}

// Adds in the order of the kernel that spreads a row over the lanes: every 64th, then a tree.
static float sum_by_lanes(const float *values, const uint32_t *columns, const float *x, size_t count)
{
    float sums[LANES] = {0};
    for (size_t i = 0; i < count; i++)
        sums[i % LANES] += values[i] * x[columns[i]];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            sums[lane] += sums[lane + half];
    return sums[0];
}

static void run(const Options *options)
{
    size_t rows = options->size[0];
    require(rows <= 1 << 24, "--size %zu: up to 2^24 rows can be computed", rows);
    Random random = seeded(17);
    const uint32_t *starts = random_rows(&random, rows);
    size_t elements = starts[rows];
    const uint32_t *columns = random_columns(&random, elements, rows);
    const float *values = random_floats(&random, elements ? elements : 1, -1.0f, 1.0f);
    const float *x = random_floats(&random, rows, -1.0f, 1.0f);
    float *by_item = svm_array(float, rows), *by_wave = svm_array(float, rows);

    region_begin();
    launch("spmv_scalar", line(rows, 128), svm(starts), svm(columns), svm(values), svm(x), svm(by_item), u32(rows));
    launch("spmv_vector", line(rows * LANES, LANES), svm(starts), svm(columns), svm(values), svm(x), svm(by_wave));
    map_to_read(by_item), map_to_read(by_wave);
    region_end();

    if (!options->check)
        return;
    map_to_read(starts), map_to_read(columns), map_to_read(values), map_to_read(x);
    float *one_by_one = host_array(float, rows), *in_lanes = host_array(float, rows);
    for (size_t r = 0; r < rows; r++) {
        uint32_t first = starts[r], count = starts[r + 1] - first;
        for (uint32_t i = first; i < first + count; i++)
            one_by_one[r] += values[i] * x[columns[i]];
        in_lanes[r] = sum_by_lanes(values + first, columns + first, x, count);
    }
    check_equal("y by work-item", by_item, one_by_one, rows);
    check_equal("y by wavefront", by_wave, in_lanes, rows);
}

const Program spmv_program = {
    .name = "spmv",
    .about = "multiplies a sparse matrix (compressed rows) by a vector, per work-item and per wavefront",
    .size_means = "rows, of 0 to 95 elements each",
    .tiny = {150},
    .full = {30000},
    .kernels = &kernels,
    .run = run,
};
