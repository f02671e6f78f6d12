// How far each record lies from one place.
#pragma OPENCL FP_CONTRACT OFF

__kernel void distances(__global const float2 *records, __global float *out, uint count, float x, float y)
{
    uint i = get_global_id(0);
    if (i >= count)
        return;
    float2 d = records[i] - (float2)(x, y);
    out[i] = sqrt(d.x * d.x + d.y * d.y);
}
