// All shortest paths after Floyd and Warshall in tiles of 16 x 16 (Katz and Kider, 2008): for each tile on the diagonal the tile itself,
// then the tiles beside and above or below it, then all others. Distances are in local memory while a tile is worked on. In step m row m
// and column m of a tile can't improve, since the way from m to itself is 0.
#define SIDE 16

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void diagonal(__global uint *distances, uint n, uint k)
{
    __local uint tile[SIDE][SIDE];
    uint j = get_local_id(0), i = get_local_id(1), at = (k * SIDE + i) * n + k * SIDE + j;
    tile[i][j] = distances[at];
    for (uint m = 0; m < SIDE; m++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint detour = tile[i][m] + tile[m][j];
        if (detour < tile[i][j])
            tile[i][j] = detour;
    }
    distances[at] = tile[i][j];
}

// The groups are (tile, 0) in row k and (tile, 1) in column k.
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void cross_tiles(__global uint *distances, uint n, uint k)
{
    __local uint pivot[SIDE][SIDE], tile[SIDE][SIDE];
    uint j = get_local_id(0), i = get_local_id(1), other = get_group_id(0), in_column = get_group_id(1);
    if (other == k)
        return;
    uint row = in_column ? other : k, column = in_column ? k : other, at = (row * SIDE + i) * n + column * SIDE + j;
    pivot[i][j] = distances[(k * SIDE + i) * n + k * SIDE + j];
    tile[i][j] = distances[at];
    for (uint m = 0; m < SIDE; m++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint detour = in_column ? tile[i][m] + pivot[m][j] : pivot[i][m] + tile[m][j];
        if (detour < tile[i][j])
            tile[i][j] = detour;
    }
    distances[at] = tile[i][j];
}

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void other_tiles(__global uint *distances, uint n, uint k)
{
    __local uint from[SIDE][SIDE], to[SIDE][SIDE];
    uint j = get_local_id(0), i = get_local_id(1), column = get_group_id(0), row = get_group_id(1);
    if (row == k || column == k)
        return;
    uint at = (row * SIDE + i) * n + column * SIDE + j;
    from[i][j] = distances[(row * SIDE + i) * n + k * SIDE + j];
    to[i][j] = distances[(k * SIDE + i) * n + column * SIDE + j];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint best = distances[at];
    for (uint m = 0; m < SIDE; m++)
        best = min(best, from[i][m] + to[m][j]);
    distances[at] = best;
}
