// One step of Floyd and Warshall's search for all shortest paths, on many maps at once: is the way from i to j
// through k shorter? The grid is (j, i, map). Row k and column k cannot improve in step k, since the way from k to
// itself is 0, so that reading and writing the same matrix is safe.
__kernel void through(__global uint *distances, __global uint *first_hops, uint k)
{
    uint j = get_global_id(0), i = get_global_id(1), map = get_global_id(2);
    uint n = get_global_size(0);
    __global uint *from_i = distances + (map * n + i) * n;
    __global uint *from_k = distances + (map * n + k) * n;

    uint detour = from_i[k] + from_k[j];
    if (detour < from_i[j]) {
        from_i[j] = detour;
        __global uint *hops_i = first_hops + (map * n + i) * n;
        hops_i[j] = hops_i[k];
    }
}
