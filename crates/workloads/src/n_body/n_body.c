// Gravity between all pairs of bodies: arithmetic and reciprocal square roots, fed from local memory.
#include "guest.h"

#include <math.h>

KERNELS(n_body);

#define GROUP 128
static const float SOFTENING = 0.01f, DT = 0.001f;

// x, y, z and, of a body, its mass.
typedef struct {
    float at[4];
} Float4;

typedef struct {
    const Float4 *bodies, *velocities;
    size_t count; // in a cluster
    Float4 *new_bodies, *new_velocities;
    Float4 *velocity_scale, *body_scale; // the sizes of everything that was added up
} Step;

static void move(void *context, size_t first, size_t end)
{
    const Step *s = context;
    for (size_t i = first; i < end; i++) {
        const Float4 *cluster = s->bodies + i / s->count * s->count, *me = &s->bodies[i];
        float acceleration[3] = {0}, size[3] = {0};
        for (size_t j = 0; j < s->count; j++) {
            const float *other = cluster[j].at;
            float r[3] = {other[0] - me->at[0], other[1] - me->at[1], other[2] - me->at[2]};
            float squared = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + SOFTENING;
            float inverse = (float)(1.0 / sqrt((double)squared));
            float strength = other[3] * inverse * inverse * inverse;
            for (int d = 0; d < 3; d++) {
                acceleration[d] += strength * r[d];
                size[d] += fabsf(strength * r[d]);
            }
        }
        s->new_bodies[i].at[3] = me->at[3];
        s->velocity_scale[i].at[3] = 1.0f;
        s->body_scale[i].at[3] = me->at[3];
        for (int d = 0; d < 3; d++) {
            float velocity = s->velocities[i].at[d] + acceleration[d] * DT;
            s->new_velocities[i].at[d] = velocity;
            s->new_bodies[i].at[d] = me->at[d] + velocity * DT;
            s->velocity_scale[i].at[d] = fabsf(s->velocities[i].at[d]) + size[d] * DT;
            s->body_scale[i].at[d] = fabsf(me->at[d]) + DT * s->velocity_scale[i].at[d];
        }
    }
}

static Float4 *random_vectors(Random *random, size_t n, float limit, float low_mass, float high_mass)
{
    Float4 *vectors = input_array(Float4, n);
    for (size_t i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++)
            vectors[i].at[d] = random_f32(random, -limit, limit);
        vectors[i].at[3] = high_mass > 0.0f ? random_f32(random, low_mass, high_mass) : 0.0f;
    }
    return vectors;
}

static void run(const Options *options)
{
    size_t count = options->size[0], clusters = options->size[1] ? options->size[1] : 1;
    require(count % GROUP == 0, "--size %zu: the number of bodies must be a multiple of %d", count, GROUP);
    size_t n = cells(count, clusters, 4) / 4;
    Random random = seeded(13);
    const Float4 *bodies = random_vectors(&random, n, 1.0f, 0.1f, 1.0f);
    const Float4 *velocities = random_vectors(&random, n, 0.1f, 0.0f, 0.0f);
    Float4 *new_bodies = svm_array(Float4, n), *new_velocities = svm_array(Float4, n);

    region_begin();
    launch("n_body", plane(count, clusters, GROUP, 1), svm(bodies), svm(velocities), svm(new_bodies),
           svm(new_velocities), local_memory(GROUP * sizeof(Float4)), f32(SOFTENING), f32(DT));
    map_to_read(new_bodies), map_to_read(new_velocities);
    region_end();

    if (!options->check)
        return;
    map_to_read(bodies), map_to_read(velocities);
    Step step = {bodies, velocities, count, host_array(Float4, n), host_array(Float4, n),
                 host_array(Float4, n), host_array(Float4, n)};
    parallel(n, 0, move, &step);
    // OpenCL lets rsqrt be off by 2 ulps (the reference rounds it right), three of which multiply, beside 3 roundings:
    // a term differs by at most 9 ulps, and so does their sum in ulps of the sum of the terms' sizes. The rest of the
    // 16 is for the roundings of partial sums. A position adds dt * velocity: the same, on its own scale.
    check_within("velocity", new_velocities, step.new_velocities, (float *)step.velocity_scale, 16.0, 4 * n);
    check_within("position", new_bodies, step.new_bodies, (float *)step.body_scale, 2.0, 4 * n);
}

const Program n_body_program = {
    .name = "n-body",
    .about = "moves bodies under the gravity of all others, in many clusters at once",
    .size_means = "BODIESxCLUSTERS, or the bodies of one cluster; bodies are a multiple of 128",
    .tiny = {256, 2},
    .full = {512, 128},
    .kernels = &kernels,
    .run = run,
};
