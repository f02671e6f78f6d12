// The potential of charges (x, y, z, q) at every point of a plane. Each launch adds that of some of the charges.
#pragma OPENCL FP_CONTRACT OFF

__kernel void add_potential(__global const float4 *atoms, __global float *potential, uint first, uint end, uint width,
                            float spacing)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= width)
        return;
    float sum = potential[y * width + x], px = spacing * (float)x, py = spacing * (float)y;
    for (uint i = first; i < end; i++) {
        float4 atom = atoms[i];
        float dx = px - atom.x, dy = py - atom.y;
        sum += atom.w * rsqrt(dx * dx + dy * dy + atom.z * atom.z);
    }
    potential[y * width + x] = sum;
}
