// The fast Fourier transform of `count` = 2^bits complex numbers, radix 2, decimation in time: put the input into
// bit-reversed order, then combine pairs of sub-transforms of `half` points, half = 1, 2, 4, ... count / 2.
// twiddles[k] = exp(-2 pi i k / count).
#pragma OPENCL FP_CONTRACT OFF

__kernel void bit_reverse(__global const float2 *in, __global float2 *out, uint bits)
{
    uint i = get_global_id(0), reversed = 0;
    for (uint bit = 0; bit < bits; bit++)
        reversed |= ((i >> bit) & 1u) << (bits - 1 - bit);
    out[reversed] = in[i];
}

__kernel void butterflies(__global float2 *data, __global const float2 *twiddles, uint half_size)
{
    uint i = get_global_id(0);
    uint k = i & (half_size - 1);
    uint upper = 2 * i - k, lower = upper + half_size;
    float2 w = twiddles[k * (get_global_size(0) / half_size)];
    float2 a = data[upper], b = data[lower];
    float2 wb = (float2)(w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x);
    data[upper] = a + wb;
    data[lower] = a - wb;
}
