// Xtreme2: a compute unit writes what another one of its GPU has read and reads again.
#include "../xtreme1/xtreme.h"

KERNELS(xtreme2);

static void run(const Options *options)
{
    Vectors v = make_vectors(options, 41);
    require(v.units / v.gpus > 1, "--size: a GPU has one compute unit, and two must share");
    require(!options->variant || v.units / v.gpus % 2 == 0, "--variant pairs: a GPU must have an even number of units");
    size_t writers = 1, step = 1, distance = 1;
    if (options->variant)
        writers = v.units, step = 2;

    region_begin();
    launch("xtreme2", line(v.units * GROUP, GROUP), svm(v.a), svm(v.b), svm(v.c), svm(v.seen), svm(v.arrived),
           u32(v.count), u32(v.units), u32(v.gpus), u32(options->iterations), u32(writers), u32(step), u32(distance));
    map_to_read(v.a), map_to_read(v.c), map_to_read(v.seen);
    region_end();

    if (!options->check)
        return;
    map_to_read(v.b);
    float *a = v.first_a, *c = host_array(float, v.count);
    check_seen(&v);
    for (size_t i = 0; i < v.count; i++) {
        size_t slice = i / slice_length(&v), from = slice - distance;
        c[i] = a[i] + v.b[i];
        if (slice >= distance && from < writers && from % step == 0)
            a[i] = c[i] + v.b[i];
        c[i] = a[i] + v.b[i];
    }
    check_equal("c", v.c, c, v.count);
    check_equal("a", v.a, a, v.count);
}

const Program xtreme2_program = {
    .name = "xtreme2",
    .about = "adds vectors in one kernel; a compute unit writes what another one of its GPU has read and reads again",
    .size_means = "ELEMENTSxUNITSxGPUS; by default all compute units, of one GPU",
    .tiny = {1000, 4, 1},
    .full = {1 << 19, 64, 1},
    .presets = {{"paper-halcone", {49152, 128, 4}},
                {"paper-halcone-96mb", {25165824, 128, 4}},
                {"scaled-halcone", {1572864, 128, 4}}},
    .iterations = 10,
    .variant = "pairs",
    .variant_means = "every second compute unit writes the slice of the next",
    .kernels = &kernels,
    .run = run,
};
