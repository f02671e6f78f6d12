// Pooling of neural networks: each output is the largest of a window of 3 x 3 inputs, and windows are 2 apart. Windows at the far
// edges are cut off there. The grid is (x, y, plane).
__kernel void max_pooling(__global const float *in, __global float *out, uint planes, uint height, uint width)
{
    uint x = get_global_id(0), y = get_global_id(1), plane = get_global_id(2);
    uint out_width = (width + 1) / 2, out_height = (height + 1) / 2;
    if (x >= out_width || y >= out_height || plane >= planes)
        return;
    float largest = -INFINITY;
    for (uint row = 2 * y; row < min(2 * y + 3, height); row++)
        for (uint column = 2 * x; column < min(2 * x + 3, width); column++)
            largest = fmax(largest, in[(plane * height + row) * width + column]);
    out[(plane * out_height + y) * out_width + x] = largest;
}
