/* I/O on shared objects that have been closed. Prints how each call ends; run with and without the interposer. */
#include <adsm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static void nothing(const adsm_native *call) { (void)call; }

/* After this the device has the object. */
static void close_object(adsm_kernel *kernel, void *object) {
    adsm_arg argument = ADSM_WRITE(object);
    adsm_call(kernel, (adsm_dim){1, 1, 1}, (adsm_dim){1, 1, 1}, &argument, 1);
    adsm_sync();
}

int main(int count, char **arguments) {
    const char *path = count > 1 ? arguments[1] : "/tmp/adsm-io-test";
    adsm_kernel *kernel = adsm_kernel_new("nothing");
    adsm_kernel_native(kernel, nothing);
    unsigned char *x = adsm_alloc(BYTES), *plain = malloc(BYTES);
    for (int i = 0; i < BYTES; i++)
        x[i] = plain[i] = (unsigned char)(i * 7 + i / 4096);

    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    close_object(kernel, x);
    ssize_t put = write(file, x, BYTES);
    printf("write %s\n", put == BYTES ? "all" : put < 0 && errno == EFAULT ? "EFAULT" : "part");
    if (put != BYTES && pwrite(file, plain, BYTES, 0) != BYTES)
        return 1;
    memset(x, 0, BYTES);
    close_object(kernel, x);
    lseek(file, 0, SEEK_SET);
    ssize_t got = read(file, x, BYTES);
    printf("read %s\n", got == BYTES ? "all" : got < 0 && errno == EFAULT ? "EFAULT" : "part");
    if (got == BYTES)
        printf("contents %s\n", memcmp(x, plain, BYTES) == 0 ? "right" : "wrong");
    memset(x, 0, BYTES);
    close_object(kernel, x);
    FILE *stream = fdopen(file, "r");
    rewind(stream);
    size_t elements = fread(x, 4, BYTES / 4, stream);
    printf("fread %s\n", elements == BYTES / 4 && memcmp(x, plain, BYTES) == 0 ? "right" : "wrong");
    unsigned char before = x[3];
    close_object(kernel, x);
    memcpy(x + 100, plain, BYTES - 100);
    close_object(kernel, x);
    printf("memcpy %s\n", memcmp(x + 100, plain, BYTES - 100) == 0 && x[3] == before ? "right" : "wrong");
    fclose(stream);
    unlink(path);
    return adsm_free(x);
}
