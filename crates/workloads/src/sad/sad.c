// Motion estimation: bytes that are read again and again, and a result much larger than the inputs.
#include "guest.h"

#include <stdlib.h>

KERNELS(sad);

#define REACH 8
#define ACROSS (2 * REACH + 1)
#define PLACES (ACROSS * ACROSS)

typedef struct {
    const uint8_t *frame, *other;
    uint16_t *out;
    int width, height;
} Frames;

static int within(int x, int limit) { return x < 0 ? 0 : x < limit ? x : limit - 1; }

static void add_blocks(void *context, size_t first, size_t end)
{
    const Frames *f = context;
    for (size_t block = first; block < end; block++)
        for (int place = 0; place < PLACES; place++) {
            int bx = (int)block % (f->width / 4) * 4, by = (int)block / (f->width / 4) * 4, sum = 0;
            for (int y = by; y < by + 4; y++)
                for (int x = bx; x < bx + 4; x++) {
                    int ox = within(x + place % ACROSS - REACH, f->width);
                    int oy = within(y + place / ACROSS - REACH, f->height);
                    sum += abs(f->frame[y * f->width + x] - f->other[oy * f->width + ox]);
                }
            f->out[block * PLACES + (size_t)place] = (uint16_t)sum;
        }
}

static uint8_t *random_frame(Random *random, size_t pixels)
{
    uint8_t *frame = input_array(uint8_t, pixels);
    for (size_t i = 0; i < pixels; i++)
        frame[i] = (uint8_t)(random_u32(random) >> 24);
    return frame;
}

static void run(const Options *options)
{
    size_t width = options->size[0], height = options->size[1] ? options->size[1] : width;
    require(width % 4 == 0 && height % 8 == 0, "--size %zux%zu: the width must be a multiple of 4, the height of 8", width,
            height);
    size_t blocks = width / 4 * (height / 4), words = cells(blocks, PLACES, 1) / 2;
    Random random = seeded(64);
    const uint8_t *frame = random_frame(&random, width * height), *other = random_frame(&random, width * height);
    uint32_t *out = svm_array(uint32_t, words); // two sums in each

    region_begin();
    launch("sums", plane(PLACES, blocks, 64, 4), svm(frame), svm(other), svm(out), i32((int)width), i32((int)height));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(frame), map_to_read(other);
    uint32_t *expected = host_array(uint32_t, words);
    Frames job = {frame, other, (uint16_t *)expected, (int)width, (int)height};
    parallel(blocks, 0, add_blocks, &job);
    check_equal("sums", out, expected, words);
}

const Program sad_program = {
    .name = "sad",
    .about = "adds up differences of each 4 x 4 block of a frame and 289 places around it in another",
    .size_means = "WIDTHxHEIGHT in pixels, multiples of 4 and 8, or the side of a square",
    .tiny = {16, 8},
    .full = {400, 320},
    .presets = {{"paper-gmac", {1920, 1080}}, {"scaled-gmac", {352, 288}}},
    .kernels = &kernels,
    .run = run,
};
