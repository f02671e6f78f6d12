// Heat on a chip: what the GPU's version and the CPU's have in common.
#ifndef HOTSPOT_H
#define HOTSPOT_H

#include "guest.h"

static const float HEATING = 0.5f, ALONG_X = 0.1f, ALONG_Y = 0.15f, TO_AMBIENT = 0.0005f, AMBIENT = 80.0f;

typedef struct {
    const float *in, *power;
    float *out;
    size_t width, height;
} Chip;

static void step_rows(void *context, size_t first, size_t end)
{
    const Chip *c = context;
    size_t width = c->width;
    for (size_t y = first; y < end; y++) {
        for (size_t x = 0; x < width; x++) {
            const float *cell = c->in + y * width + x;
            float centre = *cell;
            float west = x > 0 ? cell[-1] : centre, east = x < width - 1 ? cell[1] : centre;
            float north = y > 0 ? *(cell - width) : centre, south = y < c->height - 1 ? cell[width] : centre;
            float change = HEATING * c->power[y * width + x];
            change += ALONG_X * (west + east - 2.0f * centre);
            change += ALONG_Y * (north + south - 2.0f * centre);
            change += TO_AMBIENT * (AMBIENT - centre);
            c->out[y * width + x] = centre + change;
        }
    }
}

#endif
