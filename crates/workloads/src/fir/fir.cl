// A finite impulse response filter: out[i] = sum of taps[k] * in[i - k]. The input starts with count_taps - 1
// samples of history, so that no work-item needs to look whether it is at the edge.
#pragma OPENCL FP_CONTRACT OFF

__kernel void fir(__global const float *in, __constant float *taps, __global float *out, uint count, uint count_taps)
{
    uint i = get_global_id(0);
    if (i >= count)
        return;

    float sum = 0.0f;
    for (uint k = 0; k < count_taps; k++)
        sum += taps[k] * in[i + count_taps - 1 - k];
    out[i] = sum;
}
