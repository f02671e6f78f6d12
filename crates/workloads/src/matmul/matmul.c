// Matrix multiplication, by the GPU or by both: the lower rows of the result are the CPU's share.
#include "guest.h"

#include <string.h>

KERNELS(matmul);

#define TILE 16
static const float ALPHA = 1.5f, BETA = -0.75f;

typedef struct {
    const float *a, *b, *c;
    float *out;
    size_t side, first_row;
} Product;

// Adds the products of each element in the kernel's order, k upwards, so that every rounding is the same.
static void multiply_rows(void *context, size_t first, size_t end)
{
    const Product *p = context;
    size_t side = p->side;
    for (size_t r = first; r < end; r++) {
        const float *a = p->a + (p->first_row + r) * side, *c = p->c + (p->first_row + r) * side;
        float *out = p->out + r * side;
        memset(out, 0, side * sizeof *out);
        for (size_t k = 0; k < side; k++)
            for (size_t x = 0; x < side; x++)
                out[x] += a[k] * p->b[k * side + x];
        for (size_t x = 0; x < side; x++)
            out[x] = ALPHA * out[x] + BETA * c[x];
    }
}

// The same element by element, as the plain kernel does it.
static void multiply_plainly(void *context, size_t first, size_t end)
{
    const Product *p = context;
    size_t side = p->side;
    for (size_t r = first; r < end; r++) {
        const float *a = p->a + (p->first_row + r) * side, *c = p->c + (p->first_row + r) * side;
        for (size_t x = 0; x < side; x++) {
            float sum = 0.0f;
            for (size_t k = 0; k < side; k++)
                sum += a[k] * p->b[k * side + x];
            p->out[r * side + x] = ALPHA * sum + BETA * c[x];
        }
    }
}

static void run(const Options *options)
{
    size_t side = options->size[0], n = cells(side, side, 1);
    require(side % TILE == 0, "--size %zu: the side must be a multiple of %d", side, TILE);
    Random random = seeded(2);
    const float *a = random_floats(&random, n, -1.0f, 1.0f);
    const float *b = random_floats(&random, n, -1.0f, 1.0f);
    const float *c = random_floats(&random, n, -1.0f, 1.0f);

    size_t cpu_rows = share_of_cpu(options, side, TILE), gpu_rows = side - cpu_rows;
    Split out = svm_split(gpu_rows * side, cpu_rows * side, sizeof(float));

    region_begin();
    if (cpu_rows)
        map_to_read(a), map_to_read(b), map_to_read(c), map_to_write(out.cpu);
    if (gpu_rows) {
        Range range = plane(side, gpu_rows, TILE, TILE);
        const char *kernel = options->variant ? "matmul_plain" : "matmul";
        launch(kernel, range, svm(a), svm(b), svm(c), svm(out.gpu), u32(side), f32(ALPHA), f32(BETA));
        start();
    }
    parallel(cpu_rows, options->chunk, options->variant ? multiply_plainly : multiply_rows,
             &(Product){a, b, c, out.cpu, side, gpu_rows});
    map_to_read(out.gpu);
    region_end();

    if (!options->check)
        return;
    if (!cpu_rows)
        map_to_read(a), map_to_read(b), map_to_read(c);
    float *expected = host_array(float, n);
    parallel(side, 0, multiply_rows, &(Product){a, b, c, expected, side, 0});
    check_equal("out", out.gpu, expected, gpu_rows * side);
    check_equal("out of the CPU", out.cpu, expected + gpu_rows * side, cpu_rows * side);
}

const Program matmul_program = {
    .name = "matmul",
    .about = "multiplies square matrices by 16 x 16 tiles in local memory: alpha A B + beta C",
    .size_means = "the side of the matrices, a multiple of 16",
    .tiny = {48},
    .small = {64},
    .full = {512},
    .usual = {256},
    .presets = {{"paper-halcone", {4096}}, {"scaled-halcone", {1024}}, {"paper-umh", {1024}}, {"scaled-umh", {256}}},
    .chunk = TILE,
    .chunk_means = "rows",
    .variant = "plain",
    .variant_means = "a dot product for each element, without tiles or local memory",
    .kernels = &kernels,
    .run = run,
};
