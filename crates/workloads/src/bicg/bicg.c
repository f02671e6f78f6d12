// The products of the biconjugate gradient method: a matrix by rows and by columns, which do not depend on each other.
#include "guest.h"

KERNELS(bicg);

static void run(const Options *options)
{
    size_t rows = options->size[0], columns = options->size[1] ? options->size[1] : rows;
    size_t n = cells(rows, columns, 1);
    Random random = seeded(31);
    const float *a = random_floats(&random, n, -1.0f, 1.0f);
    const float *p = random_floats(&random, columns, -1.0f, 1.0f), *r = random_floats(&random, rows, -1.0f, 1.0f);
    float *q = svm_array(float, rows), *s = svm_array(float, columns);

    region_begin();
    launch("bicg_rows", line(rows, 256), svm(a), svm(p), svm(q), u32(rows), u32(columns));
    launch("bicg_columns", line(columns, 256), svm(a), svm(r), svm(s), u32(rows), u32(columns));
    map_to_read(q), map_to_read(s);
    region_end();

    if (!options->check)
        return;
    map_to_read(a), map_to_read(p), map_to_read(r);
    float *expected_q = host_array(float, rows), *expected_s = host_array(float, columns);
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++) {
            expected_q[row] += a[row * columns + column] * p[column];
            expected_s[column] += a[row * columns + column] * r[row];
        }
    check_equal("q", q, expected_q, rows);
    check_equal("s", s, expected_s, columns);
}

const Program bicg_program = {
    .name = "bicg",
    .about = "multiplies a matrix and its transpose by a vector each, as the biconjugate gradient method does",
    .size_means = "ROWSxCOLUMNS, or the side of a square",
    .tiny = {90, 110},
    .full = {1600, 1700},
    .presets = {{"paper-halcone", {4096, 4096}}, {"scaled-halcone", {1024, 1024}}},
    .kernels = &kernels,
    .run = run,
};
