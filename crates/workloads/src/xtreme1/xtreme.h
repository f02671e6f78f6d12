// The Xtreme programs of `[halcone 4.3.2]`: vectors in slices, one for each compute unit, and one kernel whose steps are
// separated by barriers of the whole grid. All workgroups must be resident: there is one of 256 work-items for each
// compute unit.
#ifndef XTREME_H
#define XTREME_H

#include "guest.h"

#include <string.h>

#define GROUP 256
// Workgroups that a compute unit can hold at least: of 40 wavefronts each takes 4.
#define RESIDENT 8

typedef struct {
    size_t count, units, gpus;
    float *a, *b, *c, *seen;
    uint32_t *arrived;
    float *first_a, *first_c; // what a and c hold at first
} Vectors;

static Vectors make_vectors(const Options *options, uint64_t seed)
{
    size_t count = options->size[0], units = options->size[1] ? options->size[1] : compute_units();
    size_t gpus = options->size[2] ? options->size[2] : 1;
    require(units <= 1024, "--size: %zu compute units; there can be up to 1024", units);
    require(units <= RESIDENT * compute_units(),
            "--size: %zu workgroups wait for each other, and %zu compute units can't be sure to hold more than %zu of them",
            units, compute_units(), RESIDENT * compute_units());
    require(units % gpus == 0, "--size: %zu compute units can't be shared out evenly to %zu GPUs", units, gpus);
    require(count <= 1 << 26, "--size %zu: vectors of up to 2^26 elements can be computed", count);
    Vectors vectors = {.count = count, .units = units, .gpus = gpus};
    Random random = seeded(seed);
    vectors.a = random_floats(&random, count, -1.0f, 1.0f);
    vectors.b = random_floats(&random, count, -1.0f, 1.0f);
    vectors.c = random_floats(&random, count, -1.0f, 1.0f);
    vectors.seen = svm_array(float, units * GROUP);
    vectors.arrived = input_array(uint32_t, 1);
    *vectors.arrived = 0;
    if (options->check) {
        vectors.first_a = host_array(float, count), vectors.first_c = host_array(float, count);
        memcpy(vectors.first_a, vectors.a, count * sizeof(float));
        memcpy(vectors.first_c, vectors.c, count * sizeof(float));
    }
    return vectors;
}

static size_t slice_length(const Vectors *v) { return ((v->count + v->units - 1) / v->units + 31) / 32 * 32; }

// What work-items read at the beginning. Where the results are mapped.
static void check_seen(const Vectors *v)
{
    float *expected = host_array(float, v->units * GROUP);
    for (size_t group = 0; group < v->units; group++) {
        size_t slice = group % v->gpus * (v->units / v->gpus) + group / v->gpus;
        size_t first = slice * slice_length(v), end = first + slice_length(v);
        for (size_t i = first; i < end && i < v->count; i++)
            expected[group * GROUP + (i - first) % GROUP] += v->first_a[i] + v->b[i] + v->first_c[i];
    }
    check_equal("seen", v->seen, expected, v->units * GROUP);
}

// Xtreme2 and Xtreme3: the units of each `step`-th of the first `writers` slices also write the slice `distance` further on.
static inline void write_others(const Options *options, const Vectors *v, size_t writers, size_t step, size_t distance)
{
    region_begin();
    launch("write_others", line(v->units * GROUP, GROUP), svm(v->a), svm(v->b), svm(v->c), svm(v->seen), svm(v->arrived),
           u32(v->count), u32(v->units), u32(v->gpus), u32(options->iterations), u32(writers), u32(step), u32(distance));
    map_to_read(v->a), map_to_read(v->c), map_to_read(v->seen);
    region_end();

    if (!options->check)
        return;
    map_to_read(v->b);
    float *a = v->first_a, *c = host_array(float, v->count);
    check_seen(v);
    for (size_t i = 0; i < v->count; i++) {
        size_t slice = i / slice_length(v), from = slice - distance;
        c[i] = a[i] + v->b[i];
        if (slice >= distance && from < writers && from % step == 0)
            a[i] = c[i] + v->b[i];
        c[i] = a[i] + v->b[i];
    }
    check_equal("c", v->c, c, v->count);
    check_equal("a", v->a, a, v->count);
}

#endif
