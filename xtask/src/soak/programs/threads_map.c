/* Threads that map and unmap while others use their memory: translations are forgotten everywhere, all the time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static void *work(void *argument) {
    long seed = (long)argument, sum = 0;
    for (int round = 0; round < 25; round++) {
        volatile long *memory =
            mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < 4; i++) sum += memory[i * 512], memory[i * 512] = seed * round + i;
        for (int i = 0; i < 4; i++) sum += memory[i * 512];
        munmap((void *)memory, 4 * PAGE);
    }
    return (void *)sum;
}

int main(void) {
    pthread_t threads[4];
    long all = 0;
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        all += (long)sum;
    }
    printf("%ld\n", all);
    return 0;
}
