// options:-O0
int twice(int x) { return 2 * x; }
kernel void scratch(global int* out, int n) {
    int window[8];
    for (int i = 0; i < 8; i++) window[i] = twice(n + i);
    out[get_global_id(0)] = window[n & 7];
}
