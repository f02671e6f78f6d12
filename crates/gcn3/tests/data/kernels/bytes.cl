kernel void bytes(global uchar4* in, global uchar* out, global short* s, global ushort2* t, int n) {
    int i = get_global_id(0);
    uchar4 p = in[i];
    out[4 * i] = (p.x * 77 + p.y * 150 + p.z * 29) >> 8;
    out[4 * i + 1] = max(p.x, p.y) - min(p.z, p.w);
    short a = s[i], b = s[i + 1];
    s[i] = (short)(a * b) + (short)(a >> 3);
    t[i] = (ushort2)(abs_diff(p.x, p.y), mul24((int)p.z, n)) ^ t[i + 1];
    out[4 * i + 2] = popcount(p.w) + clz(p.x);
    out[4 * i + 3] = convert_uchar_sat((float)a * 0.25f);
}
