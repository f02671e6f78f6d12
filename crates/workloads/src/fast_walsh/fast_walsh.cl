// One stage of the fast Walsh-Hadamard transform: pairs `stride` apart become their sum and their difference.
__kernel void fast_walsh(__global float *data, uint stride)
{
    uint i = get_global_id(0);
    uint within = i % stride;
    uint upper = 2 * (i - within) + within, lower = upper + stride;
    float a = data[upper], b = data[lower];
    data[upper] = a + b;
    data[lower] = a - b;
}
