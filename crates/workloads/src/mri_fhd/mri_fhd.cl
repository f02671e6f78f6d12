// Magnetic resonance: F^H d. The first kernel multiplies two complex numbers for each sample, the second adds some of the samples to
// every point of the image.
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

__kernel void products(__global const float2 *phi, __global const float2 *d, __global float2 *rho, uint samples)
{
    uint i = get_global_id(0);
    if (i >= samples)
        return;
    float2 a = phi[i], b = d[i];
    rho[i] = (float2)(a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x);
}

__kernel void add_fhd(__global const float *k, __global const float2 *rho, __global const float *points,
                      __global float2 *fhd, uint first, uint end, uint count)
{
    uint i = get_global_id(0);
    if (i >= count)
        return;
    float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
    float2 sum = fhd[i];
    for (uint s = first; s < end; s++) {
        float turn = k[3 * s] * x + k[3 * s + 1] * y + k[3 * s + 2] * z;
        float c = sine_turn(turn + 0.25f), sine = sine_turn(turn), a = rho[s].x, b = rho[s].y;
        sum.x += a * c + b * sine;
        sum.y += b * c - a * sine;
    }
    fhd[i] = sum;
}
