// Motion estimation: the sums of absolute differences of each 4 x 4 block of a frame with 17 x 17 places around it in another frame, which
// goes on with its outermost pixels beyond its edges. The grid is (place, block).
#define REACH 8
#define ACROSS (2 * REACH + 1)
#define PLACES (ACROSS * ACROSS)

__kernel void sums(__global const uchar *frame, __global const uchar *other, __global ushort *out, int width, int height)
{
    int place = get_global_id(0), block = get_global_id(1), blocks_across = width / 4;
    if (place >= PLACES || block >= blocks_across * (height / 4))
        return;
    int bx = block % blocks_across * 4, by = block / blocks_across * 4;
    int dx = place % ACROSS - REACH, dy = place / ACROSS - REACH;
    uint sum = 0;
    for (int y = by; y < by + 4; y++)
        for (int x = bx; x < bx + 4; x++) {
            int ox = clamp(x + dx, 0, width - 1), oy = clamp(y + dy, 0, height - 1);
            sum += abs_diff(frame[y * width + x], other[oy * width + ox]);
        }
    out[block * PLACES + place] = (ushort)sum;
}
