/* A heap under random load; every block is filled and checked before it is freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static unsigned char *blocks[64];
    static size_t sizes[64];
    unsigned seed = 7, wrong = 0;
    for (int i = 0; i < 300; i++) {
        seed = seed * 1103515245 + 12345;
        int at = seed >> 16 & 63;
        for (size_t n = 0; n < sizes[at]; n += 97) wrong += blocks[at][n] != at;
        size_t size = i % 50 == 0 ? 70000 : 1 + (seed >> 8) % 2000;
        if (seed & 1) {
            free(blocks[at]);
            blocks[at] = malloc(size);
        } else {
            blocks[at] = realloc(blocks[at], size);
        }
        sizes[at] = size;
        memset(blocks[at], at, size);
    }
    printf("%u wrong\n", wrong);
    return wrong != 0;
}
