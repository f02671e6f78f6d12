// One step of a seven-point stencil over a box: each inner cell becomes a weighted sum of itself and its six
// neighbours; the cells of the surface stay as they are.
#pragma OPENCL FP_CONTRACT OFF

__kernel void stencil(__global const float *in, __global float *out, float centre, float side)
{
    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    uint width = get_global_size(0), height = get_global_size(1), depth = get_global_size(2);
    uint row = width, layer = width * height;
    uint i = z * layer + y * row + x;

    if (x == 0 || y == 0 || z == 0 || x == width - 1 || y == height - 1 || z == depth - 1) {
        out[i] = in[i];
    } else {
        float around = in[i - 1] + in[i + 1] + in[i - row] + in[i + row] + in[i - layer] + in[i + layer];
        out[i] = centre * in[i] + side * around;
    }
}
