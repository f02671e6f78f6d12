// Edge detection, by the GPU or by both: the lower rows of the image are the CPU's share.
#include "guest.h"

#include <stdlib.h>
#include <string.h>

KERNELS(edge);

#define RADIUS 2
#define TAPS ((2 * RADIUS + 1) * (2 * RADIUS + 1))

// The Laplacian of a Gaussian, in integers.
static const int32_t FILTER[TAPS] = {
    0,  0,  -1, 0,  0,  //
    0,  -1, -2, -1, 0,  //
    -1, -2, 16, -2, -1, //
    0,  -1, -2, -1, 0,  //
    0,  0,  -1, 0,  0,
};

typedef struct {
    const uint8_t *image;
    const int32_t *filter;
    uint8_t *out; // from `first_row` on
    int width, height, first_row;
} Image;

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

static void filter_rows(void *context, size_t first, size_t end)
{
    const Image *i = context;
    for (int row = (int)first; row < (int)end; row++) {
        for (int x = 0; x < i->width; x++) {
            const int32_t *weight = i->filter;
            int sum = 0;
            for (int dy = -RADIUS; dy <= RADIUS; dy++) {
                const uint8_t *line = i->image + clamp(i->first_row + row + dy, 0, i->height - 1) * i->width;
                for (int dx = -RADIUS; dx <= RADIUS; dx++)
                    sum += *weight++ * line[clamp(x + dx, 0, i->width - 1)];
            }
            i->out[row * i->width + x] = (uint8_t)clamp(abs(sum) / 4, 0, 255);
        }
    }
}

static void run(const Options *options)
{
    size_t width = options->size[0], height = options->size[1] ? options->size[1] : width;
    size_t n = cells(width, height, 1);
    Random random = seeded(25);
    uint8_t *image = input_array(uint8_t, n);
    int32_t *filter = input_array(int32_t, TAPS);
    for (size_t i = 0; i < n; i++)
        image[i] = (uint8_t)(random_u32(&random) >> 24);
    memcpy(filter, FILTER, sizeof FILTER);
    size_t cpu_rows = share_of_cpu(options, height, 1), gpu_rows = height - cpu_rows;
    Split out = svm_split(gpu_rows * width, cpu_rows * width, 1);

    region_begin();
    if (cpu_rows)
        map_to_read(image), map_to_read(filter), map_to_write(out.cpu);
    if (gpu_rows) {
        launch("edge", plane(width, gpu_rows, 64, 4), svm(image), svm(out.gpu), svm(filter), i32(RADIUS), u32(width),
               u32(height), i32(0), u32(gpu_rows));
        start();
    }
    Image share = {image, filter, out.cpu, (int)width, (int)height, (int)gpu_rows};
    parallel(cpu_rows, options->chunk, filter_rows, &share);
    map_to_read(out.gpu);
    region_end();

    if (!options->check)
        return;
    if (!cpu_rows)
        map_to_read(image);
    uint8_t *expected = host_array(uint8_t, n);
    parallel(height, 0, filter_rows, &(Image){image, FILTER, expected, (int)width, (int)height, 0});
    check_equal("out", (uint8_t *)out.gpu, expected, gpu_rows * width);
    check_equal("out of the CPU", (uint8_t *)out.cpu, expected + gpu_rows * width, cpu_rows * width);
}

const Program edge_program = {
    .name = "edge",
    .about = "finds the edges in an image of bytes with a 5 x 5 filter",
    .size_means = "WIDTHxHEIGHT in pixels, or the side of a square",
    .tiny = {70, 41},
    .small = {128, 96},
    .full = {1920, 1100},
    .usual = {512, 512},
    .chunk = 8,
    .chunk_means = "rows",
    .kernels = &kernels,
    .run = run,
};
