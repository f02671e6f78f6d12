// Magnetic resonance: the matrix Q. The first kernel has the magnitudes of the samples, the second adds some of the samples to every
// point of the image.
#pragma OPENCL FP_CONTRACT OFF

// Sine of 2 pi t, for any t of moderate size: a polynomial in the distance to the nearest quarter of a turn.
static float sine_turn(float t)
{
    t = t - floor(t + 0.5f);
    if (t > 0.25f)
        t = 0.5f - t;
    if (t < -0.25f)
        t = -0.5f - t;
    float x = 6.2831853f * t, xx = x * x;
    return x * (1.0f + xx * (-0.16666667f + xx * (0.0083333310f + xx * (-0.00019840874f + xx * 0.0000027525562f))));
}

__kernel void magnitudes(__global const float2 *phi, __global float *magnitude, uint samples)
{
    uint i = get_global_id(0);
    if (i < samples)
        magnitude[i] = phi[i].x * phi[i].x + phi[i].y * phi[i].y;
}

__kernel void add_q(__global const float *k, __global const float *magnitude, __global const float *points,
                    __global float2 *q, uint first, uint end, uint count)
{
    uint i = get_global_id(0);
    if (i >= count)
        return;
    float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
    float2 sum = q[i];
    for (uint s = first; s < end; s++) {
        float turn = k[3 * s] * x + k[3 * s + 1] * y + k[3 * s + 2] * z;
        sum.x += magnitude[s] * sine_turn(turn + 0.25f);
        sum.y += magnitude[s] * sine_turn(turn);
    }
    q[i] = sum;
}
