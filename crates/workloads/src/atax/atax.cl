// y = A^T (A x): the rows of a matrix times a vector, then its columns times the result. A work-item has a row, then a column, so
// that neighbours read far from each other in the first kernel and next to each other in the second.
#pragma OPENCL FP_CONTRACT OFF

__kernel void atax_rows(__global const float *a, __global const float *x, __global float *ax, uint rows, uint columns)
{
    uint row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (uint column = 0; column < columns; column++)
        sum += a[row * columns + column] * x[column];
    ax[row] = sum;
}

__kernel void atax_columns(__global const float *a, __global const float *ax, __global float *y, uint rows, uint columns)
{
    uint column = get_global_id(0);
    if (column >= columns)
        return;
    float sum = 0.0f;
    for (uint row = 0; row < rows; row++)
        sum += a[row * columns + column] * ax[row];
    y[column] = sum;
}
