/* Memory mapped, written, moved, given back and mapped again; pages with other rights; large ranges of which little is used. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static char *map(size_t size) { return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

int main(void) {
    unsigned long sum = 0;
    for (int round = 0; round < 40; round++) {
        size_t pages = 1 + round % 7;
        char *memory = map(pages * PAGE);
        for (size_t i = 0; i < pages; i++) sum += memory[i * PAGE], memory[i * PAGE] = (char)(round + i);
        if (round % 3 == 0) memory = mremap(memory, pages * PAGE, (pages + 5) * PAGE, MREMAP_MAYMOVE), pages += 5;
        if (round % 4 == 0) mprotect(memory, PAGE, PROT_READ), sum += memory[0], mprotect(memory, PAGE, PROT_READ | PROT_WRITE);
        if (round % 5 == 0) madvise(memory, pages * PAGE, MADV_DONTNEED), sum += memory[0];
        for (size_t i = 0; i < pages; i++) sum += memory[i * PAGE];
        munmap(memory, pages * PAGE);
    }
    char *large = map(1UL << 30);
    for (size_t at = 0; at < 1UL << 30; at += 37UL << 20) large[at] = 1, sum += large[at];
    munmap(large, 1UL << 30);
    printf("%lu\n", sum);
    return 0;
}
