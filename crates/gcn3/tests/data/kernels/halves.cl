#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void halves(global half* x, global half* y, global float* z) {
    int i = get_global_id(0);
    half a = x[i], b = y[i];
    x[i] = fma(a, b, a) + fmax(a, b) * (half)2.5f;
    y[i] = sqrt(a) - floor(b);
    z[i] = vload_half(i, y) + (a < b ? 1.0f : (float)a);
}
