// Finds edges: convolves an image of bytes with a filter whose weights add up to 0, so that only changes remain.
// Beyond its edges the image goes on with its outermost pixels. The launch is for `rows` rows from `first_row` on;
// `out` starts with the first of them.
__kernel void edge(__global const uchar *in, __global uchar *out, __constant int *filter, int radius, int width,
                   int height, int first_row, int rows)
{
    int x = get_global_id(0), row = get_global_id(1), y = first_row + row;
    if (x >= width || row >= rows)
        return;

    int sum = 0;
    for (int dy = -radius; dy <= radius; dy++) {
        int start = clamp(y + dy, 0, height - 1) * width;
        for (int dx = -radius; dx <= radius; dx++)
            sum += *filter++ * in[start + clamp(x + dx, 0, width - 1)];
    }
    out[row * width + x] = min(abs(sum) / 4, 255u);
}
