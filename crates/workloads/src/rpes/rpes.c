// Electron repulsion: arithmetic with exponentials and roots; a launch for each primitive, over results that stay where they are.
#include "guest.h"

#include <math.h>

KERNELS(rpes);

#define TERMS 48

typedef struct {
    const float *shells;
    float *integrals;
    size_t count, primitives;
} Shells;

static double boys(double t)
{
    if (t > 12.0)
        return 0.88622693 / sqrt(t);
    double term = 1.0, sum = 1.0;
    for (int k = 1; k < TERMS; k++) {
        term *= 2.0 * t / (2 * k + 1);
        sum += term;
    }
    return sum * exp(-t);
}

static double integral(const float *a, const float *b, const float *c, const float *d)
{
    double p = (double)a[3] + b[3], q = (double)c[3] + d[3], ab = 0.0, cd = 0.0, pq = 0.0;
    for (int k = 0; k < 3; k++) {
        double centre = ((double)a[3] * a[k] + (double)b[3] * b[k]) / p - ((double)c[3] * c[k] + (double)d[3] * d[k]) / q;
        ab += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
        cd += ((double)c[k] - d[k]) * ((double)c[k] - d[k]);
        pq += centre * centre;
    }
    double decay = exp(-((double)a[3] * b[3] / p * ab + (double)c[3] * d[3] / q * cd));
    return 34.986836 / (p * q * sqrt(p + q)) * decay * boys(p * q / (p + q) * pq);
}

static void add_rows(void *context, size_t first, size_t end)
{
    const Shells *all = context;
    for (size_t b = first; b < end; b++)
        for (size_t d = 0; d < all->count; d++) {
            double sum = 0.0;
            for (size_t a = 0; a < all->primitives; a++)
                for (size_t c = 0; c < all->primitives; c++)
                    sum += integral(all->shells + 4 * a, all->shells + 4 * b, all->shells + 4 * c, all->shells + 4 * d);
            all->integrals[b * all->count + d] = (float)sum;
        }
}

static void run(const Options *options)
{
    size_t count = options->size[0], primitives = options->size[1] ? options->size[1] : 2, n = cells(count, count, 1);
    require(primitives <= count, "--size %zux%zu: there are fewer shells than primitives", count, primitives);
    Random random = seeded(63);
    float *shells = input_array(float, 4 * count), *factors = input_array(float, TERMS), *integrals = input_array(float, n);
    for (size_t i = 0; i < 4 * count; i++)
        shells[i] = i % 4 == 3 ? random_f32(&random, 0.3f, 1.3f) : random_f32(&random, 0.0f, 2.0f);
    for (size_t k = 0; k < TERMS; k++)
        factors[k] = 2.0f / (float)(2 * k + 1);
    for (size_t i = 0; i < n; i++)
        integrals[i] = 0.0f;

    region_begin();
    for (size_t a = 0; a < primitives; a++)
        launch("add_integrals", plane(count, count, 64, 4), svm(shells), svm(factors), svm(integrals), u32(count),
               u32(primitives), u32(a));
    map_to_read(integrals);
    region_end();

    if (!options->check)
        return;
    map_to_read(shells);
    float *expected = host_array(float, n);
    Shells job = {shells, expected, count, primitives};
    parallel(count, 0, add_rows, &job);
    // All terms are positive. Exponents are up to 23 and off by some 12 ulps, which makes 200 of a result; the series of Boys'
    // function, some 100 roundings.
    check_within("integrals", integrals, expected, expected, 512.0, n);
}

const Program rpes_program = {
    .name = "rpes",
    .about = "adds up electron repulsion integrals of Gaussians, those of one primitive per launch",
    .size_means = "SHELLSxPRIMITIVES, or shells, and 2 primitives",
    .tiny = {24, 2},
    .full = {1024, 2},
    .presets = {{"paper-gmac", {1024, 8}}, {"scaled-gmac", {256, 4}}},
    .kernels = &kernels,
    .run = run,
};
