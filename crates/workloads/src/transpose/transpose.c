// Matrix transposition: local memory used to turn scattered accesses into whole lines.
#include "guest.h"

KERNELS(transpose);

static void run(const Options *options)
{
    size_t width = options->size[0], height = options->size[1] ? options->size[1] : width;
    size_t n = cells(width, height, 1);
    Random random = seeded(3);
    const float *in = random_floats(&random, n, -1.0f, 1.0f);
    float *out = svm_array(float, n);

    region_begin();
    launch("transpose", plane(width, height, 16, 16), svm(in), svm(out), u32(width), u32(height));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(in);
    float *expected = host_array(float, n);
    for (size_t x = 0; x < width; x++)
        for (size_t y = 0; y < height; y++)
            expected[x * height + y] = in[y * width + x];
    check_equal("transposed", out, expected, n);
}

const Program transpose_program = {
    .name = "transpose",
    .about = "transposes a matrix by 16 x 16 tiles in local memory",
    .size_means = "WIDTHxHEIGHT, or the side of a square",
    .tiny = {50, 37},
    .full = {2000, 1200},
    .presets = {{"paper-umh", {1024, 1024}}, {"scaled-umh", {256, 256}}},
    .kernels = &kernels,
    .run = run,
};
