// Stores and nothing else, by the GPU or by both: the end of the array is the CPU's share.
#include "guest.h"

KERNELS(write);

static const uint32_t VALUE = 0x600df00d;

// One store for each element, as a lane does it.
static void write_part(void *context, size_t first, size_t end)
{
    volatile uint32_t *out = context;
    for (size_t i = first; i < end; i++)
        out[i] = VALUE;
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    size_t by_cpu = share_of_cpu(options, n, 1), by_gpu = n - by_cpu;
    Split out = svm_split(by_gpu, by_cpu, sizeof(uint32_t));

    region_begin();
    map_to_write(out.cpu);
    if (by_gpu) {
        launch("write", line(by_gpu, 256), svm(out.gpu), u32(VALUE), u32(by_gpu));
        start();
    }
    parallel(by_cpu, options->chunk, write_part, out.cpu);
    map_to_read(out.gpu);
    region_end();

    if (!options->check)
        return;
    uint32_t *expected = host_array(uint32_t, n);
    write_part(expected, 0, n);
    check_equal("out", out.gpu, expected, by_gpu);
    check_equal("out of the CPU", out.cpu, expected, by_cpu);
}

const Program write_program = {
    .name = "write",
    .about = "sets every element of a vector to a value",
    .size_means = "elements",
    .tiny = {1000},
    .small = {262144},
    .full = {(1 << 23) - 100},
    .usual = {1 << 20},
    .chunk = 4096,
    .chunk_means = "elements",
    .kernels = &kernels,
    .run = run,
};
