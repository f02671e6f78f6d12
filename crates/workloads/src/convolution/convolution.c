// Convolution of an image: neighbouring work-items read almost the same pixels.
#include "guest.h"

KERNELS(convolution);

#define RADIUS 2
#define TAPS ((2 * RADIUS + 1) * (2 * RADIUS + 1))

typedef struct {
    const float *image, *filter;
    float *out;
    int width, height;
} Image;

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

static void convolve_rows(void *context, size_t first, size_t end)
{
    const Image *i = context;
    for (int y = (int)first; y < (int)end; y++) {
        for (int x = 0; x < i->width; x++) {
            const float *weight = i->filter;
            float sum = 0.0f;
            for (int dy = -RADIUS; dy <= RADIUS; dy++)
                for (int dx = -RADIUS; dx <= RADIUS; dx++)
                    sum += *weight++ * i->image[clamp(y + dy, 0, i->height - 1) * i->width + clamp(x + dx, 0, i->width - 1)];
            i->out[y * i->width + x] = sum;
        }
    }
}

static void run(const Options *options)
{
    size_t width = options->size[0], height = options->size[1] ? options->size[1] : width;
    size_t n = cells(width, height, 1);
    Random random = seeded(11);
    const float *image = random_floats(&random, n, 0.0f, 255.0f);
    const float *filter = random_floats(&random, TAPS, -0.25f, 0.25f);
    float *out = svm_array(float, n);

    region_begin();
    launch("convolution", plane(width, height, 16, 16), svm(image), svm(out), svm(filter), u32(width), u32(height),
           i32(RADIUS));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(image), map_to_read(filter);
    float *expected = host_array(float, n);
    parallel(height, 0, convolve_rows, &(Image){image, filter, expected, (int)width, (int)height});
    check_equal("out", out, expected, n);
}

const Program convolution_program = {
    .name = "convolution",
    .about = "convolves an image with a 5 x 5 filter",
    .size_means = "WIDTHxHEIGHT in pixels, or the side of a square",
    .tiny = {61, 35},
    .full = {1000, 700},
    .presets = {{"paper-halcone", {4256, 4256}},
                {"scaled-halcone", {1064, 1064}},
                {"paper-umh", {512, 512}},
                {"scaled-umh", {128, 128}}},
    .kernels = &kernels,
    .run = run,
};
