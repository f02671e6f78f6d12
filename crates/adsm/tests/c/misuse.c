/* What a program must not do is refused with words for it, and what is not in the Rust interface works. */
#include <adsm.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, adsm_error());                      \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

enum { BYTES = 1 << 20 };

static void add_one(const adsm_native *call) {
    unsigned char *x = call->memory[0];
    for (size_t i = 0; i < BYTES; i++)
        x[i]++;
}

static void add_two_through_pointer(const adsm_native *call) {
    (void)call;
}

int main(void) {
    unsigned char *x = adsm_alloc(BYTES), *y = adsm_alloc(BYTES), local[64];
    CHECK(x && y);

    /* Misuse. */
    CHECK(adsm_free(local) == ADSM_FOREIGN && strstr(adsm_error(), "does not belong"));
    CHECK(adsm_free(x + 1) == ADSM_FOREIGN && strstr(adsm_error(), "only its start"));
    CHECK(adsm_alloc(0) == NULL && strstr(adsm_error(), "0 bytes"));
    CHECK(adsm_alloc((size_t)1 << 60) == NULL);
    CHECK(adsm_memset(x, 1, BYTES + 1) == ADSM_INVALID && strstr(adsm_error(), "leave the object"));
    CHECK(adsm_safe(local) == 0);
    void *gone = adsm_alloc(100);
    CHECK(adsm_free(gone) == ADSM_OK);
    CHECK(adsm_free(gone) == ADSM_FOREIGN && strstr(adsm_error(), "freed before"));
    CHECK(adsm_call(NULL, (adsm_dim){1, 1, 1}, (adsm_dim){1, 1, 1}, NULL, 0) == ADSM_INVALID);

    /* Bulk operations. */
    CHECK(adsm_memset(x, 7, BYTES) == ADSM_OK && x[0] == 7 && x[BYTES - 1] == 7);
    CHECK(adsm_memset(x + 5, 9, 1000) == ADSM_OK && x[4] == 7 && x[5] == 9 && x[1004] == 9 && x[1005] == 7);
    CHECK(adsm_memcpy(y, x, BYTES) == ADSM_OK && y[5] == 9 && y[BYTES - 1] == 7);
    CHECK(adsm_memcpy(local, y + 4, sizeof local) == ADSM_OK && local[0] == 7 && local[1] == 9);
    local[0] = 3;
    CHECK(adsm_memcpy(y + 70000, local, sizeof local) == ADSM_OK && y[70000] == 3 && y[70001] == 9);

    /* Without a word on what it uses, a kernel may use everything; a touch before the sync waits for it. */
    adsm_kernel *kernel = adsm_kernel_new("add_one");
    CHECK(adsm_kernel_native(kernel, add_one) == ADSM_OK);
    adsm_arg shared = ADSM_SHARED(x);
    CHECK(adsm_call(kernel, (adsm_dim){1, 1, 1}, (adsm_dim){1, 1, 1}, &shared, 1) == ADSM_OK);
    CHECK(adsm_free(x) == ADSM_IN_FLIGHT);
    CHECK(adsm_call(kernel, (adsm_dim){1, 1, 1}, (adsm_dim){1, 1, 1}, &shared, 1) == ADSM_OK);
    CHECK(x[0] == 9 && y[70000] == 3);
    CHECK(adsm_sync() == ADSM_OK && x[BYTES - 1] == 9);
    CHECK(adsm_kernel_native(kernel, add_one) == ADSM_INVALID);

    /* Objects can be bound to kernels. */
    adsm_kernel *bound = adsm_kernel_new("bound");
    CHECK(adsm_kernel_native(bound, add_two_through_pointer) == ADSM_OK && adsm_bind(bound, y) == ADSM_OK);
    CHECK(adsm_bind(bound, local) == ADSM_FOREIGN);
    CHECK(adsm_call(bound, (adsm_dim){1, 1, 1}, (adsm_dim){1, 1, 1}, NULL, 0) == ADSM_OK && adsm_free(y) == ADSM_IN_FLIGHT);
    CHECK(adsm_sync() == ADSM_OK && y[70000] == 3);

    /* System calls, once the memory is open for them. */
    int zero = open("/dev/zero", O_RDONLY);
    CHECK(adsm_touch(y, 4096, 1) == ADSM_OK && read(zero, y, 4096) == 4096 && y[5] == 0);
    close(zero);

    adsm_totals totals;
    CHECK(adsm_stats(&totals) == ADSM_OK && totals.calls == 3 && totals.implicit_syncs >= 1);
    CHECK(adsm_free(x) == ADSM_OK && adsm_free(y) == ADSM_OK);
    adsm_kernel_free(kernel);
    adsm_kernel_free(bound);
    puts("right");
    return 0;
}
