kernel void private_array(global int* out, global const int* in, int n) {
    int heap[40];
    for (int i = 0; i < 40; i++) heap[i] = in[i * n];
    for (int i = 0; i < n; i++) heap[in[i] & 31] += heap[in[i + 1] & 31] * i;
    out[get_global_id(0)] = heap[n & 31];
}
