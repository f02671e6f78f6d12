/* The C library's functions on bytes and strings at every alignment, sorting, searching, and a heap under stress. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static unsigned long state = 1234567;

static unsigned long scramble(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static unsigned long sum(const void *bytes, size_t length)
{
    unsigned long h = 14695981039346656037ul;
    for (size_t i = 0; i < length; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211ul;
    return h;
}

static int by_value(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return x < y ? -1 : x > y;
}

static void bytes(void)
{
    static char from[4096], to[4096];
    unsigned long all = 0;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = "abcdefghijklmnopqrstuvwxyz"[scramble() % 26];
    for (int i = 0; i < 3000; i++) {
        size_t at = scramble() % 70, to_at = scramble() % 70, length = scramble() % (i % 10 ? 300 : 3900);
        memcpy(to + to_at, from + at, length);
        memmove(to + to_at, to + at, length);
        memset(to + length / 2, i, length % 67);
        all += sum(to, sizeof to);
        all = all * 31 + (unsigned)(memcmp(to + at, from + at, length) < 0);
        void *found = memchr(from + at, 'a' + i % 26, length);
        all = all * 31 + (found ? (char *)found - from : -1);
        char kept = from[at + length];
        from[at + length] = 0;
        all = all * 31 + strlen(from + at);
        all = all * 31 + strcspn(from + at, "xq") + strspn(from + at, "abcdefghijklmnop");
        char *c = strchr(from + at, 'e'), *last = strrchr(from + at, 'e'), *two = strstr(from + at, "th");
        all = all * 31 + (c ? c - from : 1) + (last ? last - from : 2) + (two ? two - from : 3);
        strcpy(to, from + at);
        strncat(to, "tail", 3);
        all = all * 31 + (strcmp(to, from + at) > 0) + (strncasecmp(to, from + at, length) == 0);
        from[at + length] = kept;
    }
    printf("bytes %lx\n", all);
}

static void heap(void)
{
    static char *blocks[512];
    static size_t sizes[512];
    unsigned long all = 0;
    for (int i = 0; i < 20000; i++) {
        unsigned at = scramble() % 512;
        if (blocks[at] && scramble() % 3 == 0) {
            sizes[at] = 1 + scramble() % 3000;
            blocks[at] = realloc(blocks[at], sizes[at]);
        } else {
            free(blocks[at]);
            sizes[at] = scramble() % 100 == 0 ? 200000 : 1 + scramble() % 500;
            blocks[at] = scramble() % 2 ? malloc(sizes[at]) : calloc(sizes[at], 1);
        }
        memset(blocks[at], i, sizes[at]);
        all += sum(blocks[at], sizes[at] < 64 ? sizes[at] : 64);
    }
    printf("heap %lx\n", all);
}

int main(int argc, char **argv)
{
    bytes();
    heap();
    static long numbers[20000];
    for (int i = 0; i < 20000; i++)
        numbers[i] = (long)scramble() >> (scramble() % 60);
    qsort(numbers, 20000, sizeof *numbers, by_value);
    printf("sorted %lx", sum(numbers, sizeof numbers));
    for (int i = 0; i < 5; i++) {
        long key = numbers[scramble() % 20000];
        printf(" %ld", *(long *)bsearch(&key, numbers, 20000, sizeof key, by_value));
    }
    wchar_t wide[64];
    swprintf(wide, 64, L"%d %ls %c", 42, L"wide", 'x');
    printf("\n%ls %zu %d\n", wide, wcslen(wide), argc);
    char text[] = "one,two;three four";
    for (char *word = strtok(text, ",; "); word; word = strtok(NULL, ",; "))
        printf("[%s]", word);
    int a, b, count = sscanf("17 0x1f rest", "%d %i", &a, &b);
    printf("\n%d %d %d %ld\n", count, a, b, strtol("-7fz", NULL, 16));
    return (int)(sum(numbers, 64) & 63);
}
