// A matrix, transposed, times the matrix times a vector: the same data by rows and then by columns.
#include "guest.h"

KERNELS(atax);

static void run(const Options *options)
{
    size_t rows = options->size[0], columns = options->size[1] ? options->size[1] : rows;
    size_t n = cells(rows, columns, 1);
    Random random = seeded(30);
    const float *a = random_floats(&random, n, -1.0f, 1.0f), *x = random_floats(&random, columns, -1.0f, 1.0f);
    float *ax = svm_array(float, rows), *y = svm_array(float, columns);

    region_begin();
    launch("atax_rows", line(rows, 256), svm(a), svm(x), svm(ax), u32(rows), u32(columns));
    launch("atax_columns", line(columns, 256), svm(a), svm(ax), svm(y), u32(rows), u32(columns));
    map_to_read(y);
    region_end();

    if (!options->check)
        return;
    map_to_read(a), map_to_read(x);
    float *expected = host_array(float, columns);
    for (size_t row = 0; row < rows; row++) {
        float product = 0.0f;
        for (size_t column = 0; column < columns; column++)
            product += a[row * columns + column] * x[column];
        for (size_t column = 0; column < columns; column++)
            expected[column] += a[row * columns + column] * product;
    }
    check_equal("y", y, expected, columns);
}

const Program atax_program = {
    .name = "atax",
    .about = "multiplies a matrix by a vector and its transpose by the result",
    .size_means = "ROWSxCOLUMNS, or the side of a square",
    .tiny = {100, 70},
    .full = {1700, 1600},
    .presets = {{"paper-halcone", {4096, 4096}}, {"scaled-halcone", {1024, 1024}}},
    .kernels = &kernels,
    .run = run,
};
