kernel void transcendental(global float* x, global float* y) {
    int i = get_global_id(0);
    float a = x[i];
    y[i] = native_sin(a) + native_cos(a) * native_exp(a) - native_log(a);
    x[i] = exp2(a) + log2(a) + rsqrt(a) + half_recip(a) + a / y[i];
}
