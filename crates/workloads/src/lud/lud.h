// LU decomposition: what the GPU's version and the CPU's have in common.
#ifndef LUD_H
#define LUD_H

#include "guest.h"

#define BLOCK 16

typedef struct {
    float *all;
    size_t side;
} Matrices;

// The textbook's three loops.
static void decompose(void *context, size_t first, size_t end)
{
    const Matrices *m = context;
    size_t side = m->side;
    for (size_t i = first; i < end; i++) {
        float *matrix = m->all + i * side * side;
        for (size_t k = 0; k < side; k++)
            for (size_t y = k + 1; y < side; y++) {
                float factor = matrix[y * side + k] /= matrix[k * side + k];
                for (size_t x = k + 1; x < side; x++)
                    matrix[y * side + x] -= factor * matrix[k * side + x];
            }
    }
}


// Diagonals outweigh their rows, so that nothing needs to be exchanged.
static float *random_matrices(size_t side, size_t count)
{
    Random random = seeded(23);
    float *all = random_floats(&random, cells(side, side, count), -1.0f, 1.0f);
    for (size_t i = 0; i < side * count; i++)
        all[i * side + i % side] += (float)side;
    return all;
}

#endif
