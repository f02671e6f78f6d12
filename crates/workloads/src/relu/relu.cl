// y = max(x, 0), the rectifier of neural networks.
__kernel void relu(__global const float *x, __global float *y, uint count)
{
    uint i = get_global_id(0);
    if (i < count)
        y[i] = fmax(x[i], 0.0f);
}
