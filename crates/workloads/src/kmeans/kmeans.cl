// The parts of k-means clustering that run on the GPU: points are turned from rows to columns once, so that
// neighbouring work-items read neighbouring floats; then each iteration finds every point's nearest centre.
#pragma OPENCL FP_CONTRACT OFF

__kernel void to_columns(__global const float *rows, __global float *columns, uint points, uint features)
{
    uint point = get_global_id(0);
    if (point >= points)
        return;
    for (uint f = 0; f < features; f++)
        columns[f * points + point] = rows[point * features + f];
}

__kernel void nearest(__global const float *columns, __global const float *centres, __global uint *membership,
                      uint points, uint clusters, uint features)
{
    uint point = get_global_id(0);
    if (point >= points)
        return;
    uint best = 0;
    float best_distance = FLT_MAX;
    for (uint c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (uint f = 0; f < features; f++) {
            float d = columns[f * points + point] - centres[c * features + f];
            distance += d * d;
        }
        if (distance < best_distance) {
            best_distance = distance;
            best = c;
        }
    }
    membership[point] = best;
}
