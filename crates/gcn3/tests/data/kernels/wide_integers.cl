kernel void wide_integers(global long* a, global ulong* b, global int* c, int n) {
    int i = get_global_id(0);
    a[i] = a[i] * b[i] + mul_hi(b[i], (ulong)n);
    b[i] = (b[i] >> (c[i] & 63)) | rotate(b[i], (ulong)n);
    c[i] = c[i] % n + (a[i] < (long)b[i]) + bitselect(c[i], n, 0x00ff00ff) + sub_sat(c[i], n);
}
