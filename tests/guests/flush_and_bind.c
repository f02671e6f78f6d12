/*
 * Threads that are bound to one CPU each (sched_setaffinity, getcpu) share lines, change them with and without atomic
 * accesses, and flush them (clflush) at any time. No byte may be lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, LINES = 24, WORDS = 8, ROUNDS = 400 };

static uint64_t shared[LINES][WORDS] __attribute__((aligned(64)));
static int cpus[THREADS];

static void flush(void *at) { __asm__ volatile("clflush (%0)" : : "r"(at) : "memory"); }
static void fence(void) { __asm__ volatile("mfence" : : : "memory"); }

static void wrong(const char *what)
{
    printf("wrong: %s\n", what);
    exit(1);
}

static void bind_to(int cpu)
{
    cpu_set_t only, told;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0)
        wrong("the CPU exists");
    if (sched_getaffinity(0, sizeof told, &told) != 0 || !CPU_EQUAL(&only, &told))
        wrong("another set of CPUs");
    unsigned here = 1u << 30, node;
    if (syscall(SYS_getcpu, &here, &node, NULL) != 0 || (int)here != cpu)
        wrong("it runs elsewhere");
}

/* Word n of each line is thread n's own; the last is everybody's. */
static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    uint32_t random = 1 + (uint32_t)me;
    bind_to(cpus[me]);
    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1664525u + 1013904223u;
        int line = (int)(random >> 8) % LINES, kind = (int)(random >> 24) % 4;
        uint64_t before = shared[line][me]++;
        __atomic_fetch_add(&shared[line][WORDS - 1], 1, __ATOMIC_RELAXED);
        if (kind)
            flush(shared[line]);
        if (kind == 2)
            fence();
        if (*(volatile uint64_t *)&shared[line][me] != before + 1)
            wrong("a store is gone");
        if (round % 100 == 50)
            bind_to(cpus[(me + 1) % THREADS]);
        if (round % 100 == 99)
            bind_to(cpus[me]);
    }
    return NULL;
}

int main(void)
{
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        wrong("no CPUs");
    int found = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < THREADS; cpu++)
        if (CPU_ISSET(cpu, &all))
            cpus[found++] = cpu;
    for (int n = found; n < THREADS; n++)
        cpus[n] = cpus[n % found];
    pthread_t threads[THREADS];
    for (intptr_t n = 0; n < THREADS; n++)
        if (pthread_create(&threads[n], NULL, work, (void *)n) != 0)
            wrong("no thread");
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    uint64_t own = 0, common = 0;
    for (int line = 0; line < LINES; line++) {
        for (int n = 0; n < THREADS; n++)
            own += shared[line][n];
        common += shared[line][WORDS - 1];
    }
    printf("%llu stores, %llu atomic accesses\n", (unsigned long long)own, (unsigned long long)common);
    cpu_set_t none;
    CPU_ZERO(&none);
    if (sched_setaffinity(0, sizeof none, &none) == 0)
        wrong("no CPU is enough");
    return own != THREADS * ROUNDS || common != THREADS * ROUNDS;
}
