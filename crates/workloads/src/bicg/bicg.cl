// The two products in the loop of the biconjugate gradient method: q = A p and s = A^T r. A work-item has a row of the first and a
// column of the second.
#pragma OPENCL FP_CONTRACT OFF

__kernel void bicg_rows(__global const float *a, __global const float *p, __global float *q, uint rows, uint columns)
{
    uint row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (uint column = 0; column < columns; column++)
        sum += a[row * columns + column] * p[column];
    q[row] = sum;
}

__kernel void bicg_columns(__global const float *a, __global const float *r, __global float *s, uint rows, uint columns)
{
    uint column = get_global_id(0);
    if (column >= columns)
        return;
    float sum = 0.0f;
    for (uint row = 0; row < rows; row++)
        sum += a[row * columns + column] * r[row];
    s[column] = sum;
}
