// One step of heat on a chip: a cell warms by its own power, by its neighbours and loses heat to the ambient. Beyond
// the edges it is as warm as at the edge.
#pragma OPENCL FP_CONTRACT OFF

__kernel void hotspot(__global const float *in, __global const float *power, __global float *out, uint width,
                      uint height, float heating, float along_x, float along_y, float to_ambient, float ambient)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint i = y * width + x;
    float centre = in[i];
    float west = x > 0 ? in[i - 1] : centre, east = x < width - 1 ? in[i + 1] : centre;
    float north = y > 0 ? in[i - width] : centre, south = y < height - 1 ? in[i + width] : centre;

    float change = heating * power[i];
    change += along_x * (west + east - 2.0f * centre);
    change += along_y * (north + south - 2.0f * centre);
    change += to_ambient * (ambient - centre);
    out[i] = centre + change;
}
