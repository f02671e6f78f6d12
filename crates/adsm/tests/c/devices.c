/* Several devices from C: objects follow kernels, kernels go where the program or the policy says. */
#include <adsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, adsm_error());                      \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

enum { BYTES = 1 << 18 };

static void add_one(const adsm_native *call) {
    unsigned char *x = call->memory[0];
    for (size_t i = 0; i < BYTES; i++)
        x[i]++;
}

int main(void) {
    const adsm_dim one = {1, 1, 1};
    CHECK(adsm_devices() == 3);
    unsigned char *x = adsm_alloc(BYTES), *y = adsm_alloc_on(2, BYTES);
    CHECK(x && y);
    CHECK(adsm_alloc_on(3, BYTES) == NULL && strstr(adsm_error(), "device=3 is not valid"));
    CHECK(adsm_alloc_on(-1, BYTES) == NULL);

    adsm_kernel *kernel = adsm_kernel_new("add_one");
    CHECK(adsm_kernel_native(kernel, add_one) == ADSM_OK);
    adsm_arg written = ADSM_WRITE(x), anything = ADSM_SHARED(y);

    /* Calls on different devices that write the same object wait for each other. */
    x[5] = 10;
    for (int device = 0; device < 3; device++)
        CHECK(adsm_call_on(device, kernel, one, one, &written, 1) == ADSM_OK);
    CHECK(adsm_sync() == ADSM_OK && x[5] == 13 && x[BYTES - 1] == 3);
    CHECK(adsm_call_on(7, kernel, one, one, &written, 1) == ADSM_INVALID);

    /* By policy. */
    CHECK(adsm_schedule("fastest") == ADSM_INVALID && strstr(adsm_error(), "least-loaded"));
    CHECK(adsm_schedule("9") == ADSM_INVALID && adsm_schedule(NULL) == ADSM_INVALID);
    const char *policies[] = {"round-robin", "least-loaded", "affinity", "1"};
    for (int policy = 0; policy < 4; policy++) {
        CHECK(adsm_schedule(policies[policy]) == ADSM_OK);
        CHECK(adsm_call(kernel, one, one, &written, 1) == ADSM_OK && adsm_sync() == ADSM_OK);
    }
    CHECK(x[5] == 17);

    /* Of whose use nothing is known runs at home, whatever the policy says. */
    CHECK(adsm_call(kernel, one, one, &anything, 1) == ADSM_OK && adsm_sync() == ADSM_OK && y[0] == 1);

    /* Batch-update brings everything back after each call, so nothing is only on another device. */
    const char *protocol = getenv("ADSM_PROTOCOL");
    int batch = protocol && strcmp(protocol, "batch") == 0;
    adsm_totals totals;
    CHECK(adsm_stats(&totals) == ADSM_OK && totals.calls == 8 && totals.wait_nanoseconds > 0);
    CHECK(batch ? totals.migrations == 0 : totals.migration_bytes >= 2 * BYTES);
    CHECK(adsm_free(x) == ADSM_OK && adsm_free(y) == ADSM_OK);
    adsm_kernel_free(kernel);
    puts("right");
    return 0;
}
