// Convolves an image with a small square filter; beyond its edges the image goes on with its outermost pixels.
#pragma OPENCL FP_CONTRACT OFF

__kernel void convolution(__global const float *in, __global float *out, __constant float *filter,
                          int width, int height, int radius)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    float sum = 0.0f;
    for (int dy = -radius; dy <= radius; dy++) {
        int row = clamp(y + dy, 0, height - 1) * width;
        for (int dx = -radius; dx <= radius; dx++)
            sum += *filter++ * in[row + clamp(x + dx, 0, width - 1)];
    }
    out[y * width + x] = sum;
}
