/*
 * Microbenchmarks of a core and its memory system, for `cohesim bench machine`.
 *
 * Each line of output is a probe's name and the picoseconds that one step took. A step is repeated many times, because
 * rdtsc counts nanoseconds inside cohesim. Chains of dependent instructions measure latency, independent instructions
 * throughput. The first argument, if any, is the name of the only probe to run. Natively, times are those of the
 * computer's time-stamp counter, in thousandths of its ticks.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE = 64, PAGE = 4096, POOL = 2 << 20 };

static char pool[POOL] __attribute__((aligned(PAGE)));
static const char *only;

static uint64_t now(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

static int wanted(const char *name)
{
    return !only || strcmp(only, name) == 0;
}

static void told(const char *name, uint64_t ticks, uint64_t steps)
{
    printf("%s %llu\n", name, (unsigned long long)(ticks * 1000 / steps));
}

static uint32_t random_below(uint32_t *state, uint32_t end)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*state >> 8) * end >> 24);
}

/* Links the lines of the first `size` bytes of the pool into one circle of random order. */
static void **circle(size_t size)
{
    static uint32_t order[POOL / LINE];
    uint32_t lines = (uint32_t)(size / LINE), state = 1;
    for (uint32_t n = 0; n < lines; n++)
        order[n] = n;
    for (uint32_t n = lines - 1; n > 0; n--) {
        uint32_t other = random_below(&state, n + 1), kept = order[n];
        order[n] = order[other];
        order[other] = kept;
    }
    for (uint32_t n = 0; n < lines; n++)
        *(void **)(pool + (size_t)order[n] * LINE) = pool + (size_t)order[(n + 1) % lines] * LINE;
    return (void **)pool;
}

static void **follow(void **at, uint32_t steps)
{
    for (uint32_t n = 0; n < steps; n += 8)
        __asm__ volatile("mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0;"
                         "mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0"
                         : "+r"(at)
                         :
                         : "memory");
    return at;
}

/* Dependent loads from `size` bytes: what no larger cache level need serve. */
static void chase(const char *name, size_t size, uint32_t steps)
{
    if (!wanted(name))
        return;
    void **at = follow(circle(size), (uint32_t)(size / LINE));
    uint64_t start = now();
    follow(at, steps);
    told(name, now() - start, steps);
}

static void flush_lines(size_t size)
{
    for (char *line = pool; line < pool + size; line += LINE)
        __asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
    __asm__ volatile("mfence" : : : "memory");
}

/* Dependent loads of lines that are in no cache. */
static void from_memory(void)
{
    enum { SIZE = 256 << 10 };
    if (!wanted("memory"))
        return;
    void **at = circle(SIZE);
    flush_lines(SIZE);
    uint64_t start = now();
    follow(at, SIZE / LINE);
    told("memory", now() - start, SIZE / LINE);
}

#define ROUNDS 2000

/* Times `count` instructions, ROUNDS times. */
#define MEASURE(name, count, code, ...) \
    do { \
        if (wanted(name)) { \
            uint64_t start = 0; \
            for (int warm = 0; warm < 2; warm++) { \
                uint32_t rounds = warm ? ROUNDS : 8; \
                start = now(); \
                __asm__ volatile("1: " code "dec %0; jnz 1b" : "+r"(rounds) : __VA_ARGS__); \
            } \
            told(name, now() - start, (uint64_t)ROUNDS * (count)); \
        } \
    } while (0)

#define FOUR(x) x x x x
#define SIXTEEN(x) FOUR(x) FOUR(x) FOUR(x) FOUR(x)

static void loads_and_stores(void)
{
    char *at = pool;
    memset(pool, 0, PAGE);
    MEASURE("load_8", 16,
            FOUR("mov (%1), %%r8; mov 64(%1), %%r9; mov 128(%1), %%r10; mov 192(%1), %%r11;"),
            "r"(at) : "r8", "r9", "r10", "r11", "memory");
    MEASURE("load_16", 16,
            FOUR("movdqa (%1), %%xmm0; movdqa 64(%1), %%xmm1; movdqa 128(%1), %%xmm2; movdqa 192(%1), %%xmm3;"),
            "r"(at) : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
    MEASURE("store_8", 16,
            FOUR("mov %%r8, (%1); mov %%r8, 64(%1); mov %%r8, 128(%1); mov %%r8, 192(%1);"),
            "r"(at) : "r8", "memory");
    MEASURE("forward", 16, SIXTEEN("mov %%r8, (%1); mov (%1), %%r8;"), "r"(at) : "r8", "memory");
}

static void arithmetic(void)
{
    char *at = pool;
    MEASURE("add_chain", 16, SIXTEEN("add %1, %%r8;"), "r"(at) : "r8");
    MEASURE("imul_chain", 16, SIXTEEN("imul %%r8, %%r8;"), "r"(at) : "r8");
    MEASURE("imul", 16, FOUR("imul %1, %%r8; imul %1, %%r9; imul %1, %%r10; imul %1, %%r11;"), "r"(at)
            : "r8", "r9", "r10", "r11");
    MEASURE("div_chain", 16, "xor %%edx, %%edx; mov $7, %%eax;" SIXTEEN("divl %%esi;"), "S"(1) : "rax", "rdx");
    MEASURE("addsd_chain", 16, SIXTEEN("addsd %%xmm0, %%xmm0;"), "r"(at) : "xmm0");
    MEASURE("addsd", 32, FOUR("addsd %%xmm7, %%xmm0; addsd %%xmm7, %%xmm1; addsd %%xmm7, %%xmm2; addsd %%xmm7, %%xmm3;"
                          "addsd %%xmm7, %%xmm4; addsd %%xmm7, %%xmm5; addsd %%xmm7, %%xmm6; addsd %%xmm7, %%xmm8;"),
            "r"(at) : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm8");
    MEASURE("mulsd_chain", 16, SIXTEEN("mulsd %%xmm0, %%xmm0;"), "r"(at) : "xmm0");
    MEASURE("mulsd", 48, FOUR("mulsd %%xmm12, %%xmm0; mulsd %%xmm12, %%xmm1; mulsd %%xmm12, %%xmm2; mulsd %%xmm12, %%xmm3;"
                          "mulsd %%xmm12, %%xmm4; mulsd %%xmm12, %%xmm5; mulsd %%xmm12, %%xmm6; mulsd %%xmm12, %%xmm7;"
                          "mulsd %%xmm12, %%xmm8; mulsd %%xmm12, %%xmm9; mulsd %%xmm12, %%xmm10; mulsd %%xmm12, %%xmm11;"),
            "r"(at) : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");
}

/* A line that is flushed, and waited for, before the next. */
static void flushes(void)
{
    enum { LINES = 256 };
    const char *names[] = {"flush_clean", "flush_dirty", "flush_many"};
    for (int kind = 0; kind < 3; kind++) {
        if (!wanted(names[kind]))
            continue;
        flush_lines(LINES * LINE);
        for (int line = 0; line < LINES; line++) {
            volatile char *at = pool + line * LINE;
            if (kind)
                *at = 1;
            else
                (void)*at;
        }
        __asm__ volatile("mfence" : : : "memory");
        uint64_t start = now();
        for (int line = 0; line < LINES; line++) {
            __asm__ volatile("clflush (%0)" : : "r"(pool + line * LINE) : "memory");
            if (kind < 2)
                __asm__ volatile("mfence" : : : "memory");
        }
        __asm__ volatile("mfence" : : : "memory");
        told(names[kind], now() - start, LINES);
    }
}

static void kernel(void)
{
    enum { CALLS = 64, PAGES = 64 };
    if (wanted("system_call")) {
        syscall(SYS_getppid);
        uint64_t start = now();
        for (int call = 0; call < CALLS; call++)
            syscall(SYS_getppid);
        told("system_call", now() - start, CALLS);
    }
    if (wanted("first_touch")) {
        char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t start = now();
        for (int page = 0; page < PAGES; page++)
            *(volatile char *)(pages + page * PAGE) = 1;
        told("first_touch", now() - start, PAGES);
    }
}

int main(int count, char **arguments)
{
    only = count > 1 ? arguments[1] : NULL;
    memset(pool, 0, POOL);
    chase("l1", 16 << 10, 4096);
    chase("l2", 128 << 10, 4096);
    chase("l3", 768 << 10, 12288);
    from_memory();
    loads_and_stores();
    arithmetic();
    flushes();
    kernel();
    return 0;
}
