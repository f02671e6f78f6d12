#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void doubles(global double* x, global double* y, global long* z, int n) {
    int i = get_global_id(0);
    double a = x[i], b = y[i];
    x[i] = a / b + sqrt(fabs(a)) - floor(b);
    y[i] = fma(a, b, fmin(a, b)) * ldexp(b, n);
    z[i] = convert_long_rtz(a) + (isnan(b) ? 1 : (a < b ? 2 : 3));
}
