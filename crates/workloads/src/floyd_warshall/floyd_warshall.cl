// One step of Floyd and Warshall's search for all shortest paths, on many maps at once: is the way from i to j
// through k shorter? The grid is (j, i, map). Row k and column k cannot improve in step k, since the way from k to
// itself is 0, so that reading and writing the same matrix is safe.
__kernel __attribute__((reqd_work_group_size(64, 2, 1)))
void through(__global uint *distances, __global uint *first_hops, uint n, uint k)
{
    uint j = get_global_id(0), i = get_global_id(1), map = get_global_id(2);
    uint from_i = (map * n + i) * n, from_k = (map * n + k) * n;

    uint detour = distances[from_i + k] + distances[from_k + j];
    if (detour < distances[from_i + j]) {
        distances[from_i + j] = detour;
        first_hops[from_i + j] = first_hops[from_i + k];
    }
}

// The grid is (i, j, map): neighbouring work-items have neighbouring rows, so that a wavefront reads 16 lines where it reads one above.
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void through_columns(__global uint *distances, __global uint *first_hops, uint n, uint k)
{
    uint i = get_global_id(0), j = get_global_id(1), map = get_global_id(2);
    uint from_i = (map * n + i) * n, from_k = (map * n + k) * n;

    uint detour = distances[from_i + k] + distances[from_k + j];
    if (detour < distances[from_i + j]) {
        distances[from_i + j] = detour;
        first_hops[from_i + j] = first_hops[from_i + k];
    }
}
