// Back-propagation in a network with one hidden layer of 16 units: weights[i][h] leads from input i to hidden unit h.
#pragma OPENCL FP_CONTRACT OFF
#define HIDDEN 16
#define ROWS 16

// A workgroup adds up what its 16 inputs bring to each hidden unit; the host adds the sums of all workgroups.
__kernel __attribute__((reqd_work_group_size(HIDDEN, ROWS, 1)))
void forward(__global const float *inputs, __global const float *weights, __global float *sums)
{
    __local float products[ROWS][HIDDEN];
    uint h = get_local_id(0), row = get_local_id(1), i = get_global_id(1);
    products[row][h] = inputs[i] * weights[i * HIDDEN + h];
    for (uint left = ROWS / 2; left > 0; left /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (row < left)
            products[row][h] += products[row + left][h];
    }
    if (row == 0)
        sums[get_group_id(1) * HIDDEN + h] = products[0][h];
}

// Weights follow the error of their hidden unit, with some of the change of last time.
__kernel __attribute__((reqd_work_group_size(HIDDEN, ROWS, 1)))
void adjust(__global const float *inputs, __global const float *errors, __global float *weights,
            __global float *changes, float rate, float momentum)
{
    uint h = get_global_id(0), i = get_global_id(1), w = i * HIDDEN + h;
    float change = rate * errors[h] * inputs[i] + momentum * changes[w];
    weights[w] += change;
    changes[w] = change;
}
