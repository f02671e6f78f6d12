// k-means clustering: what the GPU's version and the CPU's have in common.
#ifndef KMEANS_H
#define KMEANS_H

#include "guest.h"

#include <float.h>
#include <string.h>

#define CLUSTERS 8
#define FEATURES 16

typedef struct {
    const float *rows, *centres;
    uint32_t *membership;
} Points;

// The nearest centre of each point; the first, when two are equally near. Adds in the kernel's order.
static void assign(void *context, size_t first, size_t end)
{
    const Points *points = context;
    for (size_t p = first; p < end; p++) {
        const float *point = points->rows + p * FEATURES;
        float best = FLT_MAX;
        for (uint32_t c = 0; c < CLUSTERS; c++) {
            const float *centre = points->centres + c * FEATURES;
            float distance = 0.0f;
            for (size_t f = 0; f < FEATURES; f++) {
                float d = point[f] - centre[f];
                distance += d * d;
            }
            if (distance < best) {
                best = distance;
                points->membership[p] = c;
            }
        }
    }
}

// The mean of the points of each cluster; the origin for a cluster without any.
static void move_centres(const float *rows, const uint32_t *membership, size_t n, float *centres)
{
    float counts[CLUSTERS] = {0};
    memset(centres, 0, CLUSTERS * FEATURES * sizeof *centres);
    for (size_t p = 0; p < n; p++) {
        uint32_t cluster = membership[p] % CLUSTERS;
        counts[cluster] += 1.0f;
        for (size_t f = 0; f < FEATURES; f++)
            centres[cluster * FEATURES + f] += rows[p * FEATURES + f];
    }
    for (size_t i = 0; i < CLUSTERS * FEATURES; i++)
        centres[i] /= counts[i / FEATURES] > 1.0f ? counts[i / FEATURES] : 1.0f;
}


static const float *random_points(size_t count)
{
    require(count >= CLUSTERS, "--size %zu: at least %d points are needed", count, CLUSTERS);
    Random random = seeded(18);
    return random_floats(&random, cells(count, FEATURES, 1), 0.0f, 10.0f);
}

#endif
