// Xtreme1: each compute unit writes the same places again and again; nothing is shared.
#include "xtreme.h"

KERNELS(xtreme1);

static void run(const Options *options)
{
    Vectors v = make_vectors(options, 40);

    region_begin();
    launch("xtreme1", line(v.units * GROUP, GROUP), svm(v.a), svm(v.b), svm(v.c), svm(v.seen), svm(v.arrived),
           u32(v.count), u32(v.units), u32(v.gpus), u32(options->iterations));
    map_to_read(v.a), map_to_read(v.c), map_to_read(v.seen);
    region_end();

    if (!options->check)
        return;
    map_to_read(v.b);
    float *a = host_array(float, v.count), *c = host_array(float, v.count);
    for (size_t i = 0; i < v.count; i++) {
        c[i] = v.first_a[i] + v.b[i];
        a[i] = c[i] + v.b[i];
    }
    check_equal("c", v.c, c, v.count);
    check_equal("a", v.a, a, v.count);
    check_seen(&v);
}

const Program xtreme1_program = {
    .name = "xtreme1",
    .about = "adds vectors again and again in one kernel; every compute unit writes the places it has just read",
    .size_means = "ELEMENTSxUNITSxGPUS; by default all compute units, of one GPU",
    .sizes_apart = true,
    .tiny = {1000, 4, 1},
    .full = {1 << 19, 64, 1},
    .presets = {{"paper-halcone", {49152, 128, 4}},
                {"paper-halcone-96mb", {25165824, 128, 4}},
                {"scaled-halcone", {1572864, 128, 4}}},
    .iterations = 10,
    .kernels = &kernels,
    .run = run,
};
