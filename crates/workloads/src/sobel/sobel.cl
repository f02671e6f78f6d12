// Sobel's filter on four colours of a byte each: half the sum of the two gradients' magnitudes; 0 at the edges of the image.
__kernel void sobel(__global const uchar4 *in, __global uchar4 *out, uint width, uint height)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[at] = (uchar4)(0);
        return;
    }
    int4 nw = convert_int4(in[at - width - 1]), n = convert_int4(in[at - width]), ne = convert_int4(in[at - width + 1]);
    int4 w = convert_int4(in[at - 1]), e = convert_int4(in[at + 1]);
    int4 sw = convert_int4(in[at + width - 1]), s = convert_int4(in[at + width]), se = convert_int4(in[at + width + 1]);
    int4 across = ne + 2 * e + se - nw - 2 * w - sw, down = sw + 2 * s + se - nw - 2 * n - ne;
    out[at] = convert_uchar4_sat((convert_int4(abs(across)) + convert_int4(abs(down))) / 2);
}
