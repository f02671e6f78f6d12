// Xtreme3: a compute unit writes what one of another GPU has read and reads again.
#include "../xtreme1/xtreme.h"

KERNELS_OF(xtreme1);

static void run(const Options *options)
{
    Vectors v = make_vectors(options, 42);
    require(v.units > 1, "--size: there is one compute unit, and two must share");
    require(!options->variant || v.units % 2 == 0, "--variant pairs: the compute units must be even in number");
    size_t writers = 1, step = 1, distance = v.units - 1;
    if (options->variant)
        writers = distance = v.units / 2;
    write_others(options, &v, writers, step, distance);
}

const Program xtreme3_program = {
    .name = "xtreme3",
    .about = "adds vectors in one kernel; a compute unit writes what one of another GPU has read and reads again",
    .size_means = "ELEMENTSxUNITSxGPUS; by default all compute units, of one GPU",
    .sizes_apart = true,
    .tiny = {1000, 4, 1},
    .full = {1 << 19, 64, 1},
    .presets = {{"paper-halcone", {49152, 128, 4}},
                {"paper-halcone-96mb", {25165824, 128, 4}},
                {"scaled-halcone", {1572864, 128, 4}}},
    .iterations = 10,
    .variant = "pairs",
    .variant_means = "compute units of the first half of the GPUs write the slices of the others",
    .kernels = &kernels,
    .run = run,
};
