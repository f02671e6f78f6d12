// Sequence alignment after Needleman and Wunsch: what the GPU's version and the CPU's have in common.
#ifndef NEEDLEMAN_WUNSCH_H
#define NEEDLEMAN_WUNSCH_H

#include "guest.h"

#include <string.h>

#define BLOCK 16
#define PENALTY 10
#define LETTERS 24

// How well each letter of one sequence matches each of the other, by a random table over 24 letters.
static int32_t *random_matches(Random *random, size_t n)
{
    int32_t table[LETTERS * LETTERS];
    for (size_t i = 0; i < LETTERS * LETTERS; i++)
        table[i] = (int32_t)random_below(random, 16) - 6;
    uint32_t *down = host_array(uint32_t, n), *across = host_array(uint32_t, n);
    for (size_t i = 0; i < n; i++)
        down[i] = random_below(random, LETTERS);
    for (size_t i = 0; i < n; i++)
        across[i] = random_below(random, LETTERS);

    int32_t *matches = input_array(int32_t, n * n);
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++)
            matches[y * n + x] = table[down[y] * LETTERS + across[x]];
    return matches;
}

// The first row and column: gaps only.
static void set_borders(int32_t *scores, size_t n)
{
    memset(scores, 0, (n + 1) * (n + 1) * sizeof *scores);
    for (size_t i = 0; i <= n; i++)
        scores[i] = scores[i * (n + 1)] = -(int32_t)i * PENALTY;
}

static int32_t max(int32_t a, int32_t b) { return a > b ? a : b; }

static void align(int32_t *scores, const int32_t *matches, size_t n)
{
    size_t stride = n + 1;
    for (size_t y = 1; y <= n; y++)
        for (size_t x = 1; x <= n; x++) {
            int32_t matched = scores[(y - 1) * stride + x - 1] + matches[(y - 1) * n + x - 1];
            int32_t gap = max(scores[(y - 1) * stride + x], scores[y * stride + x - 1]) - PENALTY;
            scores[y * stride + x] = max(matched, gap);
        }
}

#endif
