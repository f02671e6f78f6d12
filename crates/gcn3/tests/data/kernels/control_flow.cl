kernel void control_flow(global int* a, global int* b, int n) {
    int i = get_global_id(0), sum = 0;
    for (int j = 0; j < b[i]; j++) {
        if (a[j] == n) continue;
        switch (a[j] & 7) {
        case 0: sum += j; break;
        case 1: sum ^= a[j]; break;
        case 3: sum -= 5; break;
        case 6: while (sum > 100) sum >>= 1; break;
        default: if (sum < 0) goto out;
        }
    }
out:
    a[i] = sum;
}
