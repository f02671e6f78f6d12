// The cheapest paths through a grid, row by row: from a place one can go straight on or to either side. A workgroup takes its part of
// the result through several rows in local memory; what lies at its edges is right for fewer and fewer columns, so that workgroups
// overlap by as many columns on each side as there are rows.
#define GROUP 256

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void path_rows(__global const uint *costs, __global const uint *from, __global uint *to, int columns, int first, int rows)
{
    __local uint best[2][GROUP];
    int l = get_local_id(0), x = (int)get_group_id(0) * (GROUP - 2 * rows) + l - rows, turn = 0;
    bool inside = x >= 0 && x < columns;
    best[0][l] = inside ? from[x] : 0;
    for (int row = 0; row < rows; row++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint least = best[turn][l];
        if (inside && l > row && l < GROUP - 1 - row) {
            if (x > 0)
                least = min(least, best[turn][l - 1]);
            if (x < columns - 1)
                least = min(least, best[turn][l + 1]);
            least += costs[(first + row) * columns + x];
        }
        turn ^= 1;
        best[turn][l] = least;
    }
    if (inside && l >= rows && l < GROUP - rows)
        to[x] = best[turn][l];
}
