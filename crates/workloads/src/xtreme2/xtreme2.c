// Xtreme2: a compute unit writes what another one of its GPU has read and reads again.
#include "../xtreme1/xtreme.h"

KERNELS_OF(xtreme1);

static void run(const Options *options)
{
    Vectors v = make_vectors(options, 41);
    require(v.units / v.gpus > 1, "--size: a GPU has one compute unit, and two must share");
    require(!options->variant || v.units / v.gpus % 2 == 0, "--variant pairs: a GPU must have an even number of units");
    size_t writers = 1, step = 1, distance = 1;
    if (options->variant)
        writers = v.units, step = 2;
    write_others(options, &v, writers, step, distance);
}

const Program xtreme2_program = {
    .name = "xtreme2",
    .about = "adds vectors in one kernel; a compute unit writes what another one of its GPU has read and reads again",
    .size_means = "ELEMENTSxUNITSxGPUS; by default all compute units, of one GPU",
    .sizes_apart = true,
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
