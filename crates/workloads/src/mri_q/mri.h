// Both programs of magnetic resonance: the points of an image, and samples that each contribute to every point.
#ifndef MRI_H
#define MRI_H

#include "guest.h"

#include <math.h>

#define SAMPLES_PER_LAUNCH 256

static float sine_turn(float t)
{
    t = t - floorf(t + 0.5f);
    if (t > 0.25f)
        t = 0.5f - t;
    if (t < -0.25f)
        t = -0.5f - t;
    float x = 6.2831853f * t, xx = x * x;
    return x * (1.0f + xx * (-0.16666667f + xx * (0.0083333310f + xx * (-0.00019840874f + xx * 0.0000027525562f))));
}

#endif
